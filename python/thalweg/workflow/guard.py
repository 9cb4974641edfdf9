"""A process that outlives a killed launcher by a moment, to end what the launcher's components had started."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import weakref

# The kernel kills a component with its launcher (PR_SET_PDEATHSIG), but not the processes that the component started.
# End of file on standard input: the launcher has ended, however it did.
_GUARD = """
import os, signal
groups, rest = set(), b""
while data := os.read(0, 4096):
    *lines, rest = (rest + data).split(b"\\n")
    for line in lines:
        (groups.add if line[:1] == b"+" else groups.discard)(int(line[1:]))
for group in groups:
    try:
        os.killpg(group, signal.SIGKILL)
    except OSError:
        pass
"""


class Guard:
    """Kills process groups when this process ends without having said that they are gone.

    It is in a session of its own, so that neither Ctrl-C nor a signal to the launcher's group ends it. A process that
    left its component's group (a daemon) is not reached.
    """

    def __init__(self) -> None:
        reading, self._writing = os.pipe2(os.O_CLOEXEC)
        _guards.add(self)
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", _GUARD],
                stdin=reading,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                start_new_session=True,
            )
        except BaseException:
            self._let_go()
            raise
        finally:
            os.close(reading)

    def watch(self, group: int) -> None:
        """Kill the process group `group` when this process ends."""
        self._tell(f"+{group}\n")

    def forget(self, group: int) -> None:
        """Leave `group` alone from now on. To be called before its leader is reaped, and its number given again."""
        self._tell(f"-{group}\n")

    def close(self) -> None:
        """End the guard; groups that it still watches are killed."""
        self._let_go()
        self._process.wait()

    def _tell(self, line: str) -> None:
        with contextlib.suppress(BrokenPipeError):  # somebody killed the guard; the workflow goes on without
            os.write(self._writing, line.encode())

    def _let_go(self) -> None:
        _guards.discard(self)
        if self._writing >= 0:
            os.close(self._writing)
            self._writing = -1


_guards: weakref.WeakSet[Guard] = weakref.WeakSet()


def _let_go_in_child() -> None:
    """A forked child that kept the pipe open would hide the launcher's end from the guard."""
    for guard in list(_guards):
        guard._let_go()


os.register_at_fork(after_in_child=_let_go_in_child)
