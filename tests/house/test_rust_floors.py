"""Who may depend on whom in the Rust workspace (ARCHITECTURE.md, rules 1 to 3)."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest

from source_tree import ROOT, rust_code

if sys.version_info >= (3, 11):
    import tomllib
else:
    tomllib = pytest.importorskip("tomli")

#: A floor may depend on those named; bindings see the façade alone.
BELOW: dict[str, set[str]] = {
    "foundation": set(),
    "transport": {"foundation"},
    "services": {"foundation", "transport"},
    "simulator": {"foundation"},
    "thalweg": {"foundation", "transport", "services", "simulator"},
    "bindings": {"thalweg"},
    "testkit": {"foundation", "transport", "services", "simulator", "thalweg"},
}
#: Libraries that come in above the façade only.
ABOVE_THE_FACADE = re.compile(r"^(pyo3|numpy|mpi|mpi-sys|rsmpi|hdf5|hdf5-.*|netcdf.*|pnetcdf.*|kokkos.*)$")
MANIFESTS = sorted(
    path
    for path in (*ROOT.glob("crates/**/Cargo.toml"), *ROOT.glob("bindings/**/Cargo.toml"))
    if "target" not in path.parts
)


def floor_of(path: Path) -> str:
    parts = path.relative_to(ROOT).parts
    return parts[1] if parts[0] == "crates" else parts[0]


def floor_of_crate(name: str) -> str | None:
    """``thalweg-services`` → services; None for a crate of others."""
    short = name.removeprefix("thalweg-").replace("_", "-")
    return short if name == "thalweg" or (name.startswith("thalweg-") and short in BELOW) else None


def dependencies(manifest: dict[str, Any]) -> list[str]:
    """Everything that the library itself is built from; test-only dependencies are not."""
    tables = [manifest, *manifest.get("target", {}).values()]
    return [name for table in tables for kind in ("dependencies", "build-dependencies") for name in table.get(kind, {})]


def sources(pattern: str) -> list[Path]:
    return sorted(path for path in ROOT.glob(pattern) if "target" not in path.parts)


def uses(path: Path, pattern: str) -> list[str]:
    return [f"{path.relative_to(ROOT)}: {found}" for found in re.findall(pattern, rust_code(path))]


def test_there_is_a_workspace_to_look_at() -> None:
    assert {floor_of(path) for path in MANIFESTS} >= {
        "foundation",
        "transport",
        "services",
        "thalweg",
        "testkit",
        "bindings",
    }


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: str(path.parent.relative_to(ROOT)))
def test_a_crate_depends_on_lower_floors_only(path: Path) -> None:
    floor = floor_of(path)
    found = dependencies(tomllib.loads(path.read_text()))
    wrong = [name for name in found if (other := floor_of_crate(name)) and other != floor and other not in BELOW[floor]]
    assert wrong == []
    if floor not in ("bindings", "testkit"):
        assert [name for name in found if ABOVE_THE_FACADE.match(name)] == []
    if floor != "testkit":
        assert "thalweg-testkit" not in found, "the testkit is for tests"


@pytest.mark.parametrize(
    "path", sources("crates/services/src/*/core/**/*.rs"), ids=lambda path: str(path.relative_to(ROOT))
)
def test_a_state_machine_knows_neither_transport_nor_its_driver_nor_the_machine(path: Path) -> None:
    floors = r"thalweg_transport\b[\w:]*|\bdriver::[\w:]*"
    machine = r"\bstd::(?:net|fs|thread|process|os|io)\b[\w:]*|\b(?:Instant|SystemTime)\b|\brand::"
    forbidden = f"{floors}|{machine}"
    assert uses(path, forbidden) == []


def test_foundation_does_no_io_reads_no_clock_and_starts_no_thread() -> None:
    # An error may carry std::io::Error as its source: naming a failure is not doing I/O.
    forbidden = r"\bstd::(?:net|fs|thread|process|os|io(?!::Error))\b[\w:]*|\bstd::time::(?:Instant|SystemTime)\b"
    switch = ROOT / "crates/foundation/src/sync/mod.rs"  # the std/loom switch hands out yielding
    found = [
        use for path in sources("crates/foundation/src/**/*.rs") if path != switch for use in uses(path, forbidden)
    ]
    assert found == []


@pytest.mark.parametrize(("one", "other"), [("staging", "stream"), ("stream", "staging")])
def test_services_that_are_peers_do_not_know_each_other(one: str, other: str) -> None:
    found = [
        use
        for path in sources(f"crates/services/src/{one}/**/*.rs")
        for use in uses(path, rf"(?:crate|super)::{other}\b[\w:]*")
    ]
    assert found == []


def test_only_scenarios_of_the_simulator_host_a_service() -> None:
    found = [
        use
        for path in sources("crates/simulator/src/**/*.rs")
        if "scenario" not in path.parts
        for use in uses(path, r"thalweg_services\b[\w:]*")
    ]
    assert found == []


def test_the_reader_of_uses_ignores_comments_and_tests(tmp_path: Path) -> None:
    file = tmp_path / "sample.rs"
    file.write_text(
        "use a::b; // use std::net\n/* std::fs */ fn f() {}\n#[cfg(test)]\nmod tests { use std::thread; }\n"
    )
    assert "std::" not in rust_code(file)
    assert "a::b" in rust_code(file)
