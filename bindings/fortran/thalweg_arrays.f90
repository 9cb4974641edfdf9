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

  !> Copies an array into the service: call thalweg_put(variable, version, array).
  interface thalweg_put
    module procedure &
      put_real32_1, put_real32_2, put_real32_3, &
      put_real32_4, put_real32_5, put_real32_6, &
      put_real64_1, put_real64_2, put_real64_3, &
      put_real64_4, put_real64_5, put_real64_6, &
      put_int32_1, put_int32_2, put_int32_3, &
      put_int32_4, put_int32_5, put_int32_6, &
      put_int64_1, put_int64_2, put_int64_3, &
      put_int64_4, put_int64_5, put_int64_6
  end interface thalweg_put

  !> The same, but this process keeps the copy and readers fetch it here.
  interface thalweg_put_local
    module procedure &
      put_local_real32_1, put_local_real32_2, put_local_real32_3, &
      put_local_real32_4, put_local_real32_5, put_local_real32_6, &
      put_local_real64_1, put_local_real64_2, put_local_real64_3, &
      put_local_real64_4, put_local_real64_5, put_local_real64_6, &
      put_local_int32_1, put_local_int32_2, put_local_int32_3, &
      put_local_int32_4, put_local_int32_5, put_local_int32_6, &
      put_local_int64_1, put_local_int64_2, put_local_int64_3, &
      put_local_int64_4, put_local_int64_5, put_local_int64_6
  end interface thalweg_put_local

  !> Copies a region into an array; blocks until it is complete.
  interface thalweg_get
    module procedure &
      get_real32_1, get_real32_2, get_real32_3, &
      get_real32_4, get_real32_5, get_real32_6, &
      get_real64_1, get_real64_2, get_real64_3, &
      get_real64_4, get_real64_5, get_real64_6, &
      get_int32_1, get_int32_2, get_int32_3, &
      get_int32_4, get_int32_5, get_int32_6, &
      get_int64_1, get_int64_2, get_int64_3, &
      get_int64_4, get_int64_5, get_int64_6
  end interface thalweg_get

  !> Points an array at memory of the service, to be filled in place and committed; no copy is made.
  interface thalweg_lend
    module procedure &
      lend_real32_1, lend_real32_2, lend_real32_3, &
      lend_real32_4, lend_real32_5, lend_real32_6, &
      lend_real64_1, lend_real64_2, lend_real64_3, &
      lend_real64_4, lend_real64_5, lend_real64_6, &
      lend_int32_1, lend_int32_2, lend_int32_3, &
      lend_int32_4, lend_int32_5, lend_int32_6, &
      lend_int64_1, lend_int64_2, lend_int64_3, &
      lend_int64_4, lend_int64_5, lend_int64_6
  end interface thalweg_lend

contains

  subroutine put_real32_1(variable, version, array, lower, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    integer(int64), intent(in) :: version
    real(real32), intent(in), target :: array(:)
    integer, intent(in), optional :: lower(:)
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first
    integer(int64) :: strides_bytes(1)

    call real32_1_lies(array, first, strides_bytes)
    call put_strided(variable, version, first, thalweg_real32, shape(array, int64), strides_bytes, lower, .false., &
                     timeout_s, stat, errmsg)
  end subroutine put_real32_1

  subroutine put_local_real32_1(variable, version, array, lower, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    integer(int64), intent(in) :: version
    real(real32), intent(in), target :: array(:)
    integer, intent(in), optional :: lower(:)
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first
    integer(int64) :: strides_bytes(1)

    call real32_1_lies(array, first, strides_bytes)
    call put_strided(variable, version, first, thalweg_real32, shape(array, int64), strides_bytes, lower, .true., &
                     timeout_s, stat, errmsg)
  end subroutine put_local_real32_1

  subroutine get_real32_1(variable, which, array, lower, version, strategy, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    type(thalweg_which), intent(in) :: which
    real(real32), intent(inout), target :: array(:)
    integer, intent(in), optional :: lower(:)
    integer(int64), intent(out), optional :: version
    integer(int32), intent(in), optional :: strategy
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first
    integer(int64) :: strides_bytes(1)

    call real32_1_lies(array, first, strides_bytes)
    call get_strided(variable, which, first, thalweg_real32, shape(array, int64), strides_bytes, lower, version, &
                     strategy, timeout_s, stat, errmsg)
  end subroutine get_real32_1

  subroutine lend_real32_1(variable, version, extent, array, loan, lower, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    integer(int64), intent(in) :: version
    integer, intent(in) :: extent(1)
    real(real32), pointer, intent(out) :: array(:)
    type(thalweg_loan), intent(out) :: loan
    integer, intent(in), optional :: lower(:)
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first

    nullify (array)
    call lend(variable, version, int(extent, int64), thalweg_real32, first, loan, lower, timeout_s, stat, errmsg)
    if (c_associated(first)) call c_f_pointer(first, array, extent)
  end subroutine lend_real32_1

  subroutine real32_1_lies(array, first, strides_bytes)
    real(real32), intent(in), target :: array(:)
    type(c_ptr), intent(out) :: first
    integer(int64), intent(out) :: strides_bytes(1)

    first = c_null_ptr
    strides_bytes = 0
    if (size(array) == 0) return
    first = c_loc(array(1))
    if (size(array, 1) > 1) &
      strides_bytes(1) = address_of(c_loc(array(2))) - address_of(first)
  end subroutine real32_1_lies

  subroutine put_real32_2(variable, version, array, lower, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    integer(int64), intent(in) :: version
    real(real32), intent(in), target :: array(:, :)
    integer, intent(in), optional :: lower(:)
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first
    integer(int64) :: strides_bytes(2)

    call real32_2_lies(array, first, strides_bytes)
    call put_strided(variable, version, first, thalweg_real32, shape(array, int64), strides_bytes, lower, .false., &
                     timeout_s, stat, errmsg)
  end subroutine put_real32_2

  subroutine put_local_real32_2(variable, version, array, lower, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    integer(int64), intent(in) :: version
    real(real32), intent(in), target :: array(:, :)
    integer, intent(in), optional :: lower(:)
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first
    integer(int64) :: strides_bytes(2)

    call real32_2_lies(array, first, strides_bytes)
    call put_strided(variable, version, first, thalweg_real32, shape(array, int64), strides_bytes, lower, .true., &
                     timeout_s, stat, errmsg)
  end subroutine put_local_real32_2

  subroutine get_real32_2(variable, which, array, lower, version, strategy, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    type(thalweg_which), intent(in) :: which
    real(real32), intent(inout), target :: array(:, :)
    integer, intent(in), optional :: lower(:)
    integer(int64), intent(out), optional :: version
    integer(int32), intent(in), optional :: strategy
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first
    integer(int64) :: strides_bytes(2)

    call real32_2_lies(array, first, strides_bytes)
    call get_strided(variable, which, first, thalweg_real32, shape(array, int64), strides_bytes, lower, version, &
                     strategy, timeout_s, stat, errmsg)
  end subroutine get_real32_2

  subroutine lend_real32_2(variable, version, extent, array, loan, lower, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    integer(int64), intent(in) :: version
    integer, intent(in) :: extent(2)
    real(real32), pointer, intent(out) :: array(:, :)
    type(thalweg_loan), intent(out) :: loan
    integer, intent(in), optional :: lower(:)
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first

    nullify (array)
    call lend(variable, version, int(extent, int64), thalweg_real32, first, loan, lower, timeout_s, stat, errmsg)
    if (c_associated(first)) call c_f_pointer(first, array, extent)
  end subroutine lend_real32_2

  subroutine real32_2_lies(array, first, strides_bytes)
    real(real32), intent(in), target :: array(:, :)
    type(c_ptr), intent(out) :: first
    integer(int64), intent(out) :: strides_bytes(2)

    first = c_null_ptr
    strides_bytes = 0
    if (size(array) == 0) return
    first = c_loc(array(1, 1))
    if (size(array, 1) > 1) &
      strides_bytes(1) = address_of(c_loc(array(2, 1))) - address_of(first)
    if (size(array, 2) > 1) &
      strides_bytes(2) = address_of(c_loc(array(1, 2))) - address_of(first)
  end subroutine real32_2_lies

  subroutine put_real32_3(variable, version, array, lower, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    integer(int64), intent(in) :: version
    real(real32), intent(in), target :: array(:, :, :)
    integer, intent(in), optional :: lower(:)
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first
    integer(int64) :: strides_bytes(3)

    call real32_3_lies(array, first, strides_bytes)
    call put_strided(variable, version, first, thalweg_real32, shape(array, int64), strides_bytes, lower, .false., &
                     timeout_s, stat, errmsg)
  end subroutine put_real32_3

  subroutine put_local_real32_3(variable, version, array, lower, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    integer(int64), intent(in) :: version
    real(real32), intent(in), target :: array(:, :, :)
    integer, intent(in), optional :: lower(:)
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first
    integer(int64) :: strides_bytes(3)

    call real32_3_lies(array, first, strides_bytes)
    call put_strided(variable, version, first, thalweg_real32, shape(array, int64), strides_bytes, lower, .true., &
                     timeout_s, stat, errmsg)
  end subroutine put_local_real32_3

  subroutine get_real32_3(variable, which, array, lower, version, strategy, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    type(thalweg_which), intent(in) :: which
    real(real32), intent(inout), target :: array(:, :, :)
    integer, intent(in), optional :: lower(:)
    integer(int64), intent(out), optional :: version
    integer(int32), intent(in), optional :: strategy
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first
    integer(int64) :: strides_bytes(3)

    call real32_3_lies(array, first, strides_bytes)
    call get_strided(variable, which, first, thalweg_real32, shape(array, int64), strides_bytes, lower, version, &
                     strategy, timeout_s, stat, errmsg)
  end subroutine get_real32_3

  subroutine lend_real32_3(variable, version, extent, array, loan, lower, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    integer(int64), intent(in) :: version
    integer, intent(in) :: extent(3)
    real(real32), pointer, intent(out) :: array(:, :, :)
    type(thalweg_loan), intent(out) :: loan
    integer, intent(in), optional :: lower(:)
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first

    nullify (array)
    call lend(variable, version, int(extent, int64), thalweg_real32, first, loan, lower, timeout_s, stat, errmsg)
    if (c_associated(first)) call c_f_pointer(first, array, extent)
  end subroutine lend_real32_3

  subroutine real32_3_lies(array, first, strides_bytes)
    real(real32), intent(in), target :: array(:, :, :)
    type(c_ptr), intent(out) :: first
    integer(int64), intent(out) :: strides_bytes(3)

    first = c_null_ptr
    strides_bytes = 0
    if (size(array) == 0) return
    first = c_loc(array(1, 1, 1))
    if (size(array, 1) > 1) &
      strides_bytes(1) = address_of(c_loc(array(2, 1, 1))) - address_of(first)
    if (size(array, 2) > 1) &
      strides_bytes(2) = address_of(c_loc(array(1, 2, 1))) - address_of(first)
    if (size(array, 3) > 1) &
      strides_bytes(3) = address_of(c_loc(array(1, 1, 2))) - address_of(first)
  end subroutine real32_3_lies

  subroutine put_real32_4(variable, version, array, lower, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    integer(int64), intent(in) :: version
    real(real32), intent(in), target :: array(:, :, :, :)
    integer, intent(in), optional :: lower(:)
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first
    integer(int64) :: strides_bytes(4)

    call real32_4_lies(array, first, strides_bytes)
    call put_strided(variable, version, first, thalweg_real32, shape(array, int64), strides_bytes, lower, .false., &
                     timeout_s, stat, errmsg)
  end subroutine put_real32_4

  subroutine put_local_real32_4(variable, version, array, lower, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    integer(int64), intent(in) :: version
    real(real32), intent(in), target :: array(:, :, :, :)
    integer, intent(in), optional :: lower(:)
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first
    integer(int64) :: strides_bytes(4)

    call real32_4_lies(array, first, strides_bytes)
    call put_strided(variable, version, first, thalweg_real32, shape(array, int64), strides_bytes, lower, .true., &
                     timeout_s, stat, errmsg)
  end subroutine put_local_real32_4

  subroutine get_real32_4(variable, which, array, lower, version, strategy, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    type(thalweg_which), intent(in) :: which
    real(real32), intent(inout), target :: array(:, :, :, :)
    integer, intent(in), optional :: lower(:)
    integer(int64), intent(out), optional :: version
    integer(int32), intent(in), optional :: strategy
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first
    integer(int64) :: strides_bytes(4)

    call real32_4_lies(array, first, strides_bytes)
    call get_strided(variable, which, first, thalweg_real32, shape(array, int64), strides_bytes, lower, version, &
                     strategy, timeout_s, stat, errmsg)
  end subroutine get_real32_4

  subroutine lend_real32_4(variable, version, extent, array, loan, lower, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    integer(int64), intent(in) :: version
    integer, intent(in) :: extent(4)
    real(real32), pointer, intent(out) :: array(:, :, :, :)
    type(thalweg_loan), intent(out) :: loan
    integer, intent(in), optional :: lower(:)
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first

    nullify (array)
    call lend(variable, version, int(extent, int64), thalweg_real32, first, loan, lower, timeout_s, stat, errmsg)
    if (c_associated(first)) call c_f_pointer(first, array, extent)
  end subroutine lend_real32_4

  subroutine real32_4_lies(array, first, strides_bytes)
    real(real32), intent(in), target :: array(:, :, :, :)
    type(c_ptr), intent(out) :: first
    integer(int64), intent(out) :: strides_bytes(4)

    first = c_null_ptr
    strides_bytes = 0
    if (size(array) == 0) return
    first = c_loc(array(1, 1, 1, 1))
    if (size(array, 1) > 1) &
      strides_bytes(1) = address_of(c_loc(array(2, 1, 1, 1))) - address_of(first)
    if (size(array, 2) > 1) &
      strides_bytes(2) = address_of(c_loc(array(1, 2, 1, 1))) - address_of(first)
    if (size(array, 3) > 1) &
      strides_bytes(3) = address_of(c_loc(array(1, 1, 2, 1))) - address_of(first)
    if (size(array, 4) > 1) &
      strides_bytes(4) = address_of(c_loc(array(1, 1, 1, 2))) - address_of(first)
  end subroutine real32_4_lies

  subroutine put_real32_5(variable, version, array, lower, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    integer(int64), intent(in) :: version
    real(real32), intent(in), target :: array(:, :, :, :, :)
    integer, intent(in), optional :: lower(:)
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first
    integer(int64) :: strides_bytes(5)

    call real32_5_lies(array, first, strides_bytes)
    call put_strided(variable, version, first, thalweg_real32, shape(array, int64), strides_bytes, lower, .false., &
                     timeout_s, stat, errmsg)
  end subroutine put_real32_5

  subroutine put_local_real32_5(variable, version, array, lower, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    integer(int64), intent(in) :: version
    real(real32), intent(in), target :: array(:, :, :, :, :)
    integer, intent(in), optional :: lower(:)
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first
    integer(int64) :: strides_bytes(5)

    call real32_5_lies(array, first, strides_bytes)
    call put_strided(variable, version, first, thalweg_real32, shape(array, int64), strides_bytes, lower, .true., &
                     timeout_s, stat, errmsg)
  end subroutine put_local_real32_5

  subroutine get_real32_5(variable, which, array, lower, version, strategy, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    type(thalweg_which), intent(in) :: which
    real(real32), intent(inout), target :: array(:, :, :, :, :)
    integer, intent(in), optional :: lower(:)
    integer(int64), intent(out), optional :: version
    integer(int32), intent(in), optional :: strategy
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first
    integer(int64) :: strides_bytes(5)

    call real32_5_lies(array, first, strides_bytes)
    call get_strided(variable, which, first, thalweg_real32, shape(array, int64), strides_bytes, lower, version, &
                     strategy, timeout_s, stat, errmsg)
  end subroutine get_real32_5

  subroutine lend_real32_5(variable, version, extent, array, loan, lower, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    integer(int64), intent(in) :: version
    integer, intent(in) :: extent(5)
    real(real32), pointer, intent(out) :: array(:, :, :, :, :)
    type(thalweg_loan), intent(out) :: loan
    integer, intent(in), optional :: lower(:)
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first

    nullify (array)
    call lend(variable, version, int(extent, int64), thalweg_real32, first, loan, lower, timeout_s, stat, errmsg)
    if (c_associated(first)) call c_f_pointer(first, array, extent)
  end subroutine lend_real32_5

  subroutine real32_5_lies(array, first, strides_bytes)
    real(real32), intent(in), target :: array(:, :, :, :, :)
    type(c_ptr), intent(out) :: first
    integer(int64), intent(out) :: strides_bytes(5)

    first = c_null_ptr
    strides_bytes = 0
    if (size(array) == 0) return
    first = c_loc(array(1, 1, 1, 1, 1))
    if (size(array, 1) > 1) &
      strides_bytes(1) = address_of(c_loc(array(2, 1, 1, 1, 1))) - address_of(first)
    if (size(array, 2) > 1) &
      strides_bytes(2) = address_of(c_loc(array(1, 2, 1, 1, 1))) - address_of(first)
    if (size(array, 3) > 1) &
      strides_bytes(3) = address_of(c_loc(array(1, 1, 2, 1, 1))) - address_of(first)
    if (size(array, 4) > 1) &
      strides_bytes(4) = address_of(c_loc(array(1, 1, 1, 2, 1))) - address_of(first)
    if (size(array, 5) > 1) &
      strides_bytes(5) = address_of(c_loc(array(1, 1, 1, 1, 2))) - address_of(first)
  end subroutine real32_5_lies

  subroutine put_real32_6(variable, version, array, lower, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    integer(int64), intent(in) :: version
    real(real32), intent(in), target :: array(:, :, :, :, :, :)
    integer, intent(in), optional :: lower(:)
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first
    integer(int64) :: strides_bytes(6)

    call real32_6_lies(array, first, strides_bytes)
    call put_strided(variable, version, first, thalweg_real32, shape(array, int64), strides_bytes, lower, .false., &
                     timeout_s, stat, errmsg)
  end subroutine put_real32_6

  subroutine put_local_real32_6(variable, version, array, lower, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    integer(int64), intent(in) :: version
    real(real32), intent(in), target :: array(:, :, :, :, :, :)
    integer, intent(in), optional :: lower(:)
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first
    integer(int64) :: strides_bytes(6)

    call real32_6_lies(array, first, strides_bytes)
    call put_strided(variable, version, first, thalweg_real32, shape(array, int64), strides_bytes, lower, .true., &
                     timeout_s, stat, errmsg)
  end subroutine put_local_real32_6

  subroutine get_real32_6(variable, which, array, lower, version, strategy, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    type(thalweg_which), intent(in) :: which
    real(real32), intent(inout), target :: array(:, :, :, :, :, :)
    integer, intent(in), optional :: lower(:)
    integer(int64), intent(out), optional :: version
    integer(int32), intent(in), optional :: strategy
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first
    integer(int64) :: strides_bytes(6)

    call real32_6_lies(array, first, strides_bytes)
    call get_strided(variable, which, first, thalweg_real32, shape(array, int64), strides_bytes, lower, version, &
                     strategy, timeout_s, stat, errmsg)
  end subroutine get_real32_6

  subroutine lend_real32_6(variable, version, extent, array, loan, lower, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    integer(int64), intent(in) :: version
    integer, intent(in) :: extent(6)
    real(real32), pointer, intent(out) :: array(:, :, :, :, :, :)
    type(thalweg_loan), intent(out) :: loan
    integer, intent(in), optional :: lower(:)
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first

    nullify (array)
    call lend(variable, version, int(extent, int64), thalweg_real32, first, loan, lower, timeout_s, stat, errmsg)
    if (c_associated(first)) call c_f_pointer(first, array, extent)
  end subroutine lend_real32_6

  subroutine real32_6_lies(array, first, strides_bytes)
    real(real32), intent(in), target :: array(:, :, :, :, :, :)
    type(c_ptr), intent(out) :: first
    integer(int64), intent(out) :: strides_bytes(6)

    first = c_null_ptr
    strides_bytes = 0
    if (size(array) == 0) return
    first = c_loc(array(1, 1, 1, 1, 1, 1))
    if (size(array, 1) > 1) &
      strides_bytes(1) = address_of(c_loc(array(2, 1, 1, 1, 1, 1))) - address_of(first)
    if (size(array, 2) > 1) &
      strides_bytes(2) = address_of(c_loc(array(1, 2, 1, 1, 1, 1))) - address_of(first)
    if (size(array, 3) > 1) &
      strides_bytes(3) = address_of(c_loc(array(1, 1, 2, 1, 1, 1))) - address_of(first)
    if (size(array, 4) > 1) &
      strides_bytes(4) = address_of(c_loc(array(1, 1, 1, 2, 1, 1))) - address_of(first)
    if (size(array, 5) > 1) &
      strides_bytes(5) = address_of(c_loc(array(1, 1, 1, 1, 2, 1))) - address_of(first)
    if (size(array, 6) > 1) &
      strides_bytes(6) = address_of(c_loc(array(1, 1, 1, 1, 1, 2))) - address_of(first)
  end subroutine real32_6_lies

  subroutine put_real64_1(variable, version, array, lower, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    integer(int64), intent(in) :: version
    real(real64), intent(in), target :: array(:)
    integer, intent(in), optional :: lower(:)
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first
    integer(int64) :: strides_bytes(1)

    call real64_1_lies(array, first, strides_bytes)
    call put_strided(variable, version, first, thalweg_real64, shape(array, int64), strides_bytes, lower, .false., &
                     timeout_s, stat, errmsg)
  end subroutine put_real64_1

  subroutine put_local_real64_1(variable, version, array, lower, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    integer(int64), intent(in) :: version
    real(real64), intent(in), target :: array(:)
    integer, intent(in), optional :: lower(:)
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first
    integer(int64) :: strides_bytes(1)

    call real64_1_lies(array, first, strides_bytes)
    call put_strided(variable, version, first, thalweg_real64, shape(array, int64), strides_bytes, lower, .true., &
                     timeout_s, stat, errmsg)
  end subroutine put_local_real64_1

  subroutine get_real64_1(variable, which, array, lower, version, strategy, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    type(thalweg_which), intent(in) :: which
    real(real64), intent(inout), target :: array(:)
    integer, intent(in), optional :: lower(:)
    integer(int64), intent(out), optional :: version
    integer(int32), intent(in), optional :: strategy
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first
    integer(int64) :: strides_bytes(1)

    call real64_1_lies(array, first, strides_bytes)
    call get_strided(variable, which, first, thalweg_real64, shape(array, int64), strides_bytes, lower, version, &
                     strategy, timeout_s, stat, errmsg)
  end subroutine get_real64_1

  subroutine lend_real64_1(variable, version, extent, array, loan, lower, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    integer(int64), intent(in) :: version
    integer, intent(in) :: extent(1)
    real(real64), pointer, intent(out) :: array(:)
    type(thalweg_loan), intent(out) :: loan
    integer, intent(in), optional :: lower(:)
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first

    nullify (array)
    call lend(variable, version, int(extent, int64), thalweg_real64, first, loan, lower, timeout_s, stat, errmsg)
    if (c_associated(first)) call c_f_pointer(first, array, extent)
  end subroutine lend_real64_1

  subroutine real64_1_lies(array, first, strides_bytes)
    real(real64), intent(in), target :: array(:)
    type(c_ptr), intent(out) :: first
    integer(int64), intent(out) :: strides_bytes(1)

    first = c_null_ptr
    strides_bytes = 0
    if (size(array) == 0) return
    first = c_loc(array(1))
    if (size(array, 1) > 1) &
      strides_bytes(1) = address_of(c_loc(array(2))) - address_of(first)
  end subroutine real64_1_lies

  subroutine put_real64_2(variable, version, array, lower, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    integer(int64), intent(in) :: version
    real(real64), intent(in), target :: array(:, :)
    integer, intent(in), optional :: lower(:)
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first
    integer(int64) :: strides_bytes(2)

    call real64_2_lies(array, first, strides_bytes)
    call put_strided(variable, version, first, thalweg_real64, shape(array, int64), strides_bytes, lower, .false., &
                     timeout_s, stat, errmsg)
  end subroutine put_real64_2

  subroutine put_local_real64_2(variable, version, array, lower, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    integer(int64), intent(in) :: version
    real(real64), intent(in), target :: array(:, :)
    integer, intent(in), optional :: lower(:)
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first
    integer(int64) :: strides_bytes(2)

    call real64_2_lies(array, first, strides_bytes)
    call put_strided(variable, version, first, thalweg_real64, shape(array, int64), strides_bytes, lower, .true., &
                     timeout_s, stat, errmsg)
  end subroutine put_local_real64_2

  subroutine get_real64_2(variable, which, array, lower, version, strategy, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    type(thalweg_which), intent(in) :: which
    real(real64), intent(inout), target :: array(:, :)
    integer, intent(in), optional :: lower(:)
    integer(int64), intent(out), optional :: version
    integer(int32), intent(in), optional :: strategy
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first
    integer(int64) :: strides_bytes(2)

    call real64_2_lies(array, first, strides_bytes)
    call get_strided(variable, which, first, thalweg_real64, shape(array, int64), strides_bytes, lower, version, &
                     strategy, timeout_s, stat, errmsg)
  end subroutine get_real64_2

  subroutine lend_real64_2(variable, version, extent, array, loan, lower, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    integer(int64), intent(in) :: version
    integer, intent(in) :: extent(2)
    real(real64), pointer, intent(out) :: array(:, :)
    type(thalweg_loan), intent(out) :: loan
    integer, intent(in), optional :: lower(:)
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first

    nullify (array)
    call lend(variable, version, int(extent, int64), thalweg_real64, first, loan, lower, timeout_s, stat, errmsg)
    if (c_associated(first)) call c_f_pointer(first, array, extent)
  end subroutine lend_real64_2

  subroutine real64_2_lies(array, first, strides_bytes)
    real(real64), intent(in), target :: array(:, :)
    type(c_ptr), intent(out) :: first
    integer(int64), intent(out) :: strides_bytes(2)

    first = c_null_ptr
    strides_bytes = 0
    if (size(array) == 0) return
    first = c_loc(array(1, 1))
    if (size(array, 1) > 1) &
      strides_bytes(1) = address_of(c_loc(array(2, 1))) - address_of(first)
    if (size(array, 2) > 1) &
      strides_bytes(2) = address_of(c_loc(array(1, 2))) - address_of(first)
  end subroutine real64_2_lies

  subroutine put_real64_3(variable, version, array, lower, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    integer(int64), intent(in) :: version
    real(real64), intent(in), target :: array(:, :, :)
    integer, intent(in), optional :: lower(:)
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first
    integer(int64) :: strides_bytes(3)

    call real64_3_lies(array, first, strides_bytes)
    call put_strided(variable, version, first, thalweg_real64, shape(array, int64), strides_bytes, lower, .false., &
                     timeout_s, stat, errmsg)
  end subroutine put_real64_3

  subroutine put_local_real64_3(variable, version, array, lower, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    integer(int64), intent(in) :: version
    real(real64), intent(in), target :: array(:, :, :)
    integer, intent(in), optional :: lower(:)
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first
    integer(int64) :: strides_bytes(3)

    call real64_3_lies(array, first, strides_bytes)
    call put_strided(variable, version, first, thalweg_real64, shape(array, int64), strides_bytes, lower, .true., &
                     timeout_s, stat, errmsg)
  end subroutine put_local_real64_3

  subroutine get_real64_3(variable, which, array, lower, version, strategy, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    type(thalweg_which), intent(in) :: which
    real(real64), intent(inout), target :: array(:, :, :)
    integer, intent(in), optional :: lower(:)
    integer(int64), intent(out), optional :: version
    integer(int32), intent(in), optional :: strategy
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first
    integer(int64) :: strides_bytes(3)

    call real64_3_lies(array, first, strides_bytes)
    call get_strided(variable, which, first, thalweg_real64, shape(array, int64), strides_bytes, lower, version, &
                     strategy, timeout_s, stat, errmsg)
  end subroutine get_real64_3

  subroutine lend_real64_3(variable, version, extent, array, loan, lower, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    integer(int64), intent(in) :: version
    integer, intent(in) :: extent(3)
    real(real64), pointer, intent(out) :: array(:, :, :)
    type(thalweg_loan), intent(out) :: loan
    integer, intent(in), optional :: lower(:)
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first

    nullify (array)
    call lend(variable, version, int(extent, int64), thalweg_real64, first, loan, lower, timeout_s, stat, errmsg)
    if (c_associated(first)) call c_f_pointer(first, array, extent)
  end subroutine lend_real64_3

  subroutine real64_3_lies(array, first, strides_bytes)
    real(real64), intent(in), target :: array(:, :, :)
    type(c_ptr), intent(out) :: first
    integer(int64), intent(out) :: strides_bytes(3)

    first = c_null_ptr
    strides_bytes = 0
    if (size(array) == 0) return
    first = c_loc(array(1, 1, 1))
    if (size(array, 1) > 1) &
      strides_bytes(1) = address_of(c_loc(array(2, 1, 1))) - address_of(first)
    if (size(array, 2) > 1) &
      strides_bytes(2) = address_of(c_loc(array(1, 2, 1))) - address_of(first)
    if (size(array, 3) > 1) &
      strides_bytes(3) = address_of(c_loc(array(1, 1, 2))) - address_of(first)
  end subroutine real64_3_lies

  subroutine put_real64_4(variable, version, array, lower, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    integer(int64), intent(in) :: version
    real(real64), intent(in), target :: array(:, :, :, :)
    integer, intent(in), optional :: lower(:)
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first
    integer(int64) :: strides_bytes(4)

    call real64_4_lies(array, first, strides_bytes)
    call put_strided(variable, version, first, thalweg_real64, shape(array, int64), strides_bytes, lower, .false., &
                     timeout_s, stat, errmsg)
  end subroutine put_real64_4

  subroutine put_local_real64_4(variable, version, array, lower, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    integer(int64), intent(in) :: version
    real(real64), intent(in), target :: array(:, :, :, :)
    integer, intent(in), optional :: lower(:)
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first
    integer(int64) :: strides_bytes(4)

    call real64_4_lies(array, first, strides_bytes)
    call put_strided(variable, version, first, thalweg_real64, shape(array, int64), strides_bytes, lower, .true., &
                     timeout_s, stat, errmsg)
  end subroutine put_local_real64_4

  subroutine get_real64_4(variable, which, array, lower, version, strategy, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    type(thalweg_which), intent(in) :: which
    real(real64), intent(inout), target :: array(:, :, :, :)
    integer, intent(in), optional :: lower(:)
    integer(int64), intent(out), optional :: version
    integer(int32), intent(in), optional :: strategy
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first
    integer(int64) :: strides_bytes(4)

    call real64_4_lies(array, first, strides_bytes)
    call get_strided(variable, which, first, thalweg_real64, shape(array, int64), strides_bytes, lower, version, &
                     strategy, timeout_s, stat, errmsg)
  end subroutine get_real64_4

  subroutine lend_real64_4(variable, version, extent, array, loan, lower, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    integer(int64), intent(in) :: version
    integer, intent(in) :: extent(4)
    real(real64), pointer, intent(out) :: array(:, :, :, :)
    type(thalweg_loan), intent(out) :: loan
    integer, intent(in), optional :: lower(:)
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first

    nullify (array)
    call lend(variable, version, int(extent, int64), thalweg_real64, first, loan, lower, timeout_s, stat, errmsg)
    if (c_associated(first)) call c_f_pointer(first, array, extent)
  end subroutine lend_real64_4

  subroutine real64_4_lies(array, first, strides_bytes)
    real(real64), intent(in), target :: array(:, :, :, :)
    type(c_ptr), intent(out) :: first
    integer(int64), intent(out) :: strides_bytes(4)

    first = c_null_ptr
    strides_bytes = 0
    if (size(array) == 0) return
    first = c_loc(array(1, 1, 1, 1))
    if (size(array, 1) > 1) &
      strides_bytes(1) = address_of(c_loc(array(2, 1, 1, 1))) - address_of(first)
    if (size(array, 2) > 1) &
      strides_bytes(2) = address_of(c_loc(array(1, 2, 1, 1))) - address_of(first)
    if (size(array, 3) > 1) &
      strides_bytes(3) = address_of(c_loc(array(1, 1, 2, 1))) - address_of(first)
    if (size(array, 4) > 1) &
      strides_bytes(4) = address_of(c_loc(array(1, 1, 1, 2))) - address_of(first)
  end subroutine real64_4_lies

  subroutine put_real64_5(variable, version, array, lower, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    integer(int64), intent(in) :: version
    real(real64), intent(in), target :: array(:, :, :, :, :)
    integer, intent(in), optional :: lower(:)
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first
    integer(int64) :: strides_bytes(5)

    call real64_5_lies(array, first, strides_bytes)
    call put_strided(variable, version, first, thalweg_real64, shape(array, int64), strides_bytes, lower, .false., &
                     timeout_s, stat, errmsg)
  end subroutine put_real64_5

  subroutine put_local_real64_5(variable, version, array, lower, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    integer(int64), intent(in) :: version
    real(real64), intent(in), target :: array(:, :, :, :, :)
    integer, intent(in), optional :: lower(:)
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first
    integer(int64) :: strides_bytes(5)

    call real64_5_lies(array, first, strides_bytes)
    call put_strided(variable, version, first, thalweg_real64, shape(array, int64), strides_bytes, lower, .true., &
                     timeout_s, stat, errmsg)
  end subroutine put_local_real64_5

  subroutine get_real64_5(variable, which, array, lower, version, strategy, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    type(thalweg_which), intent(in) :: which
    real(real64), intent(inout), target :: array(:, :, :, :, :)
    integer, intent(in), optional :: lower(:)
    integer(int64), intent(out), optional :: version
    integer(int32), intent(in), optional :: strategy
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first
    integer(int64) :: strides_bytes(5)

    call real64_5_lies(array, first, strides_bytes)
    call get_strided(variable, which, first, thalweg_real64, shape(array, int64), strides_bytes, lower, version, &
                     strategy, timeout_s, stat, errmsg)
  end subroutine get_real64_5

  subroutine lend_real64_5(variable, version, extent, array, loan, lower, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    integer(int64), intent(in) :: version
    integer, intent(in) :: extent(5)
    real(real64), pointer, intent(out) :: array(:, :, :, :, :)
    type(thalweg_loan), intent(out) :: loan
    integer, intent(in), optional :: lower(:)
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first

    nullify (array)
    call lend(variable, version, int(extent, int64), thalweg_real64, first, loan, lower, timeout_s, stat, errmsg)
    if (c_associated(first)) call c_f_pointer(first, array, extent)
  end subroutine lend_real64_5

  subroutine real64_5_lies(array, first, strides_bytes)
    real(real64), intent(in), target :: array(:, :, :, :, :)
    type(c_ptr), intent(out) :: first
    integer(int64), intent(out) :: strides_bytes(5)

    first = c_null_ptr
    strides_bytes = 0
    if (size(array) == 0) return
    first = c_loc(array(1, 1, 1, 1, 1))
    if (size(array, 1) > 1) &
      strides_bytes(1) = address_of(c_loc(array(2, 1, 1, 1, 1))) - address_of(first)
    if (size(array, 2) > 1) &
      strides_bytes(2) = address_of(c_loc(array(1, 2, 1, 1, 1))) - address_of(first)
    if (size(array, 3) > 1) &
      strides_bytes(3) = address_of(c_loc(array(1, 1, 2, 1, 1))) - address_of(first)
    if (size(array, 4) > 1) &
      strides_bytes(4) = address_of(c_loc(array(1, 1, 1, 2, 1))) - address_of(first)
    if (size(array, 5) > 1) &
      strides_bytes(5) = address_of(c_loc(array(1, 1, 1, 1, 2))) - address_of(first)
  end subroutine real64_5_lies

  subroutine put_real64_6(variable, version, array, lower, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    integer(int64), intent(in) :: version
    real(real64), intent(in), target :: array(:, :, :, :, :, :)
    integer, intent(in), optional :: lower(:)
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first
    integer(int64) :: strides_bytes(6)

    call real64_6_lies(array, first, strides_bytes)
    call put_strided(variable, version, first, thalweg_real64, shape(array, int64), strides_bytes, lower, .false., &
                     timeout_s, stat, errmsg)
  end subroutine put_real64_6

  subroutine put_local_real64_6(variable, version, array, lower, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    integer(int64), intent(in) :: version
    real(real64), intent(in), target :: array(:, :, :, :, :, :)
    integer, intent(in), optional :: lower(:)
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first
    integer(int64) :: strides_bytes(6)

    call real64_6_lies(array, first, strides_bytes)
    call put_strided(variable, version, first, thalweg_real64, shape(array, int64), strides_bytes, lower, .true., &
                     timeout_s, stat, errmsg)
  end subroutine put_local_real64_6

  subroutine get_real64_6(variable, which, array, lower, version, strategy, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    type(thalweg_which), intent(in) :: which
    real(real64), intent(inout), target :: array(:, :, :, :, :, :)
    integer, intent(in), optional :: lower(:)
    integer(int64), intent(out), optional :: version
    integer(int32), intent(in), optional :: strategy
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first
    integer(int64) :: strides_bytes(6)

    call real64_6_lies(array, first, strides_bytes)
    call get_strided(variable, which, first, thalweg_real64, shape(array, int64), strides_bytes, lower, version, &
                     strategy, timeout_s, stat, errmsg)
  end subroutine get_real64_6

  subroutine lend_real64_6(variable, version, extent, array, loan, lower, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    integer(int64), intent(in) :: version
    integer, intent(in) :: extent(6)
    real(real64), pointer, intent(out) :: array(:, :, :, :, :, :)
    type(thalweg_loan), intent(out) :: loan
    integer, intent(in), optional :: lower(:)
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first

    nullify (array)
    call lend(variable, version, int(extent, int64), thalweg_real64, first, loan, lower, timeout_s, stat, errmsg)
    if (c_associated(first)) call c_f_pointer(first, array, extent)
  end subroutine lend_real64_6

  subroutine real64_6_lies(array, first, strides_bytes)
    real(real64), intent(in), target :: array(:, :, :, :, :, :)
    type(c_ptr), intent(out) :: first
    integer(int64), intent(out) :: strides_bytes(6)

    first = c_null_ptr
    strides_bytes = 0
    if (size(array) == 0) return
    first = c_loc(array(1, 1, 1, 1, 1, 1))
    if (size(array, 1) > 1) &
      strides_bytes(1) = address_of(c_loc(array(2, 1, 1, 1, 1, 1))) - address_of(first)
    if (size(array, 2) > 1) &
      strides_bytes(2) = address_of(c_loc(array(1, 2, 1, 1, 1, 1))) - address_of(first)
    if (size(array, 3) > 1) &
      strides_bytes(3) = address_of(c_loc(array(1, 1, 2, 1, 1, 1))) - address_of(first)
    if (size(array, 4) > 1) &
      strides_bytes(4) = address_of(c_loc(array(1, 1, 1, 2, 1, 1))) - address_of(first)
    if (size(array, 5) > 1) &
      strides_bytes(5) = address_of(c_loc(array(1, 1, 1, 1, 2, 1))) - address_of(first)
    if (size(array, 6) > 1) &
      strides_bytes(6) = address_of(c_loc(array(1, 1, 1, 1, 1, 2))) - address_of(first)
  end subroutine real64_6_lies

  subroutine put_int32_1(variable, version, array, lower, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    integer(int64), intent(in) :: version
    integer(int32), intent(in), target :: array(:)
    integer, intent(in), optional :: lower(:)
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first
    integer(int64) :: strides_bytes(1)

    call int32_1_lies(array, first, strides_bytes)
    call put_strided(variable, version, first, thalweg_int32, shape(array, int64), strides_bytes, lower, .false., &
                     timeout_s, stat, errmsg)
  end subroutine put_int32_1

  subroutine put_local_int32_1(variable, version, array, lower, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    integer(int64), intent(in) :: version
    integer(int32), intent(in), target :: array(:)
    integer, intent(in), optional :: lower(:)
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first
    integer(int64) :: strides_bytes(1)

    call int32_1_lies(array, first, strides_bytes)
    call put_strided(variable, version, first, thalweg_int32, shape(array, int64), strides_bytes, lower, .true., &
                     timeout_s, stat, errmsg)
  end subroutine put_local_int32_1

  subroutine get_int32_1(variable, which, array, lower, version, strategy, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    type(thalweg_which), intent(in) :: which
    integer(int32), intent(inout), target :: array(:)
    integer, intent(in), optional :: lower(:)
    integer(int64), intent(out), optional :: version
    integer(int32), intent(in), optional :: strategy
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first
    integer(int64) :: strides_bytes(1)

    call int32_1_lies(array, first, strides_bytes)
    call get_strided(variable, which, first, thalweg_int32, shape(array, int64), strides_bytes, lower, version, &
                     strategy, timeout_s, stat, errmsg)
  end subroutine get_int32_1

  subroutine lend_int32_1(variable, version, extent, array, loan, lower, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    integer(int64), intent(in) :: version
    integer, intent(in) :: extent(1)
    integer(int32), pointer, intent(out) :: array(:)
    type(thalweg_loan), intent(out) :: loan
    integer, intent(in), optional :: lower(:)
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first

    nullify (array)
    call lend(variable, version, int(extent, int64), thalweg_int32, first, loan, lower, timeout_s, stat, errmsg)
    if (c_associated(first)) call c_f_pointer(first, array, extent)
  end subroutine lend_int32_1

  subroutine int32_1_lies(array, first, strides_bytes)
    integer(int32), intent(in), target :: array(:)
    type(c_ptr), intent(out) :: first
    integer(int64), intent(out) :: strides_bytes(1)

    first = c_null_ptr
    strides_bytes = 0
    if (size(array) == 0) return
    first = c_loc(array(1))
    if (size(array, 1) > 1) &
      strides_bytes(1) = address_of(c_loc(array(2))) - address_of(first)
  end subroutine int32_1_lies

  subroutine put_int32_2(variable, version, array, lower, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    integer(int64), intent(in) :: version
    integer(int32), intent(in), target :: array(:, :)
    integer, intent(in), optional :: lower(:)
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first
    integer(int64) :: strides_bytes(2)

    call int32_2_lies(array, first, strides_bytes)
    call put_strided(variable, version, first, thalweg_int32, shape(array, int64), strides_bytes, lower, .false., &
                     timeout_s, stat, errmsg)
  end subroutine put_int32_2

  subroutine put_local_int32_2(variable, version, array, lower, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    integer(int64), intent(in) :: version
    integer(int32), intent(in), target :: array(:, :)
    integer, intent(in), optional :: lower(:)
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first
    integer(int64) :: strides_bytes(2)

    call int32_2_lies(array, first, strides_bytes)
    call put_strided(variable, version, first, thalweg_int32, shape(array, int64), strides_bytes, lower, .true., &
                     timeout_s, stat, errmsg)
  end subroutine put_local_int32_2

  subroutine get_int32_2(variable, which, array, lower, version, strategy, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    type(thalweg_which), intent(in) :: which
    integer(int32), intent(inout), target :: array(:, :)
    integer, intent(in), optional :: lower(:)
    integer(int64), intent(out), optional :: version
    integer(int32), intent(in), optional :: strategy
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first
    integer(int64) :: strides_bytes(2)

    call int32_2_lies(array, first, strides_bytes)
    call get_strided(variable, which, first, thalweg_int32, shape(array, int64), strides_bytes, lower, version, &
                     strategy, timeout_s, stat, errmsg)
  end subroutine get_int32_2

  subroutine lend_int32_2(variable, version, extent, array, loan, lower, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    integer(int64), intent(in) :: version
    integer, intent(in) :: extent(2)
    integer(int32), pointer, intent(out) :: array(:, :)
    type(thalweg_loan), intent(out) :: loan
    integer, intent(in), optional :: lower(:)
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first

    nullify (array)
    call lend(variable, version, int(extent, int64), thalweg_int32, first, loan, lower, timeout_s, stat, errmsg)
    if (c_associated(first)) call c_f_pointer(first, array, extent)
  end subroutine lend_int32_2

  subroutine int32_2_lies(array, first, strides_bytes)
    integer(int32), intent(in), target :: array(:, :)
    type(c_ptr), intent(out) :: first
    integer(int64), intent(out) :: strides_bytes(2)

    first = c_null_ptr
    strides_bytes = 0
    if (size(array) == 0) return
    first = c_loc(array(1, 1))
    if (size(array, 1) > 1) &
      strides_bytes(1) = address_of(c_loc(array(2, 1))) - address_of(first)
    if (size(array, 2) > 1) &
      strides_bytes(2) = address_of(c_loc(array(1, 2))) - address_of(first)
  end subroutine int32_2_lies

  subroutine put_int32_3(variable, version, array, lower, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    integer(int64), intent(in) :: version
    integer(int32), intent(in), target :: array(:, :, :)
    integer, intent(in), optional :: lower(:)
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first
    integer(int64) :: strides_bytes(3)

    call int32_3_lies(array, first, strides_bytes)
    call put_strided(variable, version, first, thalweg_int32, shape(array, int64), strides_bytes, lower, .false., &
                     timeout_s, stat, errmsg)
  end subroutine put_int32_3

  subroutine put_local_int32_3(variable, version, array, lower, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    integer(int64), intent(in) :: version
    integer(int32), intent(in), target :: array(:, :, :)
    integer, intent(in), optional :: lower(:)
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first
    integer(int64) :: strides_bytes(3)

    call int32_3_lies(array, first, strides_bytes)
    call put_strided(variable, version, first, thalweg_int32, shape(array, int64), strides_bytes, lower, .true., &
                     timeout_s, stat, errmsg)
  end subroutine put_local_int32_3

  subroutine get_int32_3(variable, which, array, lower, version, strategy, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    type(thalweg_which), intent(in) :: which
    integer(int32), intent(inout), target :: array(:, :, :)
    integer, intent(in), optional :: lower(:)
    integer(int64), intent(out), optional :: version
    integer(int32), intent(in), optional :: strategy
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first
    integer(int64) :: strides_bytes(3)

    call int32_3_lies(array, first, strides_bytes)
    call get_strided(variable, which, first, thalweg_int32, shape(array, int64), strides_bytes, lower, version, &
                     strategy, timeout_s, stat, errmsg)
  end subroutine get_int32_3

  subroutine lend_int32_3(variable, version, extent, array, loan, lower, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    integer(int64), intent(in) :: version
    integer, intent(in) :: extent(3)
    integer(int32), pointer, intent(out) :: array(:, :, :)
    type(thalweg_loan), intent(out) :: loan
    integer, intent(in), optional :: lower(:)
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first

    nullify (array)
    call lend(variable, version, int(extent, int64), thalweg_int32, first, loan, lower, timeout_s, stat, errmsg)
    if (c_associated(first)) call c_f_pointer(first, array, extent)
  end subroutine lend_int32_3

  subroutine int32_3_lies(array, first, strides_bytes)
    integer(int32), intent(in), target :: array(:, :, :)
    type(c_ptr), intent(out) :: first
    integer(int64), intent(out) :: strides_bytes(3)

    first = c_null_ptr
    strides_bytes = 0
    if (size(array) == 0) return
    first = c_loc(array(1, 1, 1))
    if (size(array, 1) > 1) &
      strides_bytes(1) = address_of(c_loc(array(2, 1, 1))) - address_of(first)
    if (size(array, 2) > 1) &
      strides_bytes(2) = address_of(c_loc(array(1, 2, 1))) - address_of(first)
    if (size(array, 3) > 1) &
      strides_bytes(3) = address_of(c_loc(array(1, 1, 2))) - address_of(first)
  end subroutine int32_3_lies

  subroutine put_int32_4(variable, version, array, lower, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    integer(int64), intent(in) :: version
    integer(int32), intent(in), target :: array(:, :, :, :)
    integer, intent(in), optional :: lower(:)
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first
    integer(int64) :: strides_bytes(4)

    call int32_4_lies(array, first, strides_bytes)
    call put_strided(variable, version, first, thalweg_int32, shape(array, int64), strides_bytes, lower, .false., &
                     timeout_s, stat, errmsg)
  end subroutine put_int32_4

  subroutine put_local_int32_4(variable, version, array, lower, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    integer(int64), intent(in) :: version
    integer(int32), intent(in), target :: array(:, :, :, :)
    integer, intent(in), optional :: lower(:)
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first
    integer(int64) :: strides_bytes(4)

    call int32_4_lies(array, first, strides_bytes)
    call put_strided(variable, version, first, thalweg_int32, shape(array, int64), strides_bytes, lower, .true., &
                     timeout_s, stat, errmsg)
  end subroutine put_local_int32_4

  subroutine get_int32_4(variable, which, array, lower, version, strategy, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    type(thalweg_which), intent(in) :: which
    integer(int32), intent(inout), target :: array(:, :, :, :)
    integer, intent(in), optional :: lower(:)
    integer(int64), intent(out), optional :: version
    integer(int32), intent(in), optional :: strategy
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first
    integer(int64) :: strides_bytes(4)

    call int32_4_lies(array, first, strides_bytes)
    call get_strided(variable, which, first, thalweg_int32, shape(array, int64), strides_bytes, lower, version, &
                     strategy, timeout_s, stat, errmsg)
  end subroutine get_int32_4

  subroutine lend_int32_4(variable, version, extent, array, loan, lower, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    integer(int64), intent(in) :: version
    integer, intent(in) :: extent(4)
    integer(int32), pointer, intent(out) :: array(:, :, :, :)
    type(thalweg_loan), intent(out) :: loan
    integer, intent(in), optional :: lower(:)
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first

    nullify (array)
    call lend(variable, version, int(extent, int64), thalweg_int32, first, loan, lower, timeout_s, stat, errmsg)
    if (c_associated(first)) call c_f_pointer(first, array, extent)
  end subroutine lend_int32_4

  subroutine int32_4_lies(array, first, strides_bytes)
    integer(int32), intent(in), target :: array(:, :, :, :)
    type(c_ptr), intent(out) :: first
    integer(int64), intent(out) :: strides_bytes(4)

    first = c_null_ptr
    strides_bytes = 0
    if (size(array) == 0) return
    first = c_loc(array(1, 1, 1, 1))
    if (size(array, 1) > 1) &
      strides_bytes(1) = address_of(c_loc(array(2, 1, 1, 1))) - address_of(first)
    if (size(array, 2) > 1) &
      strides_bytes(2) = address_of(c_loc(array(1, 2, 1, 1))) - address_of(first)
    if (size(array, 3) > 1) &
      strides_bytes(3) = address_of(c_loc(array(1, 1, 2, 1))) - address_of(first)
    if (size(array, 4) > 1) &
      strides_bytes(4) = address_of(c_loc(array(1, 1, 1, 2))) - address_of(first)
  end subroutine int32_4_lies

  subroutine put_int32_5(variable, version, array, lower, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    integer(int64), intent(in) :: version
    integer(int32), intent(in), target :: array(:, :, :, :, :)
    integer, intent(in), optional :: lower(:)
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first
    integer(int64) :: strides_bytes(5)

    call int32_5_lies(array, first, strides_bytes)
    call put_strided(variable, version, first, thalweg_int32, shape(array, int64), strides_bytes, lower, .false., &
                     timeout_s, stat, errmsg)
  end subroutine put_int32_5

  subroutine put_local_int32_5(variable, version, array, lower, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    integer(int64), intent(in) :: version
    integer(int32), intent(in), target :: array(:, :, :, :, :)
    integer, intent(in), optional :: lower(:)
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first
    integer(int64) :: strides_bytes(5)

    call int32_5_lies(array, first, strides_bytes)
    call put_strided(variable, version, first, thalweg_int32, shape(array, int64), strides_bytes, lower, .true., &
                     timeout_s, stat, errmsg)
  end subroutine put_local_int32_5

  subroutine get_int32_5(variable, which, array, lower, version, strategy, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    type(thalweg_which), intent(in) :: which
    integer(int32), intent(inout), target :: array(:, :, :, :, :)
    integer, intent(in), optional :: lower(:)
    integer(int64), intent(out), optional :: version
    integer(int32), intent(in), optional :: strategy
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first
    integer(int64) :: strides_bytes(5)

    call int32_5_lies(array, first, strides_bytes)
    call get_strided(variable, which, first, thalweg_int32, shape(array, int64), strides_bytes, lower, version, &
                     strategy, timeout_s, stat, errmsg)
  end subroutine get_int32_5

  subroutine lend_int32_5(variable, version, extent, array, loan, lower, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    integer(int64), intent(in) :: version
    integer, intent(in) :: extent(5)
    integer(int32), pointer, intent(out) :: array(:, :, :, :, :)
    type(thalweg_loan), intent(out) :: loan
    integer, intent(in), optional :: lower(:)
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first

    nullify (array)
    call lend(variable, version, int(extent, int64), thalweg_int32, first, loan, lower, timeout_s, stat, errmsg)
    if (c_associated(first)) call c_f_pointer(first, array, extent)
  end subroutine lend_int32_5

  subroutine int32_5_lies(array, first, strides_bytes)
    integer(int32), intent(in), target :: array(:, :, :, :, :)
    type(c_ptr), intent(out) :: first
    integer(int64), intent(out) :: strides_bytes(5)

    first = c_null_ptr
    strides_bytes = 0
    if (size(array) == 0) return
    first = c_loc(array(1, 1, 1, 1, 1))
    if (size(array, 1) > 1) &
      strides_bytes(1) = address_of(c_loc(array(2, 1, 1, 1, 1))) - address_of(first)
    if (size(array, 2) > 1) &
      strides_bytes(2) = address_of(c_loc(array(1, 2, 1, 1, 1))) - address_of(first)
    if (size(array, 3) > 1) &
      strides_bytes(3) = address_of(c_loc(array(1, 1, 2, 1, 1))) - address_of(first)
    if (size(array, 4) > 1) &
      strides_bytes(4) = address_of(c_loc(array(1, 1, 1, 2, 1))) - address_of(first)
    if (size(array, 5) > 1) &
      strides_bytes(5) = address_of(c_loc(array(1, 1, 1, 1, 2))) - address_of(first)
  end subroutine int32_5_lies

  subroutine put_int32_6(variable, version, array, lower, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    integer(int64), intent(in) :: version
    integer(int32), intent(in), target :: array(:, :, :, :, :, :)
    integer, intent(in), optional :: lower(:)
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first
    integer(int64) :: strides_bytes(6)

    call int32_6_lies(array, first, strides_bytes)
    call put_strided(variable, version, first, thalweg_int32, shape(array, int64), strides_bytes, lower, .false., &
                     timeout_s, stat, errmsg)
  end subroutine put_int32_6

  subroutine put_local_int32_6(variable, version, array, lower, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    integer(int64), intent(in) :: version
    integer(int32), intent(in), target :: array(:, :, :, :, :, :)
    integer, intent(in), optional :: lower(:)
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first
    integer(int64) :: strides_bytes(6)

    call int32_6_lies(array, first, strides_bytes)
    call put_strided(variable, version, first, thalweg_int32, shape(array, int64), strides_bytes, lower, .true., &
                     timeout_s, stat, errmsg)
  end subroutine put_local_int32_6

  subroutine get_int32_6(variable, which, array, lower, version, strategy, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    type(thalweg_which), intent(in) :: which
    integer(int32), intent(inout), target :: array(:, :, :, :, :, :)
    integer, intent(in), optional :: lower(:)
    integer(int64), intent(out), optional :: version
    integer(int32), intent(in), optional :: strategy
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first
    integer(int64) :: strides_bytes(6)

    call int32_6_lies(array, first, strides_bytes)
    call get_strided(variable, which, first, thalweg_int32, shape(array, int64), strides_bytes, lower, version, &
                     strategy, timeout_s, stat, errmsg)
  end subroutine get_int32_6

  subroutine lend_int32_6(variable, version, extent, array, loan, lower, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    integer(int64), intent(in) :: version
    integer, intent(in) :: extent(6)
    integer(int32), pointer, intent(out) :: array(:, :, :, :, :, :)
    type(thalweg_loan), intent(out) :: loan
    integer, intent(in), optional :: lower(:)
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first

    nullify (array)
    call lend(variable, version, int(extent, int64), thalweg_int32, first, loan, lower, timeout_s, stat, errmsg)
    if (c_associated(first)) call c_f_pointer(first, array, extent)
  end subroutine lend_int32_6

  subroutine int32_6_lies(array, first, strides_bytes)
    integer(int32), intent(in), target :: array(:, :, :, :, :, :)
    type(c_ptr), intent(out) :: first
    integer(int64), intent(out) :: strides_bytes(6)

    first = c_null_ptr
    strides_bytes = 0
    if (size(array) == 0) return
    first = c_loc(array(1, 1, 1, 1, 1, 1))
    if (size(array, 1) > 1) &
      strides_bytes(1) = address_of(c_loc(array(2, 1, 1, 1, 1, 1))) - address_of(first)
    if (size(array, 2) > 1) &
      strides_bytes(2) = address_of(c_loc(array(1, 2, 1, 1, 1, 1))) - address_of(first)
    if (size(array, 3) > 1) &
      strides_bytes(3) = address_of(c_loc(array(1, 1, 2, 1, 1, 1))) - address_of(first)
    if (size(array, 4) > 1) &
      strides_bytes(4) = address_of(c_loc(array(1, 1, 1, 2, 1, 1))) - address_of(first)
    if (size(array, 5) > 1) &
      strides_bytes(5) = address_of(c_loc(array(1, 1, 1, 1, 2, 1))) - address_of(first)
    if (size(array, 6) > 1) &
      strides_bytes(6) = address_of(c_loc(array(1, 1, 1, 1, 1, 2))) - address_of(first)
  end subroutine int32_6_lies

  subroutine put_int64_1(variable, version, array, lower, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    integer(int64), intent(in) :: version
    integer(int64), intent(in), target :: array(:)
    integer, intent(in), optional :: lower(:)
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first
    integer(int64) :: strides_bytes(1)

    call int64_1_lies(array, first, strides_bytes)
    call put_strided(variable, version, first, thalweg_int64, shape(array, int64), strides_bytes, lower, .false., &
                     timeout_s, stat, errmsg)
  end subroutine put_int64_1

  subroutine put_local_int64_1(variable, version, array, lower, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    integer(int64), intent(in) :: version
    integer(int64), intent(in), target :: array(:)
    integer, intent(in), optional :: lower(:)
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first
    integer(int64) :: strides_bytes(1)

    call int64_1_lies(array, first, strides_bytes)
    call put_strided(variable, version, first, thalweg_int64, shape(array, int64), strides_bytes, lower, .true., &
                     timeout_s, stat, errmsg)
  end subroutine put_local_int64_1

  subroutine get_int64_1(variable, which, array, lower, version, strategy, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    type(thalweg_which), intent(in) :: which
    integer(int64), intent(inout), target :: array(:)
    integer, intent(in), optional :: lower(:)
    integer(int64), intent(out), optional :: version
    integer(int32), intent(in), optional :: strategy
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first
    integer(int64) :: strides_bytes(1)

    call int64_1_lies(array, first, strides_bytes)
    call get_strided(variable, which, first, thalweg_int64, shape(array, int64), strides_bytes, lower, version, &
                     strategy, timeout_s, stat, errmsg)
  end subroutine get_int64_1

  subroutine lend_int64_1(variable, version, extent, array, loan, lower, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    integer(int64), intent(in) :: version
    integer, intent(in) :: extent(1)
    integer(int64), pointer, intent(out) :: array(:)
    type(thalweg_loan), intent(out) :: loan
    integer, intent(in), optional :: lower(:)
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first

    nullify (array)
    call lend(variable, version, int(extent, int64), thalweg_int64, first, loan, lower, timeout_s, stat, errmsg)
    if (c_associated(first)) call c_f_pointer(first, array, extent)
  end subroutine lend_int64_1

  subroutine int64_1_lies(array, first, strides_bytes)
    integer(int64), intent(in), target :: array(:)
    type(c_ptr), intent(out) :: first
    integer(int64), intent(out) :: strides_bytes(1)

    first = c_null_ptr
    strides_bytes = 0
    if (size(array) == 0) return
    first = c_loc(array(1))
    if (size(array, 1) > 1) &
      strides_bytes(1) = address_of(c_loc(array(2))) - address_of(first)
  end subroutine int64_1_lies

  subroutine put_int64_2(variable, version, array, lower, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    integer(int64), intent(in) :: version
    integer(int64), intent(in), target :: array(:, :)
    integer, intent(in), optional :: lower(:)
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first
    integer(int64) :: strides_bytes(2)

    call int64_2_lies(array, first, strides_bytes)
    call put_strided(variable, version, first, thalweg_int64, shape(array, int64), strides_bytes, lower, .false., &
                     timeout_s, stat, errmsg)
  end subroutine put_int64_2

  subroutine put_local_int64_2(variable, version, array, lower, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    integer(int64), intent(in) :: version
    integer(int64), intent(in), target :: array(:, :)
    integer, intent(in), optional :: lower(:)
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first
    integer(int64) :: strides_bytes(2)

    call int64_2_lies(array, first, strides_bytes)
    call put_strided(variable, version, first, thalweg_int64, shape(array, int64), strides_bytes, lower, .true., &
                     timeout_s, stat, errmsg)
  end subroutine put_local_int64_2

  subroutine get_int64_2(variable, which, array, lower, version, strategy, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    type(thalweg_which), intent(in) :: which
    integer(int64), intent(inout), target :: array(:, :)
    integer, intent(in), optional :: lower(:)
    integer(int64), intent(out), optional :: version
    integer(int32), intent(in), optional :: strategy
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first
    integer(int64) :: strides_bytes(2)

    call int64_2_lies(array, first, strides_bytes)
    call get_strided(variable, which, first, thalweg_int64, shape(array, int64), strides_bytes, lower, version, &
                     strategy, timeout_s, stat, errmsg)
  end subroutine get_int64_2

  subroutine lend_int64_2(variable, version, extent, array, loan, lower, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    integer(int64), intent(in) :: version
    integer, intent(in) :: extent(2)
    integer(int64), pointer, intent(out) :: array(:, :)
    type(thalweg_loan), intent(out) :: loan
    integer, intent(in), optional :: lower(:)
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first

    nullify (array)
    call lend(variable, version, int(extent, int64), thalweg_int64, first, loan, lower, timeout_s, stat, errmsg)
    if (c_associated(first)) call c_f_pointer(first, array, extent)
  end subroutine lend_int64_2

  subroutine int64_2_lies(array, first, strides_bytes)
    integer(int64), intent(in), target :: array(:, :)
    type(c_ptr), intent(out) :: first
    integer(int64), intent(out) :: strides_bytes(2)

    first = c_null_ptr
    strides_bytes = 0
    if (size(array) == 0) return
    first = c_loc(array(1, 1))
    if (size(array, 1) > 1) &
      strides_bytes(1) = address_of(c_loc(array(2, 1))) - address_of(first)
    if (size(array, 2) > 1) &
      strides_bytes(2) = address_of(c_loc(array(1, 2))) - address_of(first)
  end subroutine int64_2_lies

  subroutine put_int64_3(variable, version, array, lower, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    integer(int64), intent(in) :: version
    integer(int64), intent(in), target :: array(:, :, :)
    integer, intent(in), optional :: lower(:)
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first
    integer(int64) :: strides_bytes(3)

    call int64_3_lies(array, first, strides_bytes)
    call put_strided(variable, version, first, thalweg_int64, shape(array, int64), strides_bytes, lower, .false., &
                     timeout_s, stat, errmsg)
  end subroutine put_int64_3

  subroutine put_local_int64_3(variable, version, array, lower, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    integer(int64), intent(in) :: version
    integer(int64), intent(in), target :: array(:, :, :)
    integer, intent(in), optional :: lower(:)
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first
    integer(int64) :: strides_bytes(3)

    call int64_3_lies(array, first, strides_bytes)
    call put_strided(variable, version, first, thalweg_int64, shape(array, int64), strides_bytes, lower, .true., &
                     timeout_s, stat, errmsg)
  end subroutine put_local_int64_3

  subroutine get_int64_3(variable, which, array, lower, version, strategy, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    type(thalweg_which), intent(in) :: which
    integer(int64), intent(inout), target :: array(:, :, :)
    integer, intent(in), optional :: lower(:)
    integer(int64), intent(out), optional :: version
    integer(int32), intent(in), optional :: strategy
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first
    integer(int64) :: strides_bytes(3)

    call int64_3_lies(array, first, strides_bytes)
    call get_strided(variable, which, first, thalweg_int64, shape(array, int64), strides_bytes, lower, version, &
                     strategy, timeout_s, stat, errmsg)
  end subroutine get_int64_3

  subroutine lend_int64_3(variable, version, extent, array, loan, lower, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    integer(int64), intent(in) :: version
    integer, intent(in) :: extent(3)
    integer(int64), pointer, intent(out) :: array(:, :, :)
    type(thalweg_loan), intent(out) :: loan
    integer, intent(in), optional :: lower(:)
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first

    nullify (array)
    call lend(variable, version, int(extent, int64), thalweg_int64, first, loan, lower, timeout_s, stat, errmsg)
    if (c_associated(first)) call c_f_pointer(first, array, extent)
  end subroutine lend_int64_3

  subroutine int64_3_lies(array, first, strides_bytes)
    integer(int64), intent(in), target :: array(:, :, :)
    type(c_ptr), intent(out) :: first
    integer(int64), intent(out) :: strides_bytes(3)

    first = c_null_ptr
    strides_bytes = 0
    if (size(array) == 0) return
    first = c_loc(array(1, 1, 1))
    if (size(array, 1) > 1) &
      strides_bytes(1) = address_of(c_loc(array(2, 1, 1))) - address_of(first)
    if (size(array, 2) > 1) &
      strides_bytes(2) = address_of(c_loc(array(1, 2, 1))) - address_of(first)
    if (size(array, 3) > 1) &
      strides_bytes(3) = address_of(c_loc(array(1, 1, 2))) - address_of(first)
  end subroutine int64_3_lies

  subroutine put_int64_4(variable, version, array, lower, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    integer(int64), intent(in) :: version
    integer(int64), intent(in), target :: array(:, :, :, :)
    integer, intent(in), optional :: lower(:)
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first
    integer(int64) :: strides_bytes(4)

    call int64_4_lies(array, first, strides_bytes)
    call put_strided(variable, version, first, thalweg_int64, shape(array, int64), strides_bytes, lower, .false., &
                     timeout_s, stat, errmsg)
  end subroutine put_int64_4

  subroutine put_local_int64_4(variable, version, array, lower, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    integer(int64), intent(in) :: version
    integer(int64), intent(in), target :: array(:, :, :, :)
    integer, intent(in), optional :: lower(:)
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first
    integer(int64) :: strides_bytes(4)

    call int64_4_lies(array, first, strides_bytes)
    call put_strided(variable, version, first, thalweg_int64, shape(array, int64), strides_bytes, lower, .true., &
                     timeout_s, stat, errmsg)
  end subroutine put_local_int64_4

  subroutine get_int64_4(variable, which, array, lower, version, strategy, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    type(thalweg_which), intent(in) :: which
    integer(int64), intent(inout), target :: array(:, :, :, :)
    integer, intent(in), optional :: lower(:)
    integer(int64), intent(out), optional :: version
    integer(int32), intent(in), optional :: strategy
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first
    integer(int64) :: strides_bytes(4)

    call int64_4_lies(array, first, strides_bytes)
    call get_strided(variable, which, first, thalweg_int64, shape(array, int64), strides_bytes, lower, version, &
                     strategy, timeout_s, stat, errmsg)
  end subroutine get_int64_4

  subroutine lend_int64_4(variable, version, extent, array, loan, lower, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    integer(int64), intent(in) :: version
    integer, intent(in) :: extent(4)
    integer(int64), pointer, intent(out) :: array(:, :, :, :)
    type(thalweg_loan), intent(out) :: loan
    integer, intent(in), optional :: lower(:)
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first

    nullify (array)
    call lend(variable, version, int(extent, int64), thalweg_int64, first, loan, lower, timeout_s, stat, errmsg)
    if (c_associated(first)) call c_f_pointer(first, array, extent)
  end subroutine lend_int64_4

  subroutine int64_4_lies(array, first, strides_bytes)
    integer(int64), intent(in), target :: array(:, :, :, :)
    type(c_ptr), intent(out) :: first
    integer(int64), intent(out) :: strides_bytes(4)

    first = c_null_ptr
    strides_bytes = 0
    if (size(array) == 0) return
    first = c_loc(array(1, 1, 1, 1))
    if (size(array, 1) > 1) &
      strides_bytes(1) = address_of(c_loc(array(2, 1, 1, 1))) - address_of(first)
    if (size(array, 2) > 1) &
      strides_bytes(2) = address_of(c_loc(array(1, 2, 1, 1))) - address_of(first)
    if (size(array, 3) > 1) &
      strides_bytes(3) = address_of(c_loc(array(1, 1, 2, 1))) - address_of(first)
    if (size(array, 4) > 1) &
      strides_bytes(4) = address_of(c_loc(array(1, 1, 1, 2))) - address_of(first)
  end subroutine int64_4_lies

  subroutine put_int64_5(variable, version, array, lower, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    integer(int64), intent(in) :: version
    integer(int64), intent(in), target :: array(:, :, :, :, :)
    integer, intent(in), optional :: lower(:)
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first
    integer(int64) :: strides_bytes(5)

    call int64_5_lies(array, first, strides_bytes)
    call put_strided(variable, version, first, thalweg_int64, shape(array, int64), strides_bytes, lower, .false., &
                     timeout_s, stat, errmsg)
  end subroutine put_int64_5

  subroutine put_local_int64_5(variable, version, array, lower, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    integer(int64), intent(in) :: version
    integer(int64), intent(in), target :: array(:, :, :, :, :)
    integer, intent(in), optional :: lower(:)
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first
    integer(int64) :: strides_bytes(5)

    call int64_5_lies(array, first, strides_bytes)
    call put_strided(variable, version, first, thalweg_int64, shape(array, int64), strides_bytes, lower, .true., &
                     timeout_s, stat, errmsg)
  end subroutine put_local_int64_5

  subroutine get_int64_5(variable, which, array, lower, version, strategy, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    type(thalweg_which), intent(in) :: which
    integer(int64), intent(inout), target :: array(:, :, :, :, :)
    integer, intent(in), optional :: lower(:)
    integer(int64), intent(out), optional :: version
    integer(int32), intent(in), optional :: strategy
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first
    integer(int64) :: strides_bytes(5)

    call int64_5_lies(array, first, strides_bytes)
    call get_strided(variable, which, first, thalweg_int64, shape(array, int64), strides_bytes, lower, version, &
                     strategy, timeout_s, stat, errmsg)
  end subroutine get_int64_5

  subroutine lend_int64_5(variable, version, extent, array, loan, lower, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    integer(int64), intent(in) :: version
    integer, intent(in) :: extent(5)
    integer(int64), pointer, intent(out) :: array(:, :, :, :, :)
    type(thalweg_loan), intent(out) :: loan
    integer, intent(in), optional :: lower(:)
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first

    nullify (array)
    call lend(variable, version, int(extent, int64), thalweg_int64, first, loan, lower, timeout_s, stat, errmsg)
    if (c_associated(first)) call c_f_pointer(first, array, extent)
  end subroutine lend_int64_5

  subroutine int64_5_lies(array, first, strides_bytes)
    integer(int64), intent(in), target :: array(:, :, :, :, :)
    type(c_ptr), intent(out) :: first
    integer(int64), intent(out) :: strides_bytes(5)

    first = c_null_ptr
    strides_bytes = 0
    if (size(array) == 0) return
    first = c_loc(array(1, 1, 1, 1, 1))
    if (size(array, 1) > 1) &
      strides_bytes(1) = address_of(c_loc(array(2, 1, 1, 1, 1))) - address_of(first)
    if (size(array, 2) > 1) &
      strides_bytes(2) = address_of(c_loc(array(1, 2, 1, 1, 1))) - address_of(first)
    if (size(array, 3) > 1) &
      strides_bytes(3) = address_of(c_loc(array(1, 1, 2, 1, 1))) - address_of(first)
    if (size(array, 4) > 1) &
      strides_bytes(4) = address_of(c_loc(array(1, 1, 1, 2, 1))) - address_of(first)
    if (size(array, 5) > 1) &
      strides_bytes(5) = address_of(c_loc(array(1, 1, 1, 1, 2))) - address_of(first)
  end subroutine int64_5_lies

  subroutine put_int64_6(variable, version, array, lower, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    integer(int64), intent(in) :: version
    integer(int64), intent(in), target :: array(:, :, :, :, :, :)
    integer, intent(in), optional :: lower(:)
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first
    integer(int64) :: strides_bytes(6)

    call int64_6_lies(array, first, strides_bytes)
    call put_strided(variable, version, first, thalweg_int64, shape(array, int64), strides_bytes, lower, .false., &
                     timeout_s, stat, errmsg)
  end subroutine put_int64_6

  subroutine put_local_int64_6(variable, version, array, lower, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    integer(int64), intent(in) :: version
    integer(int64), intent(in), target :: array(:, :, :, :, :, :)
    integer, intent(in), optional :: lower(:)
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first
    integer(int64) :: strides_bytes(6)

    call int64_6_lies(array, first, strides_bytes)
    call put_strided(variable, version, first, thalweg_int64, shape(array, int64), strides_bytes, lower, .true., &
                     timeout_s, stat, errmsg)
  end subroutine put_local_int64_6

  subroutine get_int64_6(variable, which, array, lower, version, strategy, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    type(thalweg_which), intent(in) :: which
    integer(int64), intent(inout), target :: array(:, :, :, :, :, :)
    integer, intent(in), optional :: lower(:)
    integer(int64), intent(out), optional :: version
    integer(int32), intent(in), optional :: strategy
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first
    integer(int64) :: strides_bytes(6)

    call int64_6_lies(array, first, strides_bytes)
    call get_strided(variable, which, first, thalweg_int64, shape(array, int64), strides_bytes, lower, version, &
                     strategy, timeout_s, stat, errmsg)
  end subroutine get_int64_6

  subroutine lend_int64_6(variable, version, extent, array, loan, lower, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    integer(int64), intent(in) :: version
    integer, intent(in) :: extent(6)
    integer(int64), pointer, intent(out) :: array(:, :, :, :, :, :)
    type(thalweg_loan), intent(out) :: loan
    integer, intent(in), optional :: lower(:)
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: first

    nullify (array)
    call lend(variable, version, int(extent, int64), thalweg_int64, first, loan, lower, timeout_s, stat, errmsg)
    if (c_associated(first)) call c_f_pointer(first, array, extent)
  end subroutine lend_int64_6

  subroutine int64_6_lies(array, first, strides_bytes)
    integer(int64), intent(in), target :: array(:, :, :, :, :, :)
    type(c_ptr), intent(out) :: first
    integer(int64), intent(out) :: strides_bytes(6)

    first = c_null_ptr
    strides_bytes = 0
    if (size(array) == 0) return
    first = c_loc(array(1, 1, 1, 1, 1, 1))
    if (size(array, 1) > 1) &
      strides_bytes(1) = address_of(c_loc(array(2, 1, 1, 1, 1, 1))) - address_of(first)
    if (size(array, 2) > 1) &
      strides_bytes(2) = address_of(c_loc(array(1, 2, 1, 1, 1, 1))) - address_of(first)
    if (size(array, 3) > 1) &
      strides_bytes(3) = address_of(c_loc(array(1, 1, 2, 1, 1, 1))) - address_of(first)
    if (size(array, 4) > 1) &
      strides_bytes(4) = address_of(c_loc(array(1, 1, 1, 2, 1, 1))) - address_of(first)
    if (size(array, 5) > 1) &
      strides_bytes(5) = address_of(c_loc(array(1, 1, 1, 1, 2, 1))) - address_of(first)
    if (size(array, 6) > 1) &
      strides_bytes(6) = address_of(c_loc(array(1, 1, 1, 1, 1, 2))) - address_of(first)
  end subroutine int64_6_lies
end module thalweg_arrays
