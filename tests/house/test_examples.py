"""Every example in the documents runs: a document is one session, its blocks run in order in one folder.

- A ``python`` block runs as a program; a line ``$ command`` of a ``console`` block runs, in the background when it ends
  in ``&``; ``kill $!`` ends what was started last there.
- ``<!-- file: NAME -->`` before a block makes it that file, which a later block must use.
- ``<!-- not run: REASON -->`` before a block excuses it.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from compiled import built_faces
from left_behind import Mark, nothing_left
from mpi_jobs import mpi_of
from source_tree import ROOT

GUIDE = sorted(ROOT.glob("docs/guide/*.md"))
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "benchmarks/README.md", *GUIDE]
BLOCK = re.compile(
    r"^(?:<!-- (?P<word>file|not run): (?P<what>[^\n]+) -->\n+)?```(?P<language>\w+)\n(?P<text>.*?)^```",
    flags=re.MULTILINE | re.DOTALL,
)
LANGUAGES = {"python", "console", "toml", "json", "csv", "c", "cpp", "fortran", "cmake", "ncptl"}
#: What makes the examples of the documents small: the beginning of a command, and what is added to it.
SMALLER = {
    "thalweg run navier-stokes": "--grid 32 --members 2 --iterations 20 --width 4 --modes 4 --unseen-flows 1",
    "thalweg run one-to-one": "--scale 0.001",
    "thalweg run one-to-one --sizes": "--sizes 40KB,80KB --backends thalweg,node-local --repeats 1",
    "thalweg run many-to-one": "--scale 0.002",
    "thalweg run many-to-one --simulations 1,2,4": "--simulations 1,2 --sizes 40KB",
    "thalweg run inference-loop": "--requests 5",
    "thalweg run funnel": "--candidates 200 --rounds 2 --per-round 8 --train-iterations 20",
    "python benchmarks/iteration_times.py": "--times 1 --kernels 32 --shapes fixed --iterations 50 --repeats 1",
    "python examples/streams/tekapp": "--scale 0.06 --slices 6 --pixels 64 --window 750 --iterations 60",
    "python examples/streams/task_queue": "--scale 0.05 --sizes 1KB,1MB",
    "python examples/streams/provenance": "--scale 0.05 --producers 3 --step-ms 5 --systems stream,redis",
    "thalweg bench relayout": "--shape 20x30x40 --repeats 1",
    "thalweg bench transport": "--sizes 4KiB --rounds 1 --backends thalweg",
    "thalweg bench ensemble": "--preset ofp --ensembles 1 --cycles 3 --rounds 1 --transports pnetcdf-tmpfs",
    "thalweg bench stream": "--systems redis,zeromq --event-sizes 1KB --rounds 1 --volume 1MB",
}
DEADLINE_S = 240
SOCKET = re.compile(r"(--socket |unix:)@(\w+)")


class Block(NamedTuple):
    """One fenced block, and what the comment before it says."""

    language: str
    text: str
    file: str | None
    excuse: str | None


def blocks(path: Path) -> Iterator[Block]:
    """Yield the blocks of a document that have a language."""
    for found in BLOCK.finditer(path.read_text()):
        word, what = found["word"], found["what"]
        yield Block(
            found["language"], found["text"], what if word == "file" else None, what if word == "not run" else None
        )


def environment(path: Path, mark: Mark) -> Mapping[str, str]:
    """Return an environment for a document's commands; skip the test when what it needs is not installed."""
    text = path.read_text()
    pytest.importorskip("torch")
    if "redis" in text and shutil.which("redis-server") is None:
        pytest.skip("redis-server is not installed")
    programs, rest = str(Path(sys.executable).parent), os.environ["PATH"]
    env = {**mark.env, "PATH": os.pathsep.join((programs, rest))}
    if "find_package(thalweg" in text:
        env["thalweg_DIR"] = str(built_faces())
    if re.search(r'mpirun|--ranks|type="remote"', text):
        try:
            env |= mpi_of("mpich").env
        except LookupError as absent:
            pytest.skip(str(absent))
        mpi_programs, _, rest = env["PATH"].partition(os.pathsep)
        env |= {**mark.env, **env, "PATH": os.pathsep.join((mpi_programs, programs, rest))}
    return env


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name if path.parent != ROOT else f"/{path.name}")
def test_examples_run(path: Path, tmp_path: Path) -> None:
    with nothing_left() as mark:
        env = environment(path, mark)
        session = Session(tmp_path, env)
        try:
            for block in blocks(path):
                if block.excuse is None:
                    session.perform(block)
            assert session.unused() == [], "files that no later block uses"
        finally:
            session.close()
    for file in tmp_path.glob("**/run.json"):
        assert json.loads(file.read_text())["status"] == "done"


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name if path.parent != ROOT else f"/{path.name}")
def test_a_block_runs_or_is_excused(path: Path) -> None:
    for block in blocks(path):
        assert block.language in LANGUAGES, block.language
        assert block.file or block.excuse or block.language in ("python", "console"), block.text
        if block.language == "console" and block.excuse is None:
            assert all(line.startswith("$ ") for line in block.text.splitlines()), block.text


class Session:
    """The blocks of one document, in one folder. Names of sockets are made its own."""

    def __init__(self, folder: Path, env: Mapping[str, str]) -> None:
        self._folder, self._env = folder, env
        for name in ("benchmarks", "examples"):
            (folder / name).symlink_to(ROOT / name)
        self._background: list[subprocess.Popen[str]] = []
        self._files: dict[str, bool] = {}
        self._own = uuid.uuid4().hex

    def perform(self, block: Block) -> None:
        """Run it, or write it as a file."""
        text = SOCKET.sub(rf"\1@\2-{self._own}", block.text)
        for name in self._files:
            self._files[name] |= name in text or Path(name).stem in text
        if block.file is not None:
            (self._folder / block.file).write_text(text)
            self._files[block.file] = False
        elif block.language == "python":
            (self._folder / "example.py").write_text(text)
            self._run(["python", "example.py"])
        else:
            for line in text.splitlines():
                self._command(line.removeprefix("$ "))

    def unused(self) -> list[str]:
        """Return files that nothing has used."""
        return [name for name, used in self._files.items() if not used]

    def close(self) -> None:
        """End what runs in the background."""
        for process in self._background:
            process.send_signal(signal.SIGINT)
        for process in self._background:
            process.communicate(timeout=DEADLINE_S)

    def _command(self, line: str) -> None:
        if line == "kill $!":
            last = self._background.pop()
            last.terminate()
            said, _ = last.communicate(timeout=DEADLINE_S)
            assert last.returncode == 0, said
            return
        words = shlex.split(line, comments=True)
        words[0] = words[0].removeprefix(".venv/bin/")
        for beginning, options in SMALLER.items():
            if line.startswith(beginning) and "--help" not in words:
                words += options.split()
        if words[-1] != "&":
            self._run(words)
            return
        process = subprocess.Popen(
            words[:-1], cwd=self._folder, env=self._env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        self._background.append(process)
        assert process.stdout is not None
        assert process.stdout.readline(), f"{line}: ended at once"

    def _run(self, words: list[str]) -> None:
        done = subprocess.run(
            words, cwd=self._folder, env=self._env, capture_output=True, text=True, timeout=DEADLINE_S, check=False
        )
        assert done.returncode == 0, f"{' '.join(words)}\n{done.stdout}{done.stderr}"


def test_guide_lists_the_kernels() -> None:
    from thalweg.kernels.registry import _HOME

    rows = re.findall(r"^\| `(\w+)` \|", (ROOT / "docs/guide/simulation.md").read_text(), flags=re.MULTILINE)
    built_in = [name for name, home in _HOME.items() if isinstance(home, str)]
    assert rows == built_in
