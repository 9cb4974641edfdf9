"""What is coupled: the components, and the files that they exchange."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from thalweg import configuration

#: As many as `libthalweg-redirect.so` keeps.
RULES_MAX = 256


def _plain(text: str) -> str:
    if any(c in text for c in "\t\n\0"):
        raise ValueError("holds a tab or the end of a line; remove it")
    return text


def _name(text: str) -> str:
    if "," in text:
        raise ValueError("holds a comma; remove it")
    return _plain(text)


Text = Annotated[str, Field(min_length=1), AfterValidator(_plain)]
Name = Annotated[str, Field(min_length=1, max_length=250), AfterValidator(_name)]


class FileRule(BaseModel):
    """How the files are redirected whose path matches; of several rules the first counts.

    Attributes
    ----------
    match : str
        A pattern with ``*``, ``?`` and ``[...]``, in which ``*`` matches slashes too. Without a slash it is one of
        names, with a leading slash of absolute paths, else of the ends of paths.
    mode : {"memory", "both", "file"}
        In memory, in memory and behind it in the file, or left alone.
    turns : list of str
        The components that use the file one after the other, and then again from the first. A turn is one use, by
        PnetCDF, netCDF or HDF5 from opening to closing. Empty: whoever opens the file to read waits until it is
        complete.
    replay : bool
        Whether a file that PnetCDF makes takes over the memory of an earlier one whose turns are over and whose name
        differs in digits only. What nobody writes into it is then what was there before, where there is no fill value.
    unwritten : {"error", "allow"}
        What becomes of a component that reads by PnetCDF what no component has written and what has no fill value: all
        components fail, or it gets whatever lies there.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    match: Text
    mode: Literal["memory", "both", "file"] = "memory"
    turns: Annotated[tuple[Name, ...], Field(max_length=64)] = ()
    replay: bool = True
    unwritten: Literal["error", "allow"] = "error"


class Coupling(BaseModel):
    """What is coupled.

    Attributes
    ----------
    deadline_s : float
        How long a component waits for another one, in seconds.
    components : dict of str to str
        A pattern for each component, of the name of its program, of its script, or of one of its first arguments.
        Programs that match none are left alone. Empty: each program is a component that is called as its program or
        script. One alone waits for no file: what is not there, nobody makes.
    memory_limit_bytes : int, optional
        The most memory that redirected files take, with those that are still written behind memory. Beyond it none is
        made: opening it fails as on a full disk. Default: three quarters of what is available. A server that stays has
        its own.
    files : list of FileRule
        The files that are redirected; all others are left alone.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    deadline_s: Annotated[float, Field(gt=0, le=1e6)] = 60.0
    components: dict[Name, Text] = {}
    memory_limit_bytes: Annotated[int, Field(gt=0, lt=1 << 63)] | None = None
    files: tuple[FileRule, ...]

    @model_validator(mode="after")
    def _rules_can_be_followed(self) -> Coupling:
        if not 0 < len(self.files) <= RULES_MAX:
            raise ValueError(f"holds {len(self.files)} files; give 1 to {RULES_MAX}")
        for rule in self.files:
            for turn in rule.turns:
                if self.components and turn not in self.components:
                    known = ", ".join(self.components)
                    raise ValueError(f"{turn!r} in the turns of {rule.match!r} is no component; there are {known}")
        return self

    @classmethod
    def load(cls, source: dict[str, Any] | str | Path) -> Coupling:
        """Return what `source` describes: a dict, or the path of a TOML or JSON file.

        Raises
        ------
        ConfigError
            With one line for each wrong key: its path, the value met, what is accepted.
        """
        return configuration.checked(cls, configuration.load(source, "redirect"), "redirect")

    def environment(self) -> dict[str, str]:
        """What ``libthalweg-redirect.so`` reads."""
        rules = [
            f"{rule.mode}\t{self.deadline_s}\t{','.join(rule.turns)}\t{int(rule.replay)}\t{rule.unwritten}\t{rule.match}"
            for rule in self.files
        ]
        components = [f"{name}\t{pattern}" for name, pattern in self.components.items()]
        return {
            "THALWEG_REDIRECT_RULES": "\n".join(rules),
            "THALWEG_REDIRECT_COMPONENTS": "\n".join(components),
        }
