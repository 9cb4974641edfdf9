"""One case through C++ binary files: a program of standard streams, compiled for this run, a process a rank."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from time import sleep
from typing import Any

from thalweg.bench.staging.crew import Crew
from thalweg.bench.staging.domain import Block, blocks, core
from thalweg.bench.staging.roles import TIMEOUT_S, Ready, Step
from thalweg.bench.staging.settings import Case, Settings
from thalweg.bench.staging.staged import Seen, slowest
from thalweg.errors import ComponentFailedError, MissingLibraryError

_SOURCE = Path(__file__).with_name("binary_files.cpp")
_OPTIONS = ("-O3", "-march=native", "-std=c++17")
_COMPILE_S = 120.0


@dataclass(frozen=True)
class Streaming:
    """A rank of the compiled program: says each step's number after the pause, and hears how long it took."""

    command: tuple[str, ...]
    steps: int
    delay_s: float

    def run(self, ready: Ready) -> list[Step]:
        """Drive the program through all steps. It ends when its input does, so also with this process."""
        with subprocess.Popen(
            self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as program:
            assert program.stdin and program.stdout and program.stderr
            heard = program.stdout.readline()
            ready()
            seen = []
            for step in range(self.steps):
                sleep(self.delay_s)
                if program.poll() is None:
                    program.stdin.write(f"{step}\n")
                    program.stdin.flush()
                    heard = program.stdout.readline()
                if not heard:
                    raise ComponentFailedError(f"bench staging: {self.command[1]}: {program.stderr.read().strip()}")
                seen.append(Step(0.0, float(heard)))
        return seen


def compiled(folder: Path) -> Path:
    """The program, compiled into a folder.

    Raises
    ------
    MissingLibraryError
        Without a C++ compiler.
    ComponentFailedError
        When it does not compile, with the compiler's words.
    """
    compiler = next(filter(None, map(shutil.which, (os.environ.get("CXX", ""), "c++", "g++", "clang++"))), None)
    if compiler is None:
        raise MissingLibraryError("bench staging: binary-files need a C++ compiler: install g++, or set CXX")
    program = folder / "binary_files"
    done = subprocess.run(
        [compiler, *_OPTIONS, str(_SOURCE), "-o", str(program)], capture_output=True, text=True, timeout=_COMPILE_S
    )
    if done.returncode:
        raise ComponentFailedError(f"bench staging: {compiler} cannot compile {_SOURCE.name}: {done.stderr.strip()}")
    return program


def run(case: Case, settings: Settings, crew: Crew, program: Path) -> Seen:
    """Writers, first readers and second readers, one group after the other, over files that are removed then."""
    parts = {
        "writer": blocks(Block((0, 0, 0), settings.domain), case.writers),
        "reader": blocks(core(settings.domain, case.subset), case.readers),
    }
    told: dict[str, list[Step]] = {}
    groups: dict[str, list[str]] = {}
    with tempfile.TemporaryDirectory(prefix="thalweg-bench-") as folder:
        for group, kind in (("writer", "writer"), ("first", "reader"), ("second", "reader")):
            orders: dict[str, Any] = {
                f"{group} reader {n}" if kind == "reader" else f"writer {n}": Streaming(
                    (
                        str(program),
                        "write" if kind == "writer" else "read",
                        folder,
                        ",".join(map(str, settings.domain)),
                        "left",
                        str(case.writers),
                        str(n),
                        *(",".join(map(str, (*b.lower, *b.extent))) for all_of in parts.values() for b in all_of),
                    ),
                    settings.steps,
                    case.delay_s,
                )
                for n in range(len(parts[kind]))
            }
            groups[group] = list(orders)
            crew.order(orders)
            crew.go(groups[group])
            told |= crew.results(groups[group], settings.steps * (case.delay_s + TIMEOUT_S))
    return Seen(
        write_s=slowest(told, groups["writer"], lambda step: step.transfer_s),
        read_s={which: slowest(told, groups[which], lambda step: step.transfer_s) for which in ("first", "second")},
        wait_s={which: [0.0] * settings.steps for which in ("first", "second")},
    )
