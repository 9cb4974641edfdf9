"""The parts of a command become worlds of their own, with the launcher's options."""

from __future__ import annotations

import pytest

from thalweg.errors import ConfigError
from thalweg.redirect.coupling import Coupling
from thalweg.redirect.worlds import names, program, split

words = str.split
ANY = Coupling.load({"files": [{"match": "*.nc"}]})


@pytest.mark.parametrize(
    ("command", "parts"),
    [
        ("model : reader -v", ["model", "reader -v"]),
        ("mpiexec -n 2 ./a", ["mpiexec -n 2 ./a"]),
        (
            "mpiexec --oversubscribe --mca btl self -n 2 ./a : -n 1 ./b x : ./c",
            [
                "mpiexec --oversubscribe --mca btl self -n 2 ./a",
                "mpiexec --oversubscribe --mca btl self -n 1 ./b x",
                "mpiexec --oversubscribe --mca btl self ./c",
            ],
        ),
        (
            "/opt/mpich/bin/mpiexec.hydra -genv OMP_NUM_THREADS 2 -host n1 -n 2 ./a : -host n2 -n 1 ./b",
            [
                "/opt/mpich/bin/mpiexec.hydra -genv OMP_NUM_THREADS 2 -host n1 -n 2 ./a",
                "/opt/mpich/bin/mpiexec.hydra -genv OMP_NUM_THREADS 2 -host n2 -n 1 ./b",
            ],
        ),
        ("mpirun --map-by=core -np 2 a : -np 2 b", ["mpirun --map-by=core -np 2 a", "mpirun --map-by=core -np 2 b"]),
    ],
)
def test_options_of_the_launcher_hold_for_every_part(command, parts):
    assert [" ".join(part) for part in split(words(command))] == parts


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("mpiexec -n 2 -x HOME ./a b", "./a b"),
        ("mpirun --mca io romio321 --bind-to none python run.py", "python run.py"),
        ("./a -n 2", "./a -n 2"),
    ],
)
def test_the_program_stands_behind_the_options(command, expected):
    assert " ".join(program(words(command))) == expected


def test_components_are_called_as_their_programs_or_scripts():
    parts = split(words("mpiexec -n 2 ./model : -n 1 python -u tools/analysis.py"))
    assert names(parts, ANY) == ["model", "analysis.py"]


def test_components_that_are_named_are_found_by_their_first_words():
    coupling = Coupling.load({"files": [{"match": "*"}], "components": {"one": "scale", "two": "letkf*"}})
    assert names(split(words("mpiexec -n 2 ./both scale : -n 2 ./both letkf.conf")), coupling) == ["one", "two"]
    with pytest.raises(ConfigError, match=r"'\./other' is no component; there are one = 'scale', two = 'letkf"):
        names(split(words("./other : ./both scale")), coupling)


def test_components_that_cannot_be_told_apart_are_refused():
    with pytest.raises(ConfigError, match="two parts of the command are 'model'"):
        names(split(words("./model a : ./model b")), ANY)


def test_an_empty_part_is_refused():
    with pytest.raises(ConfigError, match="a part of the command is empty"):
        split(["a", ":"])
