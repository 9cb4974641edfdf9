"""The JSON file of facts in a folder: read as one format, written whole or not at all."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from thalweg.errors import CorruptDataError, NotFoundError


def read_facts(file: Path, format_name: str, reader: str, wanted: str) -> dict[str, Any]:
    """Return what the file holds.

    Parameters
    ----------
    file : Path
        The file.
    format_name : str
        What its key ``format`` must say.
    reader, wanted : str
        Who reads, and what should be given, for the errors.

    Raises
    ------
    NotFoundError
        When it is not there.
    CorruptDataError
        When it is not JSON, or of another format.
    """
    try:
        facts = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise NotFoundError(f"{reader}: {file} is not there; give {wanted}") from None
    except ValueError as error:
        raise CorruptDataError(f"{reader}: {file} is not JSON: {error}") from error
    if not isinstance(facts, dict) or facts.get("format") != format_name:
        found = facts.get("format") if isinstance(facts, dict) else type(facts).__name__
        raise CorruptDataError(f"{reader}: {file} has format {found!r}; this version reads {format_name!r}")
    return facts


def write_facts(file: Path, content: dict[str, Any]) -> None:
    """Write the file atomically; a reader sees the old or the new one.

    Raises
    ------
    TypeError
        When the content holds something that JSON does not know.
    """
    temporary = file.with_name(f"{file.name}.tmp")
    temporary.write_text(json.dumps(content, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    os.replace(temporary, file)
