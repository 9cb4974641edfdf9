"""HTML that opens anywhere: styles, scripts, charts and pictures inside, nothing from the network."""

from __future__ import annotations

import base64
import math
import mimetypes
import os
from pathlib import Path
from typing import Any

_TEMPLATES = Path(__file__).parent / "templates"


def write_page(template: str, target: Path, values: dict[str, Any]) -> Path:
    """Fill a template and put the page in place at once, so that no reader sees half of it."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup
    from plotly.offline import get_plotlyjs

    environment = Environment(loader=FileSystemLoader(_TEMPLATES), autoescape=True, undefined=StrictUndefined)
    environment.filters["cell"] = cell
    environment.filters["sort_value"] = sort_value
    shared = {
        "style": Markup((_TEMPLATES / "page.css").read_text()),
        "script": Markup((_TEMPLATES / "sort.js").read_text()),
        "plotly": Markup(get_plotlyjs()),
    }
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(target.name + ".partial")
    partial.write_text(environment.get_template(template).render(**shared, **values), encoding="utf-8")
    os.replace(partial, target)
    return target


def picture(path: Path) -> str:
    """A picture file as a data URI."""
    kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    return f"data:{kind};base64,{base64.b64encode(path.read_bytes()).decode('ascii')}"


def cell(value: Any) -> str:
    """A table cell as people read it: thin spaces between thousands, four significant digits."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}".replace(",", "\u202f")
    if isinstance(value, float):
        if not math.isfinite(value):
            return "–"
        return f"{value:,.0f}".replace(",", "\u202f") if abs(value) >= 9999.5 else f"{value:.4g}"
    return str(value)


def sort_value(value: Any) -> str:
    """What a column is sorted by: the number itself, or nothing for text."""
    return repr(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else ""
