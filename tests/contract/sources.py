"""The test programs' sources: Debian's source packages, of the releases whose libraries are installed."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

#: Where a distribution keeps the list of its package sources.
DISTRIBUTION_LISTS = Path("/etc/apt")
#: Packages whose tests need none of the distribution's patches.
AS_RELEASED = {"netcdf-fortran"}


def fetch(package: str, cache: Path) -> Path:
    """Unpack the source of `package` into `cache`, once. Returns the folder. Blocks on the network."""
    there = _unpacked(package, cache)
    if there:
        return there
    listed = cache / "apt" / "source.sources"
    (cache / "apt" / "lists" / "partial").mkdir(parents=True, exist_ok=True)
    listed.write_text(_as_sources())
    apt = ["apt-get", "-q", "-o", f"Dir::Etc::sourcelist={listed}", "-o", "Dir::Etc::sourceparts=/dev/null"]
    apt += ["-o", f"Dir::State::lists={cache / 'apt' / 'lists'}", "-o", "APT::Sandbox::User="]
    subprocess.run([*apt, "update"], check=True, stdin=subprocess.DEVNULL)
    only = ["--tar-only"] if package in AS_RELEASED else []
    subprocess.run([*apt, "source", *only, package], check=True, stdin=subprocess.DEVNULL, cwd=cache)
    for archive in cache.glob(f"{package}_*.orig.tar.*") if only else ():
        shutil.unpack_archive(archive, cache)
    there = _unpacked(package, cache)
    if not there:
        raise FileNotFoundError(f"apt-get source {package} left no folder {package}-* in {cache}")
    return there


def _unpacked(package: str, cache: Path) -> Path | None:
    found = [path for path in cache.glob(f"{package}-[0-9]*") if path.is_dir()]
    return found[0] if found else None


def _as_sources() -> str:
    """The distribution's own list, asked for sources."""
    lists = sorted(DISTRIBUTION_LISTS.glob("sources.list.d/*.sources"))
    text = "\n\n".join(path.read_text() for path in lists)
    if not text:
        raise FileNotFoundError(f"{DISTRIBUTION_LISTS}/sources.list.d has no *.sources; is this a Debian 12 or newer?")
    return re.sub(r"^Types:.*$", "Types: deb-src", text, flags=re.MULTILINE)
