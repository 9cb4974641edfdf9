"""What the documents tell to type exists, and what they point to is there."""

from __future__ import annotations

import ast
import re
import shlex
from functools import cache
from pathlib import Path

import pytest

from command_line import thalweg
from source_tree import ROOT

DOCUMENTS = sorted(path for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("benchmarks/**/*.md")))
#: Commands that have commands.
NESTED = ("run", "bench", "topic", "partition", "sim")
TARGETS = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))


def blocks(path: Path, languages: str) -> list[str]:
    """Fenced blocks in one of some languages."""
    return re.findall(rf"^```(?:{languages})\n(.*?)^```", path.read_text(), flags=re.MULTILINE | re.DOTALL)


def commands(path: Path) -> list[list[str]]:
    """Shell lines of a document, and its inline ``thalweg …`` and ``make …``, as words without prompts."""
    lines = [line for block in blocks(path, "console|sh|bash") for line in block.splitlines()]
    lines += re.findall(r"`((?:thalweg|make) [^`]+)`", path.read_text())
    found = []
    for line in lines:
        words = shlex.split(line.removeprefix("$ "), comments=True)
        while words and re.fullmatch(r"[A-Z_]+=.*", words[0]):
            words.pop(0)
        if words:
            words[0] = words[0].removeprefix(".venv/bin/")
            found.append(words)
    return found


@cache
def help_of(*command: str) -> str:
    done = thalweg(*command, "--help")
    assert done.returncode == 0, f"thalweg {' '.join(command)}: {done.stderr}"
    return done.stdout


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_commands_exist_with_their_options(path: Path) -> None:
    for words in commands(path):
        if words[0] == "make" and len(words) > 1:
            assert words[1] in TARGETS, f"{path.name}: make {words[1]}"
        if words[0] == "thalweg" and len(words) > 1 and words[1].isalpha() and words[1].islower():
            nested = words[1] in NESTED and len(words) > 2 and re.fullmatch(r"[a-z-]+(\.toml)?", words[2])
            shown = help_of(*words[1 : 3 if nested else 2])
            for option in (word for word in words if word.startswith("--") and word != "--help"):
                assert option.partition("=")[0] in shown, f"{path.name}: {' '.join(words)}"


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(path: Path) -> None:
    targets = re.findall(r"\]\(([^)#\s]+)[^)]*\)", path.read_text())
    missing = [target for target in targets if "://" not in target and not (path.parent / target).exists()]
    assert missing == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_python_examples_are_python(path: Path) -> None:
    for block in blocks(path, "python"):
        ast.parse(block)


def test_documents_of_the_house_are_there() -> None:
    names = {str(path.relative_to(ROOT)) for path in DOCUMENTS}
    assert {"README.md", "ARCHITECTURE.md", "GLOSSARY.md", "CONTRIBUTING.md", "CHANGELOG.md"} <= names
    assert len(blocks(ROOT / "README.md", "console|sh|bash")) >= 1


def test_decisions_have_context_choice_and_cost() -> None:
    decisions = sorted(ROOT.glob("docs/decisions/[0-9]*.md"))
    assert decisions
    for path in decisions:
        assert re.fullmatch(r"\d{4}-[a-z0-9-]+\.md", path.name)
        text = path.read_text()
        for part in ("Context", "Choice", "Cost"):
            assert re.search(rf"^(## {part}$|\*\*{part}\b)", text, flags=re.MULTILINE), f"{path.name}: {part}"
