"""All cases in interleaved rounds: in every round each contender has its turn, case by case."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from thalweg.bench import limits
from thalweg.bench.ensemble import job
from thalweg.bench.ensemble.job import Seen
from thalweg.bench.ensemble.mpi import MPI, find_mpi
from thalweg.bench.ensemble.settings import Settings
from thalweg.bench.ensemble.transports import TRANSPORTS, Transport
from thalweg.bench.ensemble.transports.transport import Case
from thalweg.errors import InvalidError, MissingLibraryError

#: Called with what is measured now, how much is done, and of how much.
Progress = Callable[[str, float, float], None]
_COPY_BYTES = 8_000_000


@dataclass(frozen=True)
class Contender:
    """A transport as it is compared: with or without replay, where it has that."""

    transport: str
    replay: bool | None

    def __str__(self) -> str:
        words = {None: "", True: ", replay", False: ", no replay"}
        return self.transport + words[self.replay]


@dataclass
class Measured:
    """What was seen in every round, and of the machine; and why a transport was left out."""

    seen: dict[tuple[Case, Contender], list[Seen]] = field(default_factory=dict)
    memcpy_bytes_per_s: list[float] = field(default_factory=list)
    round_trip_s: list[float] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)

    @property
    def limits(self) -> dict[str, float]:
        """The limits of the same run: medians over its rounds and cases."""
        return {
            "memcpy_bytes_per_s": statistics.median(self.memcpy_bytes_per_s),
            "unix_round_trip_s": statistics.median(self.round_trip_s),
        }


def measure(settings: Settings, progress: Progress) -> Measured:
    """Measure every case by every transport, in turns within each round.

    Raises
    ------
    ComponentFailedError, WaitTimeoutError
        When a component fails or is not done in time. Nothing is left behind then.
    MissingLibraryError
        When a transport that was asked for by name cannot run here, or none can; otherwise it is left out, and said so.
    """
    measured = Measured()
    mpi = find_mpi()
    with job.owned_folder(Path(tempfile.gettempdir())) as folder:
        progress("compiling", 0, 1)
        contenders = list(_contenders(settings, mpi, folder, measured))
        if not contenders:
            raise MissingLibraryError(f"bench ensemble: no transport can run: {'; '.join(measured.left_out.values())}")
        total, done = settings.rounds * len(settings.cases) * len(contenders), 0
        for _ in range(settings.rounds):
            for case in settings.cases:
                copies = limits.memcpy_s(_COPY_BYTES, 7)
                measured.memcpy_bytes_per_s.append(_COPY_BYTES / statistics.median(copies))
                measured.round_trip_s.append(statistics.median(limits.unix_round_trip_s(200)))
                for contender, transport, program in contenders:
                    progress(f"{contender}, {case.ensembles} × {case.domain.processes} processes", done, total)
                    seen = job.run(transport, case, settings.cycles, contender.replay, mpi, program, settings.disk)
                    measured.seen.setdefault((case, contender), []).append(seen)
                    done += 1
    return measured


def _contenders(
    settings: Settings, mpi: MPI, folder: Path, measured: Measured
) -> Iterator[tuple[Contender, Transport, Path]]:
    """Those that can run here, compiled into the folder."""
    for name in settings.transports:
        transport = TRANSPORTS[name]()
        try:
            transport.check(mpi)
            transport.base(settings.disk)
        except (MissingLibraryError, InvalidError) as error:
            if settings.named:
                raise
            measured.left_out[name] = str(error)
            continue
        program = mpi.compiled(transport.backend, transport.options(), folder)
        for replay in transport.replays:
            yield Contender(name, replay), transport, program
