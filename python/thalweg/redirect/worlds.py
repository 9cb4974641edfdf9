"""Components that are started by one command: each part of ``A : B`` becomes a world of its own.

Coupled by the colon of ``mpiexec``, programs share one ``MPI_COMM_WORLD``, and those that were written to run alone
would wait for each other in it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from thalweg.errors import ConfigError
from thalweg.redirect.coupling import Coupling

_LAUNCHERS = ("mpiexec*", "mpirun*", "orterun", "prun")
#: Options of Open MPI and MPICH that are followed by so many words; any other stands alone.
_FOLLOWED = {
    2: ("mca", "gmca", "genv", "env", "pmixmca", "prtemca"),
    1: (
        *("n", "np", "c", "N", "npernode", "ppn", "perhost", "host", "hosts", "H", "hostfile", "machinefile", "f"),
        *("default-hostfile", "x", "wdir", "wd", "path", "prefix", "map-by", "bind-to", "rank-by", "tune", "am"),
        *(
            "output-filename",
            "timeout",
            "genvlist",
            "envlist",
            "launcher",
            "launcher-exec",
            "rmk",
            "iface",
            "outfile-pattern",
        ),
        *("errfile-pattern", "stdin", "cpu-set", "cpu-list", "oversubscribe-mode", "tag-output-mode", "personality"),
    ),
}
#: Options of one part; all others of the first part hold for every part.
_OF_ONE_PART = ("n", "np", "c", "host", "hosts", "H", "wdir", "wd", "env", "envlist", "path")


def split(command: Sequence[str]) -> list[list[str]]:
    """Return the commands of the parts of `command`, which single colons divide.

    The options of an MPI launcher that hold for all parts are repeated before each.

    Raises
    ------
    ConfigError
        For a part without a program.
    """
    parts: list[list[str]] = [[]]
    for word in command:
        if word == ":":
            parts.append([])
        else:
            parts[-1].append(word)
    if any(not part for part in parts):
        raise ConfigError("redirect: a part of the command is empty; give a program before and behind each colon")
    first = parts[0]
    if len(parts) == 1 or not any(fnmatchcase(Path(first[0]).name, launcher) for launcher in _LAUNCHERS):
        return parts
    common = [word for option in _options(first[1:]) if _plain(option[0]) not in _OF_ONE_PART for word in option]
    return [first, *([first[0], *common, *part] for part in parts[1:])]


def session_folder(parent: Path, part: int) -> dict[str, str]:
    """Return the environment in which the MPI job of a part has a session folder of its own, in the folder `parent`.

    Open MPI's launchers of one user share a folder, which the first one that ends removes while another one begins.
    What the user has set counts.
    """
    folder = parent / str(part)
    folder.mkdir()
    # Open MPI 4 and 5
    chosen = {name: str(folder) for name in ("OMPI_MCA_orte_tmpdir_base", "PRTE_MCA_prte_tmpdir_base")}
    return {name: os.environ.get(name, value) for name, value in chosen.items()}


def program(command: Sequence[str]) -> list[str]:
    """Return `command` from its program on, without the MPI launcher and its options."""
    if not any(fnmatchcase(Path(command[0]).name, launcher) for launcher in _LAUNCHERS):
        return list(command)
    rest = list(command[1:])
    return rest[sum(map(len, _options(rest))) :]


def names(parts: Sequence[Sequence[str]], coupling: Coupling) -> list[str]:
    """Return the component that each part is.

    Raises
    ------
    ConfigError
        For parts that are called the same, and for one that is no component where components are named.
    """
    found = [_name(program(part), coupling) for part in parts]
    for number, name in enumerate(found):
        if name in found[:number]:
            raise ConfigError(
                f"redirect: two parts of the command are {name!r}; name them in [components], "
                "by patterns that only one of them matches"
            )
    return found


def _name(words: Sequence[str], coupling: Coupling) -> str:
    bases = [Path(word).name for word in words[:4]]
    for name, pattern in coupling.components.items():
        if any(fnmatchcase(base, pattern) for base in bases):
            return name
    if coupling.components:
        known = ", ".join(f"{name} = {pattern!r}" for name, pattern in coupling.components.items())
        raise ConfigError(f"redirect: {' '.join(words)!r} is no component; there are {known}")
    if not words:
        raise ConfigError("redirect: a part of the command has no program")
    scripts = (base for word, base in zip(words[1:], bases[1:], strict=False) if not word.startswith("-"))
    return next(scripts, bases[0]) if bases[0].startswith("python") else bases[0]


def _options(words: Sequence[str]) -> list[list[str]]:
    """The options at the beginning of `words`, each with what follows it."""
    options: list[list[str]] = []
    at = 0
    while at < len(words) and words[at].startswith("-"):
        plain = _plain(words[at])
        follows = 0 if "=" in words[at] else next((n for n, names in _FOLLOWED.items() if plain in names), 0)
        options.append(list(words[at : at + 1 + follows]))
        at += 1 + follows
    return options


def _plain(option: str) -> str:
    return option.lstrip("-").partition("=")[0]
