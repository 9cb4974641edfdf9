"""One rank of a real run of a workload program: ``python -m thalweg.simulator.worker JOB``.

Rank 0 writes what all ranks did into the file that the job names.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thalweg.errors import InvalidError, ThalwegError
from thalweg.ranks import OneRank, Ranks, current_ranks
from thalweg.simulator.files import Files
from thalweg.simulator.waiting import Waiting

if TYPE_CHECKING:
    from thalweg._native import BoundProgram

#: The tag of messages that collectives are made of; the language uses tag 0.
_COLLECTIVE_TAG = 32_767
#: What one message of MPI can hold.
_MESSAGE_MAX = (1 << 31) - 1


class Messages:
    """Messages through mpi4py, counted as they are handed over.

    Attributes
    ----------
    sent, received : tuple of int
        Messages and their bytes.
    """

    def __init__(self, comm: Any, schedules: BoundProgram | None) -> None:
        from mpi4py import MPI

        self._mpi, self._comm, self._schedules = MPI, comm, schedules
        self._source = b""
        self._word: memoryview | None = None
        self._requests: dict[int, tuple[Any, int | None]] = {}
        self._groups: dict[tuple[int, ...], Any] = {}
        self.sent = self.received = (0, 0)

    def perform(self, kind: str, numbers: tuple[Any, ...]) -> None:
        """Perform one operation of messages, given as the native evaluator gives it."""
        match kind, numbers:
            case "send", (to, size, tag):
                self._comm.Send(self._data(size), to, self._tag(tag))
                self._count_sent(size)
            case "isend", (to, size, tag, request):
                self._requests[request] = (self._comm.Isend(self._data(size), to, self._tag(tag)), None)
                self._count_sent(size)
            case "recv", (source, size, tag):
                status = self._mpi.Status()
                self._comm.Recv(self._room(size), self._rank(source), self._tag(tag), status)
                self._count_received(status.Get_count(self._mpi.BYTE), size)
            case "irecv", (source, size, tag, request):
                begun = self._comm.Irecv(self._room(size), self._rank(source), self._tag(tag))
                self._requests[request] = (begun, size)
            case "wait", (request,):
                self._wait([request] if request in self._requests else [])
            case "waitall", _:
                self._wait(list(self._requests))
            case _, (root, size, group):
                self._collective(kind, root, size, group)

    def tell(self, word: int, size: int) -> int:
        """Broadcast task 0's word, a number of `size` bytes; what it is on every rank."""
        told = bytearray(word.to_bytes(size, "little"))
        if self._schedules is None:
            self._comm.Bcast([told, self._mpi.BYTE], 0)
        else:
            self._word = memoryview(told)
            self._collective("bcast", 0, size, None)
            self._word = None
        return int.from_bytes(told, "little")

    def end(self) -> None:
        """Wait for what was begun and never waited for."""
        self._wait(list(self._requests))

    def _collective(self, kind: str, root: int, size: int, group: list[int] | None) -> None:
        if self._schedules is not None:
            for step, *numbers in self._schedules.schedule(kind, root, size, group, self._comm.Get_rank()):
                self.perform(step, tuple(numbers))
            return
        comm, place = self._comm, root
        if group is not None:
            comm, place = self._group(tuple(group)), group.index(root) if root in group else 0
        own, every = self._data(size), comm.Get_size() * size
        # Adding small numbers takes the same road as adding large ones.
        numbers = [own, self._mpi.UNSIGNED_CHAR]
        match kind:
            case "barrier":
                comm.Barrier()
            case "bcast":
                comm.Bcast([self._room(size), self._mpi.BYTE], place)
            case "reduce":
                into = [self._room(size), self._mpi.UNSIGNED_CHAR] if comm.Get_rank() == place else None
                comm.Reduce(numbers, into, self._mpi.SUM, place)
            case "allreduce":
                comm.Allreduce(numbers, [self._room(size), self._mpi.UNSIGNED_CHAR], self._mpi.SUM)
            case "allgather":
                comm.Allgather([own, self._mpi.BYTE], [self._room(every), self._mpi.BYTE])
            case "alltoall":
                comm.Alltoall([self._data(every), self._mpi.BYTE], [self._room(every), self._mpi.BYTE])

    def _group(self, members: tuple[int, ...]) -> Any:
        """A communicator of some ranks, made when it is first used: by its members alone."""
        if members not in self._groups:
            group = self._comm.Get_group().Incl(members)
            self._groups[members] = self._comm.Create_group(group, tag=1)
        return self._groups[members]

    def _wait(self, requests: list[int]) -> None:
        statuses = [self._mpi.Status() for _ in requests]
        begun = [self._requests.pop(request) for request in requests]
        self._mpi.Request.Waitall([request for request, _ in begun], statuses)
        for (_, size), status in zip(begun, statuses, strict=True):
            if size is not None:
                self._count_received(status.Get_count(self._mpi.BYTE), size)

    def _data(self, size: int) -> memoryview:
        """Bytes to send; one buffer for all messages, which nobody writes to."""
        if size > _MESSAGE_MAX:
            raise InvalidError(f"sim exec: a message of {size} bytes; MPI takes up to {_MESSAGE_MAX}")
        if self._word is not None:
            return self._word
        if len(self._source) < size:
            self._source = bytes(size)
        return memoryview(self._source)[:size]

    def _room(self, size: int) -> bytearray | memoryview:
        if size > _MESSAGE_MAX:
            raise InvalidError(f"sim exec: a message of {size} bytes; MPI takes up to {_MESSAGE_MAX}")
        return bytearray(size) if self._word is None else self._word

    def _rank(self, source: int | None) -> int:
        return int(self._mpi.ANY_SOURCE) if source is None else source

    def _tag(self, tag: int | None) -> int:
        return int(self._mpi.ANY_TAG) if tag is None else min(tag, _COLLECTIVE_TAG)

    def _count_sent(self, size: int) -> None:
        self.sent = (self.sent[0] + 1, self.sent[1] + size)

    def _count_received(self, size: int, expected: int) -> None:
        if size != expected:
            raise InvalidError(f"sim exec: a message of {size} bytes came where {expected} were expected")
        self.received = (self.received[0] + 1, self.received[1] + size)


class Nobody(Messages):
    """The messages of a program that is one task: there is nobody to exchange them with."""

    def __init__(self) -> None:
        self.sent = self.received = (0, 0)

    def perform(self, kind: str, numbers: tuple[Any, ...]) -> None:
        """Do nothing: collectives of one task are done, and it has no messages to wait for."""

    def tell(self, word: int, size: int) -> int:
        """Return the word: nobody else is to be told."""
        return word

    def end(self) -> None:
        """Do nothing."""


def perform(bound: BoundProgram, ranks: Ranks, files: Files, schedules: bool, waiting: Waiting) -> dict[str, Any]:
    """Perform this rank's part; what it did: operations by kind (count, bytes), messages, times, what it logged."""
    messages = Nobody() if isinstance(ranks, OneRank) else Messages(ranks.comm, bound if schedules else None)
    task = bound.task(ranks.rank)
    done: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    spent = {"communication": 0.0, "io": 0.0, "compute": 0.0}
    ranks.barrier()
    begin = last = time.perf_counter()
    while True:
        operation = task.next((last - begin) * 1e6, messages.sent, messages.received)
        if operation is None:
            break
        kind, *numbers = waiting.operation = operation
        match kind:
            case "compute":
                time.sleep(numbers[0])
                size, on = 0, "compute"
            case "open" | "close" | "sync" | "read" | "write":
                files.perform(kind, *numbers)
                size, on = (numbers[2] if len(numbers) == 3 else 0), "io"
            case _:
                word = task.word()
                if word is None:
                    messages.perform(kind, tuple(numbers))
                else:
                    task.hear(messages.tell(word, numbers[1]))
                size, on = (numbers[1] if len(numbers) >= 2 else 0), "communication"
        if kind in ("isend", "irecv"):
            waiting.begun[numbers[3]] = operation
        elif kind == "wait":
            waiting.begun.pop(numbers[0], None)
        elif kind == "waitall":
            waiting.begun.clear()
        done[kind][0] += 1
        done[kind][1] += size
        now = time.perf_counter()
        spent[on] += now - last
        last = now
    waiting.operation = ("waitall",)
    messages.end()
    elapsed = time.perf_counter() - begin
    return {
        "rank": ranks.rank,
        "elapsed_s": elapsed,
        **{f"{on}_s": value for on, value in spent.items()},
        "operations": dict(done),
        "sent": messages.sent,
        "received": messages.received,
        "laps": bound.laps(),
        "logged": bound.logged(),
        "outputs": bound.outputs(),
    }


def main(job_path: str) -> int:
    """Run the job of a file."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # a rank dies with its launcher
    from thalweg import _native

    job = json.loads(Path(job_path).read_text(encoding="utf-8"))
    try:
        ranks = current_ranks()
    except ThalwegError as error:
        print(f"thalweg: error: {error}", file=sys.stderr)
        return 1
    try:
        program = _native.WorkloadProgram(job["name"], job["text"])
        bound = program.bind(ranks.size, list(job["given"].items()), job["seed"])
        with Files(Path(job["folder"]), program.files()) as files:
            waiting = Waiting()
            with waiting.told(Path(job["result"]).parent, ranks.rank, ranks.size, job["until"]):
                done = perform(bound, ranks, files, job["collectives"] == "messages", waiting)
                waiting.operation = None
                told = ranks.gather(done)
    except (ThalwegError, OSError) as error:
        print(f"thalweg: error: rank {ranks.rank}: {error}", file=sys.stderr, flush=True)
        if ranks.comm is not None:
            ranks.comm.Abort(1)
        return 1
    if ranks.rank == 0:
        result = Path(job["result"])
        part = result.with_suffix(".part")
        part.write_text(json.dumps(told), encoding="utf-8")
        os.replace(part, result)
    ranks.barrier()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
