"""What the figures 3 to 6 of the SimAI-Bench paper show of a sweep, before anything draws it."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from thalweg.report.sweep_panels import Drawing, Mark, Panel, Series
from thalweg.results import ResultTable, SweepPoint
from thalweg.results.sweep_summaries import Spread

_WORK_COLOUR = "#555555"
#: The backend that others are compared with, where it is among them.
BASELINE = "thalweg"
_SPEED = "throughput of one process / (GB/s)"
#: Medians over fewer arrays than this are not free of how a run starts.
_FEW = 10


@dataclass(frozen=True)
class SweepFigure:
    """One figure of the paper as this sweep has it, and what can be read from it."""

    number: int
    title: str
    note: str
    #: what the paper says of its own figure
    paper: str
    drawing: Drawing
    reading: ResultTable


def sweep_figures(pattern: str, points: Sequence[SweepPoint], colours: Mapping[str, str]) -> list[SweepFigure]:
    """Return the figures that the points of a pattern's sweep have something for.

    Parameters
    ----------
    pattern : str
        What was swept: ``one-to-one`` has figures 3 and 4, ``many-to-one`` 5 and 6, others none.
    points : sequence of SweepPoint
        As `sweep_points` gives them; those that measured nothing are left out.
    colours : mapping
        The colour of each backend.
    """
    usable = [point for point in points if point.measured and {"backend", "size_bytes"} <= point.options.keys()]
    made = {"one-to-one": (_figure_3, _figure_4), "many-to-one": (_figure_5, _figure_6)}.get(pattern, ())
    found = [make(usable, colours) for make in made if usable]
    return [figure for figure in found if figure.drawing.sizes_mb]


def _figure_3(points: Sequence[SweepPoint], colours: Mapping[str, str]) -> SweepFigure:
    paper = (
        "on 8 nodes of Aurora the in-memory backends (DragonHPC, Redis, node-local) get quicker with the size, then "
        "slower at the largest, where arrays no longer fit the cache (about 8 MB a process); the file system gets "
        "quicker throughout. On 512 nodes only the file system changes: it gets much slower."
    )
    return SweepFigure(3, "Read and write throughput, one-to-one", _moved(points), paper, *_speeds(points, colours))


def _figure_4(points: Sequence[SweepPoint], colours: Mapping[str, str]) -> SweepFigure:
    paper = (
        "with node-local one 32 MB array takes about as long as one iteration, at any number of nodes; with the file "
        "system that is so on 8 nodes, and about ten times as long on 512."
    )
    backends = _backends(points)
    rows, panels = [], []
    for kind, work, who in (("write", "compute", "solver"), ("read", "train", "trainer")):
        lines = _lines(points, colours, _in_ms(f"{kind}_s"), (kind,))
        working = _by_size(points, _in_ms(f"{work}_s"))
        marks = [Mark(size_mb, _over(list(spent.values())), "over all backends") for size_mb, spent in working]
        lines.append(Series(f"one iteration of the {who}", _WORK_COLOUR, marks, dashed=True))
        panels.append(Panel(f"one {kind} beside one iteration of the {who}", "time / ms", lines))
        iteration = dict(working)
        for size_mb, moved in _by_size(points, _in_ms(f"{kind}_s")):
            spent = iteration.get(size_mb, {})
            shares = [
                moved[backend].median / spent[backend].median * 100 if backend in moved and backend in spent else None
                for backend in backends
            ]
            rows.append([kind, size_mb, _over(list(spent.values())).median if spent else None, *shares])
    columns = ["operation", "size / MB", "one iteration / ms", *(f"{backend} / %" for backend in backends)]
    reading = ResultTable("One array, as a share of one iteration", columns, rows)
    return SweepFigure(
        4, "Compute against transport time of one array", _moved(points), paper, Drawing(panels), reading
    )


def _figure_5(points: Sequence[SweepPoint], colours: Mapping[str, str]) -> SweepFigure:
    fewest = min(_simulations(points))
    some = [point for point in points if point.options.get("simulations", 1) == fewest]
    paper = (
        "on 2 nodes, where reads come from the other node, Redis reads slowly though it writes reasonably; DragonHPC "
        "is quick at both up to about 10 MB; the file system gets quicker throughout and meets DragonHPC at the end."
    )
    title = f"Read and write throughput, many-to-one, {_counted(fewest)}"
    return SweepFigure(5, title, _moved(some), paper, *_speeds(some, colours))


def _figure_6(points: Sequence[SweepPoint], colours: Mapping[str, str]) -> SweepFigure:
    paper = (
        "on 8 nodes the time grows with the size for all backends, for Redis most; DragonHPC and the file system are "
        "equal. On 128 nodes Redis stays slowest, and below 10 MB DragonHPC is much slower than the file system."
    )
    panels, rows = [], []
    backends = _backends(points)
    default = _default(backends)
    for count in _simulations(points):
        some = [point for point in points if point.options.get("simulations", 1) == count]
        configured_ms = [
            1e3 * point.configured["trainer_iteration_s"] for point in some if "trainer_iteration_s" in point.configured
        ]
        reference = (configured_ms[0], f"configured: {configured_ms[0]:.4g} ms") if configured_ms else None
        measure = _in_ms("time_per_iteration_s")
        lines = _lines(some, colours, measure, ())
        panels.append(Panel(_counted(count), "training time per iteration / ms", lines, reference))
        for size_mb, values in _by_size(some, measure):
            best = min(values.values(), key=lambda spread: spread.median)
            rows.append(
                [
                    count,
                    size_mb,
                    _best(values, lowest=True),
                    best.median,
                    best.median / reference[0] * 100 - 100 if reference else None,
                    *_ratios(values, backends, default),
                ]
            )
    columns = ["simulations", "size / MB", "fastest", "time / ms", "over configured / %", *_headings(backends, default)]
    note = "The trainer's whole time, transport and waiting included, by its iterations. " + _repeats(points)
    return SweepFigure(
        6,
        "Training time per iteration, many-to-one",
        note,
        paper,
        Drawing(panels),
        ResultTable("Fastest at each size", columns, rows),
    )


def _speeds(points: Sequence[SweepPoint], colours: Mapping[str, str]) -> tuple[Drawing, ResultTable]:
    backends = _backends(points)
    default = _default(backends)
    panels, rows = [], []
    for kind in ("write", "read"):

        def measure(point: SweepPoint, kind: str = kind) -> Spread | None:
            return _scaled(point, f"{kind}_bytes_per_s", 1e-9)

        panels.append(Panel(kind, _SPEED, _lines(points, colours, measure, (kind,))))
        for size_mb, values in _by_size(points, measure):
            best = max(values.values(), key=lambda spread: spread.median)
            rows.append([kind, size_mb, _best(values, lowest=False), best.median, *_ratios(values, backends, default)])
    columns = ["operation", "size / MB", "fastest", "GB/s", *_headings(backends, default)]
    return Drawing(panels), ResultTable("Fastest at each size", columns, rows)


Measure = Callable[[SweepPoint], Spread | None]


def _lines(
    points: Sequence[SweepPoint], colours: Mapping[str, str], measure: Measure, kinds: Sequence[str]
) -> list[Series]:
    lines = []
    for backend in _backends(points):
        marks = [
            Mark(point.options["size_bytes"] / 1e6, spread, _rests_on(point, kinds))
            for point in points
            if point.options["backend"] == backend and (spread := measure(point)) is not None
        ]
        lines.append(Series(backend, colours[backend], sorted(marks, key=lambda mark: mark.size_mb)))
    return lines


def _scaled(point: SweepPoint, measure: str, factor: float) -> Spread | None:
    spread = point.spread(measure)
    return Spread(*(value * factor for value in spread)) if spread is not None else None


def _in_ms(measure: str) -> Measure:
    return lambda point: _scaled(point, measure, 1e3)


def _over(spreads: Sequence[Spread]) -> Spread:
    medians = [spread.median for spread in spreads]
    return Spread(statistics.median(medians), min(medians), max(medians))


def _by_size(points: Sequence[SweepPoint], measure: Measure) -> list[tuple[float, dict[str, Spread]]]:
    """Each size in MB, and what each backend measured at it."""
    found: dict[float, dict[str, Spread]] = {}
    for point in points:
        spread = measure(point)
        if spread is not None:
            found.setdefault(point.options["size_bytes"] / 1e6, {})[point.options["backend"]] = spread
    return sorted(found.items())


def _best(values: Mapping[str, Spread], *, lowest: bool) -> str:
    """The best backend, and those whose repeats reach into its range: these cannot be told from it."""
    choose = min if lowest else max
    best = choose(values, key=lambda backend: values[backend].median)
    least, most = values[best].least, values[best].most
    equal = [name for name, spread in values.items() if name != best and spread.least <= most and spread.most >= least]
    return f"{best} (or {', '.join(equal)})" if equal else best


def _ratios(values: Mapping[str, Spread], backends: Sequence[str], default: str) -> list[float | None]:
    base = values.get(default)
    return [
        values[backend].median / base.median if base and base.median and backend in values else None
        for backend in backends
        if backend != default
    ]


def _headings(backends: Sequence[str], default: str) -> list[str]:
    return [f"{backend} : {default}" for backend in backends if backend != default]


def _backends(points: Sequence[SweepPoint]) -> list[str]:
    return list(dict.fromkeys(point.options["backend"] for point in points))


def _default(backends: Sequence[str]) -> str:
    return BASELINE if BASELINE in backends else backends[0]


def _simulations(points: Sequence[SweepPoint]) -> list[int]:
    return sorted({point.options.get("simulations", 1) for point in points})


def _counted(simulations: int) -> str:
    return f"{simulations} simulation{'' if simulations == 1 else 's'}"


def _rests_on(point: SweepPoint, kinds: Sequence[str]) -> str:
    runs = len(point.measured)
    arrays = "".join(f"{point.events(kind)} arrays in " for kind in kinds)
    return f"{arrays}{runs} run{'' if runs == 1 else 's'}"


def _moved(points: Sequence[SweepPoint]) -> str:
    """How many arrays a point stands for."""
    counts = [point.events(kind) for point in points for kind in ("write", "read") if point.events(kind)]
    fewest, most = min(counts, default=0), max(counts, default=0)
    told = f"The median array of each run; {fewest if fewest == most else f'{fewest} to {most}'} arrays a point"
    if fewest < _FEW:
        told += ", which are few: a run's first ones touch fresh memory and are slow"
    return f"{told}. {_repeats(points)}"


def _repeats(points: Sequence[SweepPoint]) -> str:
    runs = sorted({len(point.measured) for point in points})
    if runs == [1]:
        return "One run a point: nothing is known of the spread between runs."
    told = f"{runs[0]}" if len(runs) == 1 else f"{runs[0]} to {runs[-1]}"
    return f"{told} runs a point: the median of them, whiskers from the least to the most."
