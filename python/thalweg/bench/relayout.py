"""Relayout measured: every permutation of an array's axes beside memcpy, NumPy and a plain loop, in one run."""

from __future__ import annotations

import itertools
import math
import mmap
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any

from thalweg.errors import InvalidError, ThalwegError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

#: Called with what is measured now, how much is done, and of how much.
Progress = Callable[[str, float, float], None]

IMPLEMENTATIONS = ("thalweg", "memcpy", "numpy", "naive")
_THREADED = ("thalweg", "memcpy")
_PAGES = {"huge": "MADV_HUGEPAGE", "small": "MADV_NOHUGEPAGE"}
_NAIVE_SIZES = (1, 2, 4, 8, 16)
#: Six axes have 720 permutations.
_MOST_AXES = 6
#: A short copy is repeated until a timing takes as long as copying this.
_LEAST_BYTES = 4 << 20
#: What is left to everything else.
_SPARE_BYTES = 64 << 20


@dataclass(frozen=True)
class Cases:
    """What is to be measured.

    Attributes
    ----------
    shapes : tuple of tuple of int
        Extents in elements, slowest axis first.
    dtype : numpy.dtype
        Type of an element.
    contenders : tuple of (str, int)
        Implementations with their threads; memcpy is there with every number of threads that another one has.
    pages : {"huge", "small"}
        Pages of the arrays' memory.
    """

    shapes: tuple[tuple[int, ...], ...]
    dtype: np.dtype[Any]
    contenders: tuple[tuple[str, int], ...]
    pages: str


def cases(shapes: str, dtype: str, threads: str, implementations: str, pages: str) -> Cases:
    """Read the options of ``bench relayout``; all of them, and the machine's memory, are checked here.

    Raises
    ------
    InvalidError
        For an option that says nothing that can be measured, or arrays that do not fit into memory.
    """
    import numpy as np

    from thalweg.bench.limits import available_memory
    from thalweg.sizes import format_size

    try:
        element = np.dtype(dtype)
    except TypeError:
        raise InvalidError(f"bench relayout: --dtype {dtype!r} is no type of NumPy; such as float64 or uint8") from None
    if element.kind not in "biufc":
        raise InvalidError(f"bench relayout: --dtype {dtype!r}; accepted are bool, int, uint, float and complex")
    names = list(dict.fromkeys(name.strip() for name in implementations.split(",")))
    for name in names:
        if name not in IMPLEMENTATIONS:
            raise InvalidError(
                f"bench relayout: --implementations: no {name!r}; there are {', '.join(IMPLEMENTATIONS)}"
            )
    if "naive" in names and element.itemsize not in _NAIVE_SIZES:
        raise InvalidError(f"bench relayout: naive has no loop for {element}; leave it out of --implementations")
    if pages not in _PAGES:
        raise InvalidError(f"bench relayout: --pages is {pages!r}; accepted are huge and small")
    counts = [_whole("--threads", word, 1024) for word in threads.split(",")]
    read = tuple(_shape(word) for word in shapes.split(","))
    largest = max(math.prod(shape) for shape in read) * element.itemsize
    available = available_memory()
    if 2 * largest + _SPARE_BYTES > available:
        raise InvalidError(
            f"bench relayout: --shape: two arrays of {format_size(largest)} and {format_size(_SPARE_BYTES)} to spare "
            f"are more than the {available:,} bytes that are available; give a smaller shape"
        )
    ours = [(name, count) for count in counts for name in names if name in _THREADED]
    others = [(name, 1) for name in names if name not in _THREADED]
    limits = [("memcpy", count) for count in dict.fromkeys(count for _, count in (*ours, *others))]
    return Cases(read, element, tuple(dict.fromkeys((*limits, *ours, *others))), pages)


def measure(wanted: Cases, repeats: int, progress: Progress) -> list[dict[str, Any]]:
    """Time every contender on every permutation, in turns within each round; one round more goes before them.

    Parameters
    ----------
    wanted : Cases
        From `cases`.
    repeats : int
        Rounds.
    progress : callable
        Told before each round.

    Returns
    -------
    list of dict
        ``shape``, ``dtype``, ``permutation``, ``threads``, ``implementation``, ``pages``, ``bytes_per_s`` (median),
        ``of_memcpy`` (median of the ratios within a round, to memcpy with as many threads).
    """
    rows = []
    total = sum(math.factorial(len(shape)) for shape in wanted.shapes) * (repeats + 1)
    done = 0
    for shape in wanted.shapes:
        source, space = _memory(shape, wanted)
        for axes in itertools.permutations(range(len(shape))):
            target = space.reshape([shape[axis] for axis in axes])
            seconds: dict[tuple[str, int], list[float]] = {one: [] for one in wanted.contenders}
            for turn in range(repeats + 1):
                progress(f"{'×'.join(map(str, shape))} {''.join(map(str, axes))}", done, total)
                done += 1
                for contender, taken in seconds.items():
                    time_s = _timed(contender, source, target, axes)
                    if turn:
                        taken.append(time_s)
                    elif contender[0] != "memcpy":
                        _check(contender[0], source, target, axes)
            rows += [_row(shape, axes, one, taken, seconds, wanted) for one, taken in seconds.items()]
    return rows


def _row(
    shape: tuple[int, ...],
    axes: tuple[int, ...],
    contender: tuple[str, int],
    taken: list[float],
    seconds: dict[tuple[str, int], list[float]],
    wanted: Cases,
) -> dict[str, Any]:
    implementation, threads = contender
    limit = seconds["memcpy", threads]
    return {
        "shape": list(shape),
        "dtype": str(wanted.dtype),
        "permutation": list(axes),
        "threads": threads,
        "implementation": implementation,
        "pages": wanted.pages,
        "bytes_per_s": math.prod(shape) * wanted.dtype.itemsize / statistics.median(taken),
        "of_memcpy": statistics.median(least / own for least, own in zip(limit, taken, strict=True)),
    }


def _timed(
    contender: tuple[str, int], source: npt.NDArray[Any], target: npt.NDArray[Any], axes: tuple[int, ...]
) -> float:
    """Seconds of one copy."""
    import numpy as np

    from thalweg import _native

    name, threads = contender
    turned = source.transpose(axes)
    works: dict[str, Callable[[], None]] = {
        "thalweg": lambda: _native.relayout(turned, target, threads),
        "memcpy": lambda: _native.memcpy(source.reshape(-1), target.reshape(-1), threads),
        "numpy": lambda: np.copyto(target, turned),
        "naive": lambda: _native.element_by_element(source, target.transpose(np.argsort(axes))),
    }
    work, times = works[name], max(1, _LEAST_BYTES // source.nbytes)
    begin = perf_counter()
    for _ in range(times):
        work()
    return (perf_counter() - begin) / times


def _check(name: str, source: npt.NDArray[Any], target: npt.NDArray[Any], axes: tuple[int, ...]) -> None:
    """A wrong copy is not measured: the first, the middle and the last slab are compared."""
    import numpy as np

    turned = source.transpose(axes)
    for at in {0, len(turned) // 2, len(turned) - 1}:
        if not np.array_equal(turned[at], target[at]):
            raise ThalwegError(f"bench relayout: {name} copied permutation {axes} of {source.shape} wrongly")
    target.reshape(-1).view(np.uint8)[:] = 0


def _memory(shape: tuple[int, ...], wanted: Cases) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """A source full of noise and the space for a target, in pages of one kind, touched before use."""
    import numpy as np

    size = math.prod(shape) * wanted.dtype.itemsize
    maps = [mmap.mmap(-1, size) for _ in range(2)]
    for one in maps:
        one.madvise(getattr(mmap, _PAGES[wanted.pages]))
    source, target = (np.frombuffer(one, np.uint8) for one in maps)
    # no byte above 99, so that no float is a NaN, which would not equal itself
    noise = np.random.default_rng(1).integers(0, 2 if wanted.dtype.kind == "b" else 100, 1 << 16, np.uint8)
    for begin in range(0, size, noise.size):
        source[begin : begin + noise.size] = noise[: size - begin]
    target[:] = 0
    return source.view(wanted.dtype).reshape(shape), target.view(wanted.dtype)


def _shape(words: str) -> tuple[int, ...]:
    extents = tuple(_whole("--shape", word, 1 << 40) for word in words.replace("×", "x").split("x"))
    if len(extents) > _MOST_AXES:
        raise InvalidError(f"bench relayout: --shape {words!r} has {len(extents)} axes; accepted are 1 to {_MOST_AXES}")
    return extents


def _whole(option: str, word: str, most: int) -> int:
    if word.strip().isdecimal() and 1 <= int(word) <= most:
        return int(word)
    raise InvalidError(f"bench relayout: {option}: {word!r} is no whole number from 1 to {most}")
