"""Options made from a model: names, help, sizes, lists."""

from __future__ import annotations

from typing import Literal

import pytest
import typer
from pydantic import BaseModel, Field
from typer.testing import CliRunner

from thalweg.cli.model_options import flag, given, parameters
from thalweg.errors import InvalidError


class Options(BaseModel):
    scale: float = Field(1.0, gt=0, description="Shrinks time and iterations.")
    backend: Literal["thalweg", "redis"] = Field("thalweg", description="Where data is staged.")
    size_bytes: int = Field(1_200_000, description="Bytes of an array.")
    sizes: list[int] = Field(default_factory=list, description="Sizes of a sweep.")
    hidden_widths: tuple[int, ...] = Field((64, 64), description="Widths.")
    seed: int | None = Field(None, description="Seed.")
    resume: bool = Field(False, description="Go on.")


def test_a_size_needs_no_unit_in_its_option() -> None:
    assert [flag(name) for name in Options.model_fields] == [
        "--scale",
        "--backend",
        "--size",
        "--sizes",
        "--hidden-widths",
        "--seed",
        "--resume",
    ]


def test_help_shows_choices_defaults_and_descriptions() -> None:
    app = typer.Typer(rich_markup_mode="rich")

    def body(**values: object) -> None: ...

    import inspect

    body.__signature__ = inspect.Signature(parameters(Options))  # type: ignore[attr-defined]
    body.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters(Options)}
    app.command()(body)
    shown = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "160", "TERM": "dumb"}).output
    for words in ("thalweg|redis", "Shrinks time", "default: 1.2MB", "default: 64,64", "--resume", "--no-resume"):
        assert words in shown


def test_only_what_was_given_reaches_the_model() -> None:
    assert given(Options, dict.fromkeys(Options.model_fields)) == {}


def test_sizes_and_lists_are_taken_apart() -> None:
    values = given(
        Options,
        {"size_bytes": "0.4MB", "sizes": "4KiB,8MB", "hidden_widths": "32, 16", "seed": "7", "resume": True},
    )
    assert values == {
        "size_bytes": 400_000,
        "sizes": [4096, 8_000_000],
        "hidden_widths": ["32", "16"],
        "seed": "7",
        "resume": True,
    }
    assert Options(**values).hidden_widths == (32, 16)
    assert given(Options, {"sizes": ""}) == {"sizes": []}


def test_a_wrong_size_is_refused() -> None:
    with pytest.raises(InvalidError, match="'big' is not a size"):
        given(Options, {"size_bytes": "big"})
