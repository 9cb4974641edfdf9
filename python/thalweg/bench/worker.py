"""One side of a contender in a process of its own: takes batches from the conductor until told to stop."""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import os
import signal
import socket
import sys
from multiprocessing.connection import Connection
from typing import Any, Literal

from thalweg.bench.contender import TIMEOUT_S, Consumer, Contender, Producer
from thalweg.bench.exchange import Batch, PairBrokenError, consume, deadline, produce

Role = Literal["producer", "consumer"]
_PR_SET_PDEATHSIG = 1
_STUCK_S = 3 * TIMEOUT_S


def main(arguments: list[str]) -> None:
    """``worker CONTROL KEY CONTENDER [ROLE]``: without a role, the launcher's rank says it."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    control_name, key, contender_name, *rest = arguments
    from thalweg.bench.contenders import find

    contender = find(contender_name)
    contender.join()
    role = rest[0] if rest else ("producer", "consumer")[int(os.environ["PMI_RANK"])]
    with socket.socket(socket.AF_UNIX) as caller:
        try:
            caller.connect("\0" + control_name)
        except ConnectionRefusedError:
            return  # the conductor is gone already
        control: Connection[Any, Any] = Connection(caller.detach())
    control.send_bytes(bytes.fromhex(key))
    control.send((role, os.getpid()))
    with contextlib.ExitStack() as kept:  # closed after a failure is told: the cause is heard before its effects
        try:
            _serve(contender, role, control, kept)
        except (EOFError, BrokenPipeError):
            return  # the conductor is gone: so are we
        except Exception as error:
            with contextlib.suppress(OSError):
                control.send(("failed", f"{type(error).__name__}: {error}", isinstance(error, PairBrokenError)))


def _serve(contender: Contender, role: str, control: Connection[Any, Any], kept: contextlib.ExitStack) -> None:
    _, place, channel_name, consumer_pid = control.recv()
    side: Producer | Consumer
    if role == "producer":
        side = contender.producer(place)
        with socket.socket(socket.AF_UNIX) as door:
            door.bind("\0" + channel_name)
            door.listen(1)
            deadline(door)
            control.send(("ready",))
            channel, _ = door.accept()
    else:
        side = contender.consumer(place)
        channel = socket.socket(socket.AF_UNIX)
        channel.connect("\0" + channel_name)
        control.send(("ready",))
    kept.callback(channel.close)
    deadline(channel)
    while True:
        message = control.recv()
        if message[0] == "stop":
            break
        batches: list[Batch] = message[1]
        side.prepare(batches[0].size_bytes)
        control.send(("prepared",))
        control.recv()
        faulthandler.dump_traceback_later(_STUCK_S)  # says where, before the conductor gives up
        times = []
        for batch in batches:
            if isinstance(side, Producer):
                times.append(produce(side, batch, channel, consumer_pid))
            else:
                times.append(consume(side, batch, channel))
        side.finish()
        faulthandler.cancel_dump_traceback_later()
        control.send(("times", times))
    side.close()
    control.send(("closed",))


if __name__ == "__main__":
    main(sys.argv[1:])
