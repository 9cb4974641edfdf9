"""Finding an MPI launcher on this machine, and telling which one an `mpirun` is."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess

from thalweg.errors import ConfigError, MissingLibraryError
from thalweg.workflow.launchers.launcher import Launcher

_PATIENCE_S = 20.0
_INSTALL = {
    "openmpi": "install one (Debian: apt-get install openmpi-bin) or ",
    "mpich": "install it (Debian: apt-get install mpich) or ",
}


def find_launcher(name: str | None, component: str) -> tuple[Launcher, str]:
    """Return the launcher and the path of its program.

    Parameters
    ----------
    name : str, optional
        Name of the launcher. None: that of the batch job this process is in, else the first whose program is there.
    component : str
        For whom, for the error.

    Raises
    ------
    MissingLibraryError
        When it is not there.
    ConfigError
        For an unknown name.
    """
    from thalweg.workflow.launchers import LAUNCHERS

    if name is not None and name not in LAUNCHERS:
        raise ConfigError(
            f"Workflow: component {component!r}: launcher is {name!r}; accepted are {', '.join(LAUNCHERS)}"
        )
    wanted = [LAUNCHERS[name]] if name is not None else list(LAUNCHERS.values())
    if name is None:
        wanted.sort(key=lambda launcher: not launcher.preferred(os.environ))
        generic = shutil.which("mpirun") or shutil.which("mpiexec")  # what the user's PATH prefers decides
        if generic is not None:
            wanted.sort(key=lambda launcher: not (launcher.preferred(os.environ) or _is(generic, launcher.told_by)))
    for launcher in wanted:
        for program in launcher.programs:
            path = shutil.which(program)
            if path is not None and _is(path, launcher.told_by):
                return launcher, path
    looked = ", ".join(dict.fromkeys(program for launcher in wanted for program in launcher.programs))
    raise MissingLibraryError(
        f"Workflow: component {component!r} is remote, but no {name or 'MPI launcher'} was found "
        f"(looked for {looked}); {_INSTALL.get(name or 'openmpi', '')}load its module"
    )


def _is(path: str, told_by: tuple[str, ...]) -> bool:
    told = _version(path, os.stat(path).st_mtime_ns)
    return any(word in told for word in told_by)


@functools.cache
def _version(path: str, changed_ns: int) -> str:
    """What the program says of itself; `changed_ns` makes a new program a new question."""
    try:
        told = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=_PATIENCE_S, check=False)
    except (OSError, subprocess.SubprocessError):
        return ""
    return (told.stdout + told.stderr).lower()
