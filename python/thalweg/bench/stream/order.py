"""One run of one system: what both of its sides are told, as the words of a command line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, cast, get_args

from thalweg.errors import InvalidError

Durability = Literal["none", "always"]
Language = Literal["native", "python"]
#: produce, consume: as many as possible; push, pull: one at a time, at a rate.
Role = Literal["produce", "consume", "push", "pull"]

DURABILITIES: tuple[Durability, ...] = get_args(Durability)
LANGUAGES: tuple[Language, ...] = get_args(Language)

#: An event begins with a stamp of this many bytes.
STAMP_BYTES = 8
#: Events that are handed over together: no more than these, and of no more bytes.
_BATCH, _BATCH_BYTES = 1000, 16_000_000


@dataclass(frozen=True)
class Case:
    """What is compared: events of one size, kept in one way."""

    event_bytes: int
    data_bytes: int
    partitions: int
    durability: Durability

    @property
    def size_bytes(self) -> int:
        """Bytes of an event with its data."""
        return self.event_bytes + self.data_bytes


@dataclass(frozen=True)
class Order:
    """What one side does: a case, where, how many events, and for push and pull how many a second."""

    role: Role
    address: str
    topic: str
    events: int
    case: Case
    rate: int = 0

    @property
    def batch(self) -> int:
        """Events of a batch; every batch is of the same events, stamped 0, 1, 2, …, and all of one partition."""
        return max(1, min(_BATCH, _BATCH_BYTES // self.case.size_bytes))

    @property
    def prompt(self) -> bool:
        """Whether each event shall arrive as soon as it can."""
        return self.role in ("push", "pull")

    def words(self) -> list[str]:
        """The words that `parse` reads."""
        case = self.case
        numbers = (self.events, case.event_bytes, case.data_bytes, case.partitions, self.batch)
        return [self.role, self.address, self.topic, *map(str, numbers), case.durability, str(self.rate)]

    @classmethod
    def parse(cls, words: Sequence[str]) -> Order:
        """Read what `words` wrote.

        Raises
        ------
        InvalidError
            When they are not ten words that begin with a role.
        """
        if len(words) != 10 or words[0] not in get_args(Role):
            raise InvalidError(
                f"bench stream: a side was told {list(words)}; expected one of {get_args(Role)} and 9 words"
            )
        events, event_bytes, data_bytes, partitions, _ = map(int, words[3:8])
        case = Case(event_bytes, data_bytes, partitions, cast(Durability, words[8]))
        return cls(cast(Role, words[0]), words[1], words[2], events, case, int(words[9]))
