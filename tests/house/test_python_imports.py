"""Who may import whom in the Python package (ARCHITECTURE.md, rules)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from source_tree import PACKAGE, ROOT, imports, module_of

FILES = sorted(PACKAGE.rglob("*.py"))

#: The faces of the services, relayout, and the modules that ask the native library what the machine can do.
FACES = (
    "thalweg.staging",
    "thalweg.stream",
    "thalweg.redirect",
    "thalweg.simulator",
    "thalweg.torch",
    "thalweg.layouts",
    "thalweg.bench.limits",
    "thalweg.bench.relayout",
)

#: What pages may know: result files, errors.
REPORT_MAY_IMPORT = (
    "thalweg.report",
    "thalweg.results",
    "thalweg.errors",
    "thalweg.sizes",
    "thalweg.simulator.outcome",
    "thalweg.simulator.recorded",
)

#: Libraries that Thalweg works without.
OPTIONAL = (
    "torch",
    "redis",
    "hiredis",
    "mpi4py",
    "cupy",
    "dpnp",
    "h5py",
    "zmq",
    "lmdb",
    "iceoryx2",
    "dragon",
    "parsl",
    "dask",
    "ray",
    "xarray",
    "confluent_kafka",
    "jsonschema",
    "msgspec",
)

#: Where an optional library may be imported with its module: these are themselves imported only when it is used.
HOMES = {
    "torch": ("thalweg.ai", "thalweg.torch", "thalweg.patterns"),
    "redis": ("thalweg.datastore.redis", "thalweg.servers.redis"),
    "xarray": ("thalweg.staging.xarray_backend",),
}


def within(module: str, homes: tuple[str, ...]) -> bool:
    return any(module == home or module.startswith(home + ".") for home in homes)


#: All modules but the homes of optional libraries and the programs.
INDEPENDENT = [
    path
    for path in FILES
    if not any(within(module_of(path), homes) for homes in HOMES.values()) and path.stem != "__main__"
]


def test_only_the_faces_import_the_native_library() -> None:
    wrong = [
        f"{module_of(path)}:{found.line}"
        for path in FILES
        for found in imports(path)
        if within(found.module, ("thalweg._native", "_native")) and not within(module_of(path), FACES)
    ]
    assert wrong == []


def test_nothing_imports_the_command_line() -> None:
    wrong = [
        f"{module_of(path)}:{found.line}"
        for path in FILES
        for found in imports(path)
        if within(found.module, ("thalweg.cli",)) and not within(module_of(path), ("thalweg.cli",))
    ]
    assert wrong == []


def test_the_report_reads_result_files_only() -> None:
    wrong = [
        f"{module_of(path)}:{found.line} {found.module}"
        for path in FILES
        if within(module_of(path), ("thalweg.report",))
        for found in imports(path)
        if within(found.module, ("thalweg",)) and not within(found.module, REPORT_MAY_IMPORT)
    ]
    assert wrong == []


def test_optional_libraries_are_imported_where_they_are_used() -> None:
    wrong = [
        f"{module_of(path)}:{found.line} {found.module}"
        for path in FILES
        for found in imports(path)
        for library in OPTIONAL
        if within(found.module, (library,)) and found.at_import and not within(module_of(path), HOMES.get(library, ()))
    ]
    assert wrong == []


def test_importing_the_package_imports_no_library() -> None:
    code = "import sys, thalweg; print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split()) - sys.stdlib_module_names
    third_party = {
        "numpy",
        "pyarrow",
        "pydantic",
        "rich",
        "typer",
        "matplotlib",
        "plotly",
        "jinja2",
        "psutil",
        *OPTIONAL,
    }
    assert loaded & third_party == set()


@pytest.mark.parametrize("path", INDEPENDENT, ids=module_of)
def test_every_module_imports_without_optional_libraries(path: Path) -> None:
    module = module_of(path)
    code = f"""
import importlib, sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {set(OPTIONAL)!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Absent())
importlib.import_module({module!r})
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr


def test_the_reader_of_imports_sees_what_it_must(tmp_path: Path) -> None:
    file = tmp_path / "sample.py"
    file.write_text(
        "import torch\nif TYPE_CHECKING:\n    import redis\ndef f():\n    from thalweg.cli import run\n"
        "try:\n    import zmq\nexcept ImportError:\n    import lmdb\n"
    )
    assert [(found.module, found.at_import) for found in imports(file)] == [
        ("torch", True),
        ("redis", False),
        ("thalweg.cli.run", False),
        ("zmq", True),
        ("lmdb", True),
    ]
