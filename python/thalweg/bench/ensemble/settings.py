"""What ``bench ensemble`` is asked for: read from options, checked against what the machine can hold."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from thalweg.bench.ensemble.domain import PRESETS, Domain, Preset, shared_by
from thalweg.bench.ensemble.traffic import traffic
from thalweg.bench.ensemble.transports import TRANSPORTS
from thalweg.bench.ensemble.transports.pnetcdf_tmpfs import MEMORY
from thalweg.bench.ensemble.transports.transport import Case
from thalweg.errors import InvalidError

_MOST_PROCESSES = 4096
_MOST_CYCLES, _MOST_ROUNDS = 100_000, 1000
#: What a rank needs beside its arrays: MPI and the libraries.
_RANK_BYTES = 48 << 20


@dataclass(frozen=True)
class Settings:
    """A whole run of the benchmark.

    Attributes
    ----------
    transports : tuple of str
        In the order in which they take turns.
    cases : tuple of Case
        In the order in which they are measured.
    cycles : int
        Cycles of a job, at least 2: the first is not counted.
    rounds : int
        Times that everything is measured.
    named : bool
        Whether the transports were asked for by name: one that cannot run here is an error then.
    disk : Path
        Where files on disk go.
    """

    preset: Preset
    transports: tuple[str, ...]
    cases: tuple[Case, ...]
    cycles: int
    rounds: int
    named: bool
    disk: Path


def read(
    *,
    preset: str,
    transports: str | None,
    ensembles: str,
    processes: str,
    cycles: int,
    rounds: int,
    disk_folder: Path | None,
) -> Settings:
    """Read the options of ``bench ensemble``.

    Raises
    ------
    InvalidError
        With the option, its value and what is accepted; also for what memory cannot hold.
    """
    if preset not in PRESETS:
        _refuse("--preset", preset, ", ".join(PRESETS))
    wanted = tuple(TRANSPORTS) if transports is None else _names(transports)
    if not 2 <= cycles <= _MOST_CYCLES:
        _refuse("--cycles", cycles, f"whole numbers from 2 to {_MOST_CYCLES}, for the first is not counted")
    if not 1 <= rounds <= _MOST_ROUNDS:
        _refuse("--rounds", rounds, f"whole numbers from 1 to {_MOST_ROUNDS}")
    disk = disk_folder if disk_folder is not None else Path(tempfile.gettempdir())
    if not disk.is_dir():
        raise InvalidError(f"bench ensemble: --disk-folder: no folder {disk.absolute()}; make it first")
    cases = tuple(
        Case(_domain(PRESETS[preset], words.strip()), many)
        for words in dict.fromkeys(processes.split(","))
        for many in _counts("--ensembles", ensembles)
    )
    settings = Settings(PRESETS[preset], wanted, cases, cycles, rounds, transports is not None, disk.absolute())
    for case in cases:
        _guard(case, settings)
    return settings


def _guard(case: Case, settings: Settings) -> None:
    """Refuse what would not fit: arrays of all ranks, what PnetCDF buffers, and the files of a cycle in memory."""
    from thalweg.bench.limits import available_memory

    options = f"--ensembles {case.ensembles}, --processes {case.domain.processes}"
    if case.processes > _MOST_PROCESSES:
        raise InvalidError(
            f"bench ensemble: {options}: {case.processes} processes a component; expected at most {_MOST_PROCESSES}"
        )
    bytes_of = traffic(case.domain)
    scale = bytes_of.history + bytes_of.analysis + bytes_of.analysis_read + max(bytes_of.history, bytes_of.analysis)
    letkf = bytes_of.history_read + 3 * bytes_of.analysis_read
    needed = case.ensembles * (scale + letkf) + 2 * case.processes * _RANK_BYTES + 2 * case.stored_bytes
    available = available_memory()
    if needed > available:
        raise InvalidError(
            f"bench ensemble: {options}: arrays of all processes and the files of a cycle need {needed:,} bytes of "
            f"memory; {available:,} are available"
        )
    for name, folder in (("pnetcdf-disk", settings.disk), ("pnetcdf-tmpfs", MEMORY)):
        if (
            name in settings.transports
            and folder.is_dir()
            and (free := shutil.disk_usage(folder).free) < 2 * case.stored_bytes
        ):
            raise InvalidError(
                f"bench ensemble: {options}: files of a cycle have {case.stored_bytes:,} bytes, and half of {folder} "
                f"holds {free // 2:,}"
            )


def _names(words: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(word.strip() for word in words.split(",")))
    for name in names:
        if name not in TRANSPORTS:
            _refuse("--transports", name, ", ".join(TRANSPORTS))
    return names


def _domain(preset: Preset, words: str) -> Domain:
    """The domain of a number of processes, or of those along x and y."""
    sides = words.replace("×", "x").split("x")
    if len(sides) > 2 or not all(_is_count(side) for side in sides):
        _refuse("--processes", words, f"whole numbers from 1 to {_MOST_PROCESSES}, or two such as 1x2, along x and y")
    return shared_by(preset, int(sides[0])) if len(sides) == 1 else Domain(preset, int(sides[0]), int(sides[1]))


def _counts(option: str, words: str) -> list[int]:
    found = []
    for word in (word.strip() for word in words.split(",")):
        if not _is_count(word):
            _refuse(option, word, f"whole numbers from 1 to {_MOST_PROCESSES}")
        found.append(int(word))
    return list(dict.fromkeys(found))


def _is_count(word: str) -> bool:
    return word.isdecimal() and 1 <= int(word) <= _MOST_PROCESSES


def _refuse(option: str, value: object, accepted: str) -> NoReturn:
    raise InvalidError(f"bench ensemble: {option} {value!r}; accepted are {accepted}")
