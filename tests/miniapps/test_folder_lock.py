"""A result folder belongs to one run at a time."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from thalweg.errors import FolderInUseError, InvalidError
from thalweg.results import FolderLock, RunFolder


def test_a_second_run_is_refused_until_the_first_has_finished(tmp_path: Path) -> None:
    first = RunFolder(tmp_path / "run")
    for replace in (False, True):
        with pytest.raises(FolderInUseError, match=f"is in use by a run of process {os.getpid()}"):
            RunFolder(tmp_path / "run", replace=replace)
    first.finish()
    assert not (tmp_path / "run" / "run.lock").exists()
    RunFolder(tmp_path / "run", replace=True)


def test_a_killed_run_leaves_the_folder_free(tmp_path: Path) -> None:
    script = "import sys, pathlib; from thalweg.results import RunFolder; r = RunFolder(pathlib.Path(sys.argv[1]));"
    script += "print('held', flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", script, str(tmp_path / "run")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(FolderInUseError, match=f"process {holder.pid};"):
            RunFolder(tmp_path / "run", replace=True)
        holder.send_signal(signal.SIGKILL)
    RunFolder(tmp_path / "run", replace=True)


def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file", tmp_path / "file" / "below", Path("/proc/nothing")):
        with pytest.raises(InvalidError, match="cannot hold a run"):
            FolderLock(path)
