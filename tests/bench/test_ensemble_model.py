"""The model of ``thalweg bench ensemble``: variables, bytes a cycle and file sizes, against the paper and by hand."""

from __future__ import annotations

import pytest

from thalweg.bench.ensemble.domain import PRESETS, shared_by
from thalweg.bench.ensemble.files import analysis, history
from thalweg.bench.ensemble.netcdf import File, Role
from thalweg.bench.ensemble.tables import account, table
from thalweg.bench.ensemble.traffic import traffic
from thalweg.errors import InvalidError

OFP, OLYMPICS = PRESETS["ofp"], PRESETS["olympics"]
MIB = 1 << 20


def names(file: File, role: Role) -> set[str]:
    return {variable.name for variable in file.variables if variable.role is role}


def test_files_have_the_variables_of_the_paper() -> None:
    past, future = history(shared_by(OFP, 128)), analysis(shared_by(OFP, 128))
    assert (len(past.variables), len(future.variables)) == (89, 143)
    assert (len(names(past, Role.ASKED)), len(names(future, Role.ASKED))) == (20, 11)
    assert len(names(past, Role.AXIS)) == 51 + 2 and len(names(future, Role.AXIS)) == 51
    assert names(past, Role.ASKED) == {
        *("U", "V", "W", "T", "PRES", "QV", "QC", "QR", "QI", "QS", "QG", "RH", "height"),
        *("topo", "SFC_PRES", "PREC", "U10", "V10", "T2", "Q2"),
    }
    assert names(future, Role.ASKED) == {
        *("DENS", "MOMX", "MOMY", "MOMZ", "RHOT", "QV", "QC", "QR", "QI", "QS", "QG"),
    }
    for file in (past, future):
        assert len({variable.name for variable in file.variables}) == len(file.variables)


def test_table_1_by_hand() -> None:
    """8 × 8 × 60 cells of 4 bytes in each of 128 processes, every term cut to whole MiB."""
    cells_bytes = 8 * 8 * 128 * 4
    history_read = (12 * 60 + 7) * cells_bytes // MIB
    analysis_read = 11 * 60 * cells_bytes // MIB
    assert (history_read, analysis_read) == (22, 20)
    # 16 variables of 60 levels and 4 of 61; 16 in two dimensions; staggered ones have a cell more, which changes no MiB
    written_history = (16 * 60 + 4 * 61 + 16) * cells_bytes // MIB
    # 128 × 64 cells and 2 on each side; 13 of 60 levels and 2 of 61, 71 in two dimensions, 2 × 7, 3 × 5, 1 × 1
    written_analysis = (13 * 60 + 2 * 61 + 71 + 2 * 7 + 3 * 5 + 1) * (128 + 4) * (64 + 4) * 4 // MIB
    assert (written_history, written_analysis) == (38, 34)
    counted = account(OFP)
    assert (counted.history, counted.analysis) == (38, 34)
    assert (counted.history_read, counted.analysis_read) == (22, 20)
    assert counted.moved == 22 + 20 + 20 == 62
    assert counted.files == 38 + 34 + 22 + 3 * 20 == 154


def test_table_2_by_hand() -> None:
    """32 × 64 × 45 cells of 4 bytes in each of 128 processes, 16 × 8 of them."""
    cells_bytes = 32 * 64 * 128 * 4
    counted = account(OLYMPICS)
    assert counted.history_read == (12 * 45 + 7) * cells_bytes // MIB == 547
    assert counted.analysis_read == 11 * 45 * cells_bytes // MIB == 495
    assert counted.history == (16 * 45 + 4 * 46 + 16) * cells_bytes // MIB == 920
    levels = 13 * 45 + 2 * 46 + 71 + 2 * 7 + 3 * 5 + 1
    assert counted.analysis == levels * (32 * 16 + 4) * (64 * 8 + 4) * 4 // MIB == 790
    assert counted.moved == 547 + 495 + 495 == 1537
    assert counted.files == 920 + 790 + 547 + 3 * 495 == 3742


@pytest.mark.parametrize("preset", PRESETS.values(), ids=PRESETS)
def test_every_row_of_the_papers_table_agrees(preset: object) -> None:
    rows = table(PRESETS[preset.name])  # type: ignore[attr-defined]
    assert [row.processes for row in rows] == [256 << step for step in range(10)]
    assert [row.processes for row in rows if not row.agrees] == []


def test_a_row_that_differs_in_the_last_decimal_does_not_agree() -> None:
    import dataclasses

    row = table(OFP)[-1]
    assert not dataclasses.replace(row, printed_file_gib=77.01).agrees


def test_nothing_is_cut_where_bytes_are_counted() -> None:
    """With all 20 variables: (13 × 60 + 7) of history, 11 × 60 of analysis twice or three times."""
    bytes_of = traffic(shared_by(OFP, 128))
    cells_bytes = 8 * 8 * 128 * 4
    assert bytes_of.history_read == (13 * 60 + 7) * cells_bytes
    assert bytes_of.analysis_read == 11 * 60 * cells_bytes
    assert bytes_of.moved_bytes == (13 * 60 + 7 + 2 * 11 * 60) * cells_bytes
    assert round(bytes_of.moved_bytes / MIB, 2) == 65.84
    assert round(bytes_of.file_bytes / MIB, 2) == 159.14
    larger = traffic(shared_by(OLYMPICS, 128))
    assert (round(larger.moved_bytes / MIB), round(larger.file_bytes / MIB)) == (1582, 3788)


def test_file_sizes_are_those_measured() -> None:
    domain = shared_by(OFP, 128)
    assert (domain.x, domain.y) == (128, 64)
    assert history(domain).size_bytes == 40_205_336
    assert analysis(domain).size_bytes == 36_088_896


def test_processes_share_a_grid_as_square_as_can_be() -> None:
    grids = {count: shared_by(OFP, count) for count in (1, 2, 6, 7, 16, 128)}
    expected = {1: (1, 1), 2: (2, 1), 6: (3, 2), 7: (7, 1), 16: (4, 4), 128: (16, 8)}
    assert {count: (grid.px, grid.py) for count, grid in grids.items()} == expected
    with pytest.raises(InvalidError, match="0 processes; expected at least 1"):
        shared_by(OFP, 0)
