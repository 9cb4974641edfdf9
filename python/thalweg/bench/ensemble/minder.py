"""A process that runs a job and removes its folder, also when whoever started it is killed.

Run as a script: ``minder.py FOLDER PROGRAMS COMMAND...``. It tells the job's exit status in a line on standard output,
and removes the folder when it hears a byte on standard input. The end of that input, without one, means that the
starter is ending: then a job that still runs is ended, and the folder of programs goes too. What the job complains
about goes to a file in the folder.
"""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import subprocess
import sys

COMPLAINTS = "complaints"
_PATIENCE_S = 10.0


def main(folder: str, programs: str, command: list[str]) -> None:
    """Run the job, and wait for the starter's word or end."""
    starter_lives = False
    try:
        with open(os.path.join(folder, COMPLAINTS), "wb") as complaints:
            job = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=complaints, stderr=complaints, start_new_session=True
            )
        ended = os.pidfd_open(job.pid)
        ready, _, _ = select.select([ended, 0], [], [])
        if ended in ready:
            print(job.wait(), flush=True)
        else:
            _end(job)
        starter_lives = os.read(0, 1) != b""
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if not starter_lives:
            shutil.rmtree(programs, ignore_errors=True)


def _end(job: subprocess.Popen[bytes]) -> None:
    """End the launcher, which ends its ranks; where it does not, kill it, and the kernel kills its ranks."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(job.pid, signal.SIGTERM)
    try:
        job.wait(_PATIENCE_S)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(job.pid, signal.SIGKILL)
        job.wait()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
