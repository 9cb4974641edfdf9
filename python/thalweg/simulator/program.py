"""Programs of the workload language: read, checked, and counted without a machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from thalweg.errors import InvalidError

if TYPE_CHECKING:
    from thalweg._native import BoundProgram, WorkloadProgram


@dataclass(frozen=True)
class Finding:
    """What is wrong with a program (``error``), or strange (``warning``); lines and columns count from 1."""

    severity: str
    line: int
    column: int
    word: str
    message: str
    #: What was expected there.
    label: str
    help: str | None
    #: All of it as people read it, with the line and carets under the word.
    shown: str


@dataclass(frozen=True)
class Parameter:
    """What a program can be told."""

    name: str
    description: str
    options: list[str]


@dataclass(frozen=True)
class Tally:
    """What tasks do: operations by kind, and the messages that they come to."""

    #: How many operations, and their bytes, by kind.
    operations: dict[str, tuple[int, int]]
    #: Messages that the program sends itself, and their bytes.
    sent: tuple[int, int]
    #: Messages with those that collectives are made of, and their bytes.
    messages: tuple[int, int]
    #: Sender, receiver, and how many messages more are sent than received; negative where fewer are.
    balance: list[tuple[int, int, int]] = field(default_factory=list)

    def unmatched(self) -> list[str]:
        """Return in words which messages nobody receives, and which nobody sends: the first of each."""
        found = []
        for sign, what in ((1, "messages that nobody receives"), (-1, "messages that are received and nobody sends")):
            pairs = [(source, to, sign * more) for source, to, more in self.balance if sign * more > 0]
            if pairs:
                named = [f"{count} from task {source} to task {to}" for source, to, count in pairs[:3]]
                others = [f"and between {len(pairs) - 3} other pairs"] if len(pairs) > 3 else []
                found.append(f"{what}: {', '.join(named + others)}")
        return found


class Program:
    """A program of the workload language.

    Parameters
    ----------
    path : path
        Its file; names by convention end in ``.ncptl``.
    text : str, optional
        Its text, when it is not in the file; the path is then only its name.

    Raises
    ------
    InvalidError
        When it is wrong: with the line, the word, and what was expected.

    Examples
    --------
    >>> program = Program("ring.ncptl", "All tasks t send a 64 byte message to task (t+1) mod num_tasks.")
    >>> program.tally(4).sent
    (4, 256)
    """

    def __init__(self, path: str | Path, text: str | None = None) -> None:
        from thalweg import _native

        self.name = str(path)
        self.text = _text(path) if text is None else text
        self._native: WorkloadProgram = _native.WorkloadProgram(self.name, self.text)

    @property
    def parameters(self) -> list[Parameter]:
        """What it can be told, in its order."""
        return [Parameter(*parameter) for parameter in self._native.parameters()]

    @property
    def files(self) -> list[str]:
        """The names of its files beside the application's own, which has none."""
        return self._native.files()

    def bound(self, tasks: int, given: Mapping[str, int | str] | None = None, *, seed: int = 1) -> BoundProgram:
        """Return it for `tasks` tasks, with values for parameters by their names or options.

        Raises
        ------
        InvalidError
            For a parameter that it does not have, and a value that is no number.
        """
        values = [(name, str(value)) for name, value in (given or {}).items()]
        return self._native.bind(tasks, values, seed)

    def tally(
        self,
        tasks: int,
        given: Mapping[str, int | str] | None = None,
        *,
        seed: int = 1,
        laps: Sequence[int] = (),
    ) -> Tally:
        """Count what all of `tasks` tasks do; takes about a second for ten million operations, and Ctrl-C stops it.

        Loops over a time repeat as often as `laps` says, in the order in which they begin; once where it says nothing.
        """
        return Tally(*self.bound(tasks, given, seed=seed).tally(0, tasks, laps))


def check(path: str | Path) -> list[Finding]:
    """Return what is wrong with the program in a file, or strange; empty when it is neither."""
    from thalweg import _native

    return [Finding(**found) for found in _native.check_program(str(path), _text(path))]


def given(words: list[str]) -> dict[str, str]:
    """Return the parameters that command-line words give: ``--reps 3``, ``--reps=3`` or ``-r 3``.

    Raises
    ------
    InvalidError
        For a word that is no option, an option without a value, and one that is given twice.
    """
    found: dict[str, str] = {}
    left = list(words)
    while left:
        option, equals, value = left.pop(0).partition("=")
        if not option.startswith("-"):
            raise InvalidError(f"parameters: {option!r} is no option; expected one such as --reps 3")
        if not equals:
            if not left:
                raise InvalidError(f"parameters: {option} has no value; expected one such as {option} 3")
            value = left.pop(0)
        if option in found:
            raise InvalidError(f"parameters: {option} is given twice")
        found[option] = value
    return found


def split(words: list[str]) -> tuple[list[str], list[str]]:
    """Return the options at the beginning of some words, each with its value, and the words behind (and ``--``)."""
    end = 0
    while end < len(words) and words[end].startswith("-") and words[end] != "--":
        end += 1 if "=" in words[end] else 2
    return words[:end], words[end + (words[end : end + 1] == ["--"]) :]


def _text(path: str | Path) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise InvalidError(f"{path}: {error.strerror}; expected a program of the workload language") from None
    except UnicodeDecodeError as error:
        raise InvalidError(f"{path}: byte {error.start} is not UTF-8; expected a text file") from None
