"""One test program, run as it is and redirected."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Program:
    """A test program of a library.

    Attributes
    ----------
    name : str
        Its folder and name in the library's source.
    commands : list of list of str
        What is run, one after the other; ``{out}`` stands for the folder of its output files.
    path : Path
        The program, absolute; it is there when it could be built.
    inputs : list of Path
        Files that it expects in its working folder.
    why_not : str
        Why it could not be built.
    """

    name: str
    commands: list[list[str]]
    path: Path
    inputs: list[Path] = field(default_factory=list)
    why_not: str = ""


@dataclass(frozen=True)
class Result:
    """How it went: `word` is pass, fail or hang; `reason` says what was seen."""

    word: str
    reason: str


def run(program: Program, work: Path, limit_s: float, redirected: bool) -> Result:
    """Run `program` in the fresh folder `work`, with its files there redirected or not.

    Blocks for `limit_s` at most.
    """
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    given = {shutil.copy(source, work) and source.name for source in program.inputs}
    script = "\n".join(" ".join(word.replace("{out}", str(work)) for word in line) for line in program.commands)
    command = ["bash", "-e", "-c", script]
    if redirected:
        rules = work.parent / f"{work.name}.toml"
        alone = "".join(f'[[files]]\nmatch = "{work}/{name}"\nmode = "file"\n' for name in sorted(given))
        # Settings of the libraries, of MPICH's network too, which nobody makes.
        alone += "".join(f'[[files]]\nmatch = "{work}/{name}"\nmode = "file"\n' for name in (".*", "ucx.conf"))
        rules.write_text(f'deadline_s = 2\ncomponents.test = "*"\n{alone}[[files]]\nmatch = "{work}/*"\n')
        command = [sys.executable, "-m", "thalweg.cli", "redirect", "--config", str(rules), "--", *command]
    log = work.parent / f"{work.name}.log"
    with log.open("wb") as output:
        running = subprocess.Popen(
            command, cwd=work, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
        )
        try:
            status: int | None = running.wait(limit_s)
        except subprocess.TimeoutExpired:
            status = None
        if status is None:
            os.killpg(running.pid, signal.SIGTERM)
            try:
                running.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(running.pid, signal.SIGKILL)
                running.wait()
    text = log.read_text(errors="replace")
    files = sorted(path.name for path in work.iterdir() if path.name not in given)
    shutil.rmtree(work)
    if status is None:
        return Result("hang", f"not done within {limit_s:g} s; {_said(text)}")
    if status != 0 or _tells_failure(text):
        return Result("fail", _said(text) or f"exit status {status}")
    if redirected and files:
        return Result("fail", f"files on disk: {', '.join(files)}")
    return Result("pass", "")


def _tells_failure(text: str) -> bool:
    """Some of PnetCDF's programs end with status 0 whatever they found."""
    words = ("fail with", "\x1b[31mfail", "FAILURE", "Error at line", "thalweg redirect:")
    return any(word in text for word in words)


def _said(text: str) -> str:
    """The first line that tells what went wrong."""
    lines = [" ".join(line.split()) for line in text.splitlines() if line.strip()]
    for word in ("thalweg redirect", "rror", "xpect", "ail", "egmentation"):
        for line in lines:
            if word in line:
                return line[:200]
    return lines[-1][:200] if lines else ""
