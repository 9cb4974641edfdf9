"""The MPIs under which a test runs."""

from __future__ import annotations

import pytest

from mpi_jobs import IMPLEMENTATIONS, MPI, mpi_of


@pytest.fixture(params=IMPLEMENTATIONS)
def mpi(request: pytest.FixtureRequest) -> MPI:
    """Each MPI in turn; `mpi.run(4, code)` runs a program as 4 ranks."""
    try:
        return mpi_of(request.param)
    except LookupError as absent:
        pytest.skip(str(absent))
