"""`make install` as the guide tells it: what it prints leads to what it installed, and programs start."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from compiled import run
from source_tree import ROOT
from thalweg.staging import Server

#: What leads to an installation; none of it is inherited here.
VARIABLES = ("CMAKE_PREFIX_PATH", "PKG_CONFIG_PATH", "LD_LIBRARY_PATH")


def without_variables() -> dict[str, str]:
    """Return the environment of someone who has installed nothing."""
    return {name: value for name, value in os.environ.items() if name not in VARIABLES}


def test_the_lines_of_the_guide_build_programs_that_start(package: Path, server: Server, tmp_path: Path) -> None:
    guide = (ROOT / "docs/guide/languages.md").read_text()
    found = re.search(r"tests/languages runs it -->\n```console\n(.*?)```", guide, flags=re.DOTALL)
    assert found is not None
    lines = found[1].replace("\n$ ", "\n").removeprefix("$ ")
    here = (
        lines.replace("$HOME", str(tmp_path))
        .replace("make ", f"make -C {ROOT} ")
        .replace(" examples/", f" {ROOT}/examples/")
    )
    env = {**without_variables(), "THALWEG_ADDRESS": server.address}
    programs = ["./figure6_c put 1000", "./figure6_cxx get 1000", "./figure6_fortran get 1000"]
    script = "\n".join(["set -eu", f"cd {tmp_path}", here, *programs])
    said = run("bash", "-c", script, env=env)
    assert said.endswith("0 of 24 cells are wrong\n" * 2)


def test_what_make_install_prints_leads_to_what_it_installed(package: Path, tmp_path: Path) -> None:
    prefix = tmp_path / "a prefix"
    said = run("make", "--no-print-directory", "install", f"PREFIX={prefix}", env=without_variables())
    assert said.splitlines()[0].startswith(f"installed into {prefix}: ") and len(said.splitlines()) == 5
    exports = "\n".join(line for line in said.splitlines() if line.startswith("  export "))
    show = "\n".join(f'echo "${name}"' for name in VARIABLES)
    home, packages, library = run("bash", "-euc", f"{exports}\n{show}", env=without_variables()).splitlines()
    assert home == str(prefix)
    assert (Path(packages) / "thalweg-fortran.pc").is_file() and (Path(library) / "libthalweg.so.0").is_file()
    added = run("bash", "-euc", f"{exports}\n{show}", env={**without_variables(), "LD_LIBRARY_PATH": "/before"})
    assert added.splitlines()[2] == f"{library}:/before"


def test_an_install_that_fails_says_why(package: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    command = ["make", "--no-print-directory", "install", f"PREFIX={tmp_path / 'file'}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode != 0 and "installed into" not in done.stdout
    assert f"{tmp_path / 'file'}/include" in done.stderr
