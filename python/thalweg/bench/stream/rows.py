"""Rows of a result: medians over rounds, and ratios taken within each round before their median is."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from thalweg.bench.rows import percentile
from thalweg.bench.stream.limits import Limits
from thalweg.bench.stream.order import Case, Language
from thalweg.bench.stream.rounds import Measured, Sample
from thalweg.bench.stream.sides import Heard

#: The system whose speed every row is also given in, when it was measured.
REFERENCE = "kafka"
OPERATIONS = ("produce", "consume", "latency")
#: Of what was pulled one at a time, the first tenth is not counted: connections are made, code is loaded.
_WARM = 10


class _Key(NamedTuple):
    system: str
    language: Language
    case: Case
    operation: str


class _Turn(NamedTuple):
    """One operation in one round."""

    round: int
    events: int
    events_per_s: float
    #: What the row's median and percentile are of: see `rows`.
    seconds: list[float]
    cpu_s: float
    push_s: float = 0.0


def rows(measured: Measured) -> list[dict[str, Any]]:
    """One row for each system, language, case and operation.

    Returns
    -------
    list of dict
        ``system``, ``language``, ``durability``, ``event_bytes``, ``data_bytes``, ``partitions``, ``operation``;
        ``events_per_s`` and ``bytes_per_s``, for ``latency`` those that were sent; ``median_s`` and ``p99_s``: for
        ``latency`` from push to pull, otherwise of an event, by hundredths of a run; ``client_cpu_s`` of an event;
        ``push_mean_s``, of ``latency``: what a push costs its caller, with its share of the flush at the end;
        ``of_append``, ``of_read``, ``of_memcpy``: bytes per second as a fraction of the limit's, ``round_trips``:
        median latency in Unix-socket round trips, ``vs_kafka``: how many times quicker than Kafka in the same
        language and case, each None where it means nothing or was not measured; ``rounds``, ``events`` of a round.
    """
    grouped: dict[_Key, list[_Turn]] = defaultdict(list)
    for sample in measured.samples:
        for operation, turn in _turns(sample):
            grouped[_Key(sample.system, sample.language, sample.case, operation)].append(turn)
    return [_row(key, grouped, measured.limits) for key in grouped]


def _turns(sample: Sample) -> Iterator[tuple[str, _Turn]]:
    for operation, heard in (("produce", sample.produced), ("consume", sample.consumed)):
        spans = [(end - begin) / 1e9 for begin, end in zip(heard.stamps_ns, heard.stamps_ns[1:], strict=False)]
        # What is after the last whole part belongs to it: a flush, and events that fill no part.
        parts = [*spans[:-2], sum(spans[-2:])] if len(spans) > 1 else spans
        each = sample.events / len(parts)
        per_s = sample.events / sum(spans)
        yield (
            operation,
            _Turn(sample.round, sample.events, per_s, [span / each for span in parts], _cpu(heard, sample.events)),
        )
    if sample.pushed is not None and sample.pulled is not None:
        latencies = [nanoseconds / 1e9 for nanoseconds in sample.pulled.latencies_ns]
        counted = latencies[len(latencies) // _WARM :]
        span_s = (sample.pulled.stamps_ns[-1] - sample.pulled.stamps_ns[0]) / 1e9
        cpu_s = _cpu(sample.pulled, len(latencies))
        push_s = sample.pushed.pushing_s / len(latencies)
        yield "latency", _Turn(sample.round, len(latencies), len(latencies) / span_s, counted, cpu_s, push_s)


def _cpu(heard: Heard, events: int) -> float:
    return heard.cpu_s / events


def _row(key: _Key, grouped: dict[_Key, list[_Turn]], limits: dict[tuple[int, Case], Limits]) -> dict[str, Any]:
    turns, case, latency = grouped[key], key.case, key.operation == "latency"
    reference = {turn.round: turn for turn in grouped.get(key._replace(system=REFERENCE), [])}

    def of(limit: Callable[[Limits], float]) -> float:
        return statistics.median(
            turn.events_per_s * case.size_bytes / limit(limits[turn.round, case]) for turn in turns
        )

    def times(turn: _Turn) -> float:
        other = reference[turn.round]
        if latency:
            return statistics.median(other.seconds) / statistics.median(turn.seconds)
        return turn.events_per_s / other.events_per_s

    common = [times(turn) for turn in turns if turn.round in reference]
    events_per_s = statistics.median(turn.events_per_s for turn in turns)
    median_s = statistics.median(statistics.median(turn.seconds) for turn in turns)
    trips = [statistics.median(turn.seconds) / limits[turn.round, case].unix_round_trip_s for turn in turns]
    return {
        "system": key.system,
        "language": key.language,
        "durability": case.durability,
        "event_bytes": case.event_bytes,
        "data_bytes": case.data_bytes,
        "partitions": case.partitions,
        "operation": key.operation,
        "events_per_s": events_per_s,
        "bytes_per_s": events_per_s * case.size_bytes,
        "median_s": median_s,
        "p99_s": percentile([seconds for turn in turns for seconds in turn.seconds], 0.99),
        "client_cpu_s": statistics.median(turn.cpu_s for turn in turns),
        "push_mean_s": statistics.median(turn.push_s for turn in turns) if latency else None,
        "of_append": of(lambda limit: limit.append_bytes_per_s) if key.operation == "produce" else None,
        "of_read": of(lambda limit: limit.read_bytes_per_s) if key.operation == "consume" else None,
        "of_memcpy": None if latency else of(lambda limit: limit.memcpy_bytes_per_s),
        "round_trips": statistics.median(trips) if latency else None,
        "vs_kafka": statistics.median(common) if common else None,
        "rounds": len(turns),
        "events": turns[0].events,
    }


def in_common(found: Sequence[Mapping[str, Any]]) -> bool:
    """Tell whether rows are of one system, or two of them were measured in one language."""
    pairs = {(row["system"], row["language"]) for row in found}
    systems, languages = {system for system, _ in pairs}, {language for _, language in pairs}
    return len(systems) < 2 or len(pairs) > len(languages)


def limits_of(measured: Measured) -> dict[str, Any]:
    """The limits of the same run: medians over rounds, of the largest case first, then of every case."""
    by_case: dict[Case, list[Limits]] = defaultdict(list)
    for (_, case), seen in measured.limits.items():
        by_case[case].append(seen)
    cases = [
        {
            "event_bytes": case.event_bytes,
            "data_bytes": case.data_bytes,
            "partitions": case.partitions,
            "durability": case.durability,
            **{name: statistics.median(getattr(one, name) for one in seen) for name in Limits.__dataclass_fields__},
        }
        for case, seen in by_case.items()
    ]
    largest = max(cases, key=lambda case: int(case["event_bytes"]) + int(case["data_bytes"]))
    return {**{name: largest[name] for name in Limits.__dataclass_fields__}, "cases": cases}
