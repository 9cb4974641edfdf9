"""The project's own files, read as text by the tests of the house."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "python" / "thalweg"


class Import(NamedTuple):
    """One import statement's target, absolute."""

    module: str
    line: int
    #: Runs when the module is imported: not in a function, not under TYPE_CHECKING.
    at_import: bool


def module_of(path: Path, package: Path = PACKAGE) -> str:
    """``python/thalweg/a/b.py`` → ``thalweg.a.b``."""
    parts = path.relative_to(package.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(path: Path) -> list[Import]:
    """All imports of a Python file; ``from a import b`` counts as ``a.b``."""
    return list(_imports(ast.parse(path.read_text()).body, at_import=True))


def _imports(body: list[ast.stmt], at_import: bool) -> Iterator[Import]:
    for node in body:
        if isinstance(node, ast.Import):
            yield from (Import(name.name, node.lineno, at_import) for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            yield from (Import(f"{node.module}.{name.name}", node.lineno, at_import) for name in node.names)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield from _imports(node.body, at_import=False)
        elif isinstance(node, ast.If):
            typing_only = "TYPE_CHECKING" in ast.unparse(node.test)
            yield from _imports(node.body, at_import and not typing_only)
            yield from _imports(node.orelse, at_import)
        else:
            for field in ("body", "orelse", "finalbody", "handlers"):
                for part in getattr(node, field, []):
                    yield from _imports(part.body if isinstance(part, ast.ExceptHandler) else [part], at_import)


def rust_code(path: Path) -> str:
    """A Rust file without comments and without what follows its test module."""
    text = re.sub(r"//[^\n]*", "", path.read_text())
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    return re.split(r"#\[cfg\((?:all\()?test", text, maxsplit=1)[0]
