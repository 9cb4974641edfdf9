"""Pages as the text that a test looks into."""

from __future__ import annotations

import re


def without_library(page: str) -> str:
    """The page less the plotting library that it carries."""
    return re.sub(r"<script>/\*\*.*?</script>", "", page, count=1, flags=re.DOTALL)
