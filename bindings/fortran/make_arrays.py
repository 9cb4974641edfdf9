#!/usr/bin/env python3
"""Prints thalweg_arrays.f90: put and get for every type and rank, which Fortran 2008 wants one by one.

Assumed rank (TS 29113, Fortran 2018) would make one of the ranks; compilers of 2008 do not have it.
"""

from __future__ import annotations

TYPES = {
    "real32": "real(real32)",
    "real64": "real(real64)",
    "int32": "integer(int32)",
    "int64": "integer(int64)",
}
RANKS = range(1, 7)

HEAD = """\
!> Put and get of arrays, for every type and rank; made by make_arrays.py, do not edit.
!!
!! Indices have the same order in every language: a(i, j) here is a[i-1][j-1] in C. Only how they lie in memory differs,
!! and sections need not lie together. lower: the first cell in the domain, counted from 1; default: 1 along each axis.
module thalweg_arrays
  use, intrinsic :: iso_c_binding, only: c_associated, c_f_pointer, c_loc, c_null_ptr, c_ptr
  use, intrinsic :: iso_fortran_env, only: int32, int64, real32, real64
  use thalweg_c
  use thalweg_transfer
  implicit none
  private

  public :: thalweg_put, thalweg_put_local, thalweg_get, thalweg_lend
"""

PUT = """\

  subroutine {operation}_{kind}_{rank}(variable, version, array, lower, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    integer(int64), intent(in) :: version
    {type}, intent(in), target :: array({colons})
    integer, intent(in), optional :: lower(:)
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first
    integer(int64) :: strides_bytes({rank})

    call {kind}_{rank}_lies(array, first, strides_bytes)
    call put_strided(variable, version, first, thalweg_{kind}, shape(array, int64), strides_bytes, lower, {kept_here}, &
                     timeout_s, stat, errmsg)
  end subroutine {operation}_{kind}_{rank}
"""

GET = """\

  subroutine get_{kind}_{rank}(variable, which, array, lower, version, strategy, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    type(thalweg_which), intent(in) :: which
    {type}, intent(inout), target :: array({colons})
    integer, intent(in), optional :: lower(:)
    integer(int64), intent(out), optional :: version
    integer(int32), intent(in), optional :: strategy
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first
    integer(int64) :: strides_bytes({rank})

    call {kind}_{rank}_lies(array, first, strides_bytes)
    call get_strided(variable, which, first, thalweg_{kind}, shape(array, int64), strides_bytes, lower, version, &
                     strategy, timeout_s, stat, errmsg)
  end subroutine get_{kind}_{rank}
"""

LEND = """\

  subroutine lend_{kind}_{rank}(variable, version, extent, array, loan, lower, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    integer(int64), intent(in) :: version
    integer, intent(in) :: extent({rank})
    {type}, pointer, intent(out) :: array({colons})
    type(thalweg_loan), intent(out) :: loan
    integer, intent(in), optional :: lower(:)
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first

    nullify (array)
    call lend(variable, version, int(extent, int64), thalweg_{kind}, first, loan, lower, timeout_s, stat, errmsg)
    if (c_associated(first)) call c_f_pointer(first, array, extent)
  end subroutine lend_{kind}_{rank}
"""

LIES = """\

  subroutine {kind}_{rank}_lies(array, first, strides_bytes)
    {type}, intent(in), target :: array({colons})
    type(c_ptr), intent(out) :: first
    integer(int64), intent(out) :: strides_bytes({rank})

    first = c_null_ptr
    strides_bytes = 0
    if (size(array) == 0) return
    first = c_loc(array({ones}))
{neighbours}  end subroutine {kind}_{rank}_lies
"""


def interface(name: str, operation: str) -> str:
    halves = [(kind, ranks) for kind in TYPES for ranks in (RANKS[:3], RANKS[3:])]
    names = ", &\n      ".join(", ".join(f"{operation}_{kind}_{rank}" for rank in ranks) for kind, ranks in halves)
    return f"\n  interface {name}\n    module procedure &\n      {names}\n  end interface {name}\n"


def main() -> None:
    out = HEAD
    out += "\n  !> Copies an array into the service: call thalweg_put(variable, version, array)."
    out += interface("thalweg_put", "put")
    out += "\n  !> The same, but this process keeps the copy and readers fetch it here."
    out += interface("thalweg_put_local", "put_local")
    out += "\n  !> Copies a region into an array; blocks until it is complete."
    out += interface("thalweg_get", "get")
    out += "\n  !> Points an array at memory of the service, to be filled in place and committed; no copy is made."
    out += interface("thalweg_lend", "lend")
    out += "\ncontains\n"
    for kind, declared in TYPES.items():
        for rank in RANKS:
            ones = ", ".join("1" for _ in range(rank))
            neighbours = ""
            for axis in range(rank):
                beside = ", ".join("2" if i == axis else "1" for i in range(rank))
                neighbours += (
                    f"    if (size(array, {axis + 1}) > 1) &\n"
                    f"      strides_bytes({axis + 1}) = address_of(c_loc(array({beside}))) - address_of(first)\n"
                )
            words = {"kind": kind, "rank": rank, "type": declared, "colons": ", ".join(":" * rank)}
            out += PUT.format(operation="put", kept_here=".false.", **words)
            out += PUT.format(operation="put_local", kept_here=".true.", **words)
            out += GET.format(**words)
            out += LEND.format(**words)
            out += LIES.format(ones=ones, neighbours=neighbours, **words)
    print(out + "end module thalweg_arrays")


if __name__ == "__main__":
    main()
