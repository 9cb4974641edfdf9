"""Everything that is linked or required has a licence that Apache-2.0 code may be shipped with."""

from __future__ import annotations

import importlib.metadata
import json
import re
import shutil
import subprocess

import pytest

from source_tree import ROOT

ALLOWED = {
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    "MIT-0",
    "MIT-CMU",
    "MPL-2.0",
    "PSF-2.0",
    "Python-2.0",
    "Unicode-3.0",
    "Unicode-DFS-2016",
    "Unlicense",
    "Zlib",
}
#: Names that distributions without an SPDX expression use.
KNOWN_NAMES = {
    "Apache Software License": "Apache-2.0",
    "Apache License 2.0": "Apache-2.0",
    "Apache License, Version 2.0": "Apache-2.0",
    "BSD License": "BSD-3-Clause",
    "BSD": "BSD-3-Clause",
    "BSD 3-Clause": "BSD-3-Clause",
    "BSD 3-Clause License": "BSD-3-Clause",
    "MIT License": "MIT",
    "The MIT License": "MIT",
    "ISC License (ISCL)": "ISC",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
    "PSF": "PSF-2.0",
    "HPND": "MIT-CMU",
    "Historical Permission Notice and Disclaimer (HPND)": "MIT-CMU",
}


def acceptable(expression: str) -> bool:
    """Is an SPDX expression satisfied by allowed licences alone: any side of OR, every side of AND?"""
    tokens = re.findall(r"\(|\)|\bAND\b|\bOR\b|[^()\s]+(?:\s+WITH\s+[^()\s]+)?", expression.replace("/", " OR "))
    place = 0

    def either() -> bool:
        nonlocal place
        value = both()
        while place < len(tokens) and tokens[place] == "OR":
            place += 1
            value = both() or value
        return value

    def both() -> bool:
        nonlocal place
        value = one()
        while place < len(tokens) and tokens[place] == "AND":
            place += 1
            value = one() and value
        return value

    def one() -> bool:
        nonlocal place
        token = tokens[place]
        place += 1
        if token == "(":
            value = either()
            place += 1
            return value
        return re.sub(r"\s+", " ", token) in ALLOWED

    return bool(tokens) and either() and place == len(tokens)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("MIT", True),
        ("MIT/Apache-2.0", True),
        ("GPL-3.0-only", False),
        ("GPL-3.0-only OR MIT", True),
        ("(MIT OR Apache-2.0) AND Unicode-3.0", True),
        ("MIT AND GPL-3.0-only", False),
        ("Apache-2.0 WITH LLVM-exception OR Apache-2.0 OR MIT", True),
        ("", False),
    ],
)
def test_expressions_are_understood(expression: str, expected: bool) -> None:
    assert acceptable(expression) is expected


@pytest.mark.skipif(shutil.which("cargo") is None, reason="needs cargo")
def test_crates_have_acceptable_licences() -> None:
    command = ["cargo", "metadata", "--format-version", "1", "--filter-platform", "x86_64-unknown-linux-gnu"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True)
    packages = json.loads(done.stdout)["packages"]
    assert any(package["name"] == "thalweg-foundation" for package in packages)
    wrong = {package["name"]: package["license"] for package in packages if not acceptable(package["license"] or "")}
    assert wrong == {}


def required() -> set[str]:
    """Distributions that an installation without extras brings, with what they require in turn."""
    from packaging.requirements import Requirement

    wanted = [Requirement(line) for line in _core_requirements()]
    found: set[str] = set()
    while wanted:
        requirement = wanted.pop()
        name = re.sub(r"[-_.]+", "-", requirement.name).lower()
        if name in found or (requirement.marker and not requirement.marker.evaluate({"extra": ""})):
            continue
        found.add(name)
        wanted += [Requirement(line) for line in importlib.metadata.distribution(name).requires or []]
    return found


def _core_requirements() -> list[str]:
    done = subprocess.run(["python3", "scripts/requirements"], capture_output=True, text=True, cwd=ROOT, check=True)
    return done.stdout.split("\n")[:-1]


def licences(name: str) -> list[str]:
    """What a distribution says of its licence, as SPDX where it can be told."""
    metadata = importlib.metadata.distribution(name).metadata
    if "License-Expression" in metadata:
        return [metadata["License-Expression"]]
    classifiers = [
        line.rpartition(" :: ")[2]
        for line in metadata.get_all("Classifier") or []
        if line.startswith("License :: ") and line != "License :: OSI Approved"
    ]
    text = (metadata["License"] or "").strip().split("\n")[0] if "License" in metadata else ""
    return [KNOWN_NAMES.get(word, word) for word in (classifiers or [text])]


def test_required_distributions_have_acceptable_licences() -> None:
    names = required()
    assert {"numpy", "pyarrow", "plotly", "rich"} <= names
    wrong = {name: licences(name) for name in names if not any(acceptable(licence) for licence in licences(name))}
    assert wrong == {}
