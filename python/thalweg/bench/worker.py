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
from typing import Any, Literal, cast

from thalweg.bench.contender import TIMEOUT_S, Consumer, Contender, Producer
from thalweg.bench.exchange import Batch, PairBrokenError, consume, deadline, produce

Role = Literal["producer", "consumer"]
_ROLES: tuple[Role, Role] = ("producer", "consumer")
_PR_SET_PDEATHSIG = 1
_STUCK_S = 3 * TIMEOUT_S


def main(arguments: list[str]) -> None:
    """``worker CONTENDER [--role ROLE] CONTROL CHANNEL ...``: the descriptors are inherited.

    Without a role those of both are given, and the rank that the launcher gave says which is meant.
    """
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    contender_name, *rest = arguments
    from thalweg.bench.contenders import find

    contender = find(contender_name)
    contender.join()
    if rest[0] == "--role":
        role, rank, descriptors = cast(Role, rest[1]), 0, list(map(int, rest[2:]))
    else:
        rank = int(os.environ["PMI_RANK"])
        role, descriptors = _ROLES[rank], list(map(int, rest))
    own = descriptors[2 * rank : 2 * rank + 2]
    for descriptor in descriptors:
        if descriptor not in own:
            os.close(descriptor)  # else the end of the other side would not be seen
    control: Connection[Any, Any] = Connection(own[0])
    channel = socket.socket(fileno=own[1])
    with contextlib.suppress(BrokenPipeError):  # the conductor is gone already
        control.send(("here", os.getpid()))
    with contextlib.ExitStack() as kept:  # closed after a failure is told: the cause is heard before its effects
        try:
            kept.callback(channel.close)
            _serve(contender, role, control, channel)
        except (EOFError, BrokenPipeError):
            return  # the conductor is gone: so are we
        except Exception as error:
            with contextlib.suppress(OSError):
                control.send(("failed", f"{type(error).__name__}: {error}", isinstance(error, PairBrokenError)))


def _serve(contender: Contender, role: Role, control: Connection[Any, Any], channel: socket.socket) -> None:
    _, place, consumer_pid = control.recv()
    side: Producer | Consumer
    side = contender.producer(place) if role == "producer" else contender.consumer(place)
    control.send(("ready",))
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
