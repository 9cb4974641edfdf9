"""Several scenarios: side by side on the machine's cores, or with values put into one."""

from __future__ import annotations

import itertools
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import replace
from typing import Any

from thalweg.errors import InvalidError, ThalwegError
from thalweg.simulator.outcome import Outcome
from thalweg.simulator.running import simulate
from thalweg.simulator.scenario import Scenario

#: Hears a run's name, its simulated time in seconds, and how many packets have arrived.
TellOf = Callable[[str, float, int], None]


#: A name's most letters; a folder's may have 255 bytes, and the file of the scenario goes before.
_LONGEST = 150


class _StoppedError(Exception):
    """The caller was interrupted, or has gone."""


def simulate_all(
    scenarios: Mapping[str, Scenario], parallel: int = 1, *, tell: TellOf | None = None
) -> Iterator[tuple[str, Outcome | ThalwegError]]:
    """Run scenarios, `parallel` at a time, each on a thread; yield name and outcome of each as it ends.

    What cannot run has its error in the place of an outcome, and the others go on; Ctrl-C stops all. Outcomes have no
    ``memory_bytes``: the runs share a process.

    Parameters
    ----------
    scenarios : mapping of str to Scenario
        By the names under which they are told.
    parallel : int
        At most so many at a time; outcomes do not depend on it.
    tell : callable, optional
        Called from the threads about once a second for each run.
    """
    stop = threading.Event()

    def one(name: str) -> tuple[str, Outcome | ThalwegError]:
        def hear(simulated_s: float, packets: int) -> None:
            if stop.is_set():
                raise _StoppedError
            if tell is not None:
                tell(name, simulated_s, packets)

        if stop.is_set():
            raise _StoppedError
        try:
            return name, replace(simulate(scenarios[name], tell=hear), memory_bytes=None)
        except ThalwegError as error:
            return name, error

    with ThreadPoolExecutor(max_workers=parallel, thread_name_prefix="simulation") as pool:
        left: set[Future[tuple[str, Outcome | ThalwegError]]] = {pool.submit(one, name) for name in scenarios}
        try:
            while left:
                done, left = wait(left, return_when=FIRST_COMPLETED)
                for ended in done:
                    yield ended.result()
        finally:
            stop.set()


def failure(failed: Mapping[str, ThalwegError], of: int) -> ThalwegError:
    """Return one error for the scenarios, of so many, that could not run; its kind is that of the first."""
    reasons = "".join(f"\n{name}: {error}" for name, error in failed.items())
    return type(next(iter(failed.values())))(f"{len(failed)} of {of} scenarios could not run:{reasons}")


def combinations(content: Mapping[str, Any], values: Sequence[tuple[str, Sequence[Any]]]) -> dict[str, dict[str, Any]]:
    """Return a scenario's content with each combination of values, by names such as ``routing=par,seed=2``.

    Parameters
    ----------
    content : mapping
        The scenario, as a file has it.
    values : sequence of (key, values)
        Keys with dots between the tables, such as ``network.routing``, or
        with a number in a list: ``application.0.nodes``, also spelt
        ``application[0].nodes``.

    Returns
    -------
    dict
        By names that can be those of folders: letters, digits and ``.+-_=,``.

    Raises
    ------
    InvalidError
        For a key whose table is not there, or that is given twice.
    """
    keys = [re.sub(r"\[(\d+)\]", r".\1", key) for key, _ in values]
    short = [key.rpartition(".")[2] for key in keys]
    called = [key if short.count(last) > 1 else last for key, last in zip(keys, short, strict=True)]
    for key in keys:
        if keys.count(key) > 1:
            raise InvalidError(f"sweep: {key} is given twice; give all its values at once")
    found: dict[str, dict[str, Any]] = {}
    for chosen in itertools.product(*(each for _, each in values)):
        one = _copied(content)
        for key, value in zip(keys, chosen, strict=True):
            _put(one, key, value)
        name = ",".join(f"{key}={_label(value)}" for key, value in zip(called, chosen, strict=True))[:_LONGEST]
        again = sum(known == name or known.startswith(f"{name}~") for known in found)
        found[f"{name}~{again + 1}" if again else name] = one
    return found


def _label(value: Any) -> str:
    """A value as a part of a folder's name."""
    return re.sub(r"[^A-Za-z0-9.+-]+", "_", str(value)).strip("_")


def listed(words: str) -> list[str]:
    """Return the words between commas, but for commas in brackets and quotation marks."""
    found, depth, quote = [""], 0, ""
    for letter in words:
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "\"'":
            quote = letter
        else:
            depth += (letter in "[{") - (letter in "]}")
        if letter == "," and not depth and not quote:
            found.append("")
        else:
            found[-1] += letter
    return [word.strip() for word in found]


def _copied(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _copied(inner) for name, inner in value.items()}
    return [_copied(inner) for inner in value] if isinstance(value, list) else value


def _put(content: dict[str, Any], key: str, value: Any) -> None:
    *tables, last = key.split(".")
    place: Any = content
    for step, name in enumerate(tables):
        if isinstance(place, list) and name.isdecimal() and int(name) < len(place):
            place = place[int(name)]
        elif isinstance(place, dict):
            place = place.setdefault(name, {})
        else:
            place = None
        if not isinstance(place, (dict, list)):
            raise InvalidError(f"sweep: {key}: there is no table {'.'.join(tables[: step + 1])} in the scenario")
    if not isinstance(place, dict):
        raise InvalidError(
            f"sweep: {key}: {'.'.join(tables)} is a list; name one of its entries by number: {tables[-1]}.0.{last}"
        )
    place[last] = value
