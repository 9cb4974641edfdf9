!> Regions and strides: put, get and lend of cells that lie anywhere.
module thalweg_transfer
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int32, int64, real64
  use thalweg_c
  use thalweg_errors
  implicit none
  private

  public :: put_strided, get_strided, lend, region_of, out_of_bounds, shown, address_of

contains

  !> Puts the array at `first`, of `extent` cells that lie `strides_bytes` apart.
  subroutine put_strided(variable, version, first, dtype, extent, strides_bytes, lower, kept_here, timeout_s, stat, &
                         errmsg)
    type(thalweg_variable), intent(in) :: variable
    integer(int64), intent(in) :: version
    type(c_ptr), intent(in) :: first
    integer(int32), intent(in) :: dtype
    integer(int64), intent(in) :: extent(:), strides_bytes(:)
    integer, intent(in), optional :: lower(:)
    logical, intent(in) :: kept_here
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int) :: status
    character(:), allocatable :: call_name

    call_name = 'thalweg_put'
    if (kept_here) call_name = 'thalweg_put_local'
    if (out_of_bounds(call_name, extent, lower, stat, errmsg)) return
    if (kept_here) then
      status = c_put_local(variable%handle, version, region_of(extent, lower), first, dtype, layout_of(strides_bytes), &
                           seconds(timeout_s))
    else
      status = c_put(variable%handle, version, region_of(extent, lower), first, dtype, layout_of(strides_bytes), &
                     seconds(timeout_s))
    end if
    call conclude(status, stat, errmsg)
  end subroutine put_strided

  !> Gets into the array at `first`, of `extent` cells that lie `strides_bytes` apart.
  subroutine get_strided(variable, which, first, dtype, extent, strides_bytes, lower, version, strategy, timeout_s, &
                         stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    type(thalweg_which), intent(in) :: which
    type(c_ptr), intent(in) :: first
    integer(int32), intent(in) :: dtype
    integer(int64), intent(in) :: extent(:), strides_bytes(:)
    integer, intent(in), optional :: lower(:)
    integer(int64), intent(out), optional :: version
    integer(int32), intent(in), optional :: strategy
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int64_t) :: found
    integer(c_int32_t) :: where_to
    integer(c_int) :: status

    if (out_of_bounds('thalweg_get', extent, lower, stat, errmsg)) return
    where_to = thalweg_strategy_default
    if (present(strategy)) where_to = strategy
    found = 0
    status = c_get_into(variable%handle, which, region_of(extent, lower), first, dtype, layout_of(strides_bytes), &
                        where_to, seconds(timeout_s), found)
    if (present(version)) version = found
    call conclude(status, stat, errmsg)
  end subroutine get_strided

  !> Memory of the service for `extent` cells, column-major; `first` is null when there was none.
  subroutine lend(variable, version, extent, dtype, first, loan, lower, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    integer(int64), intent(in) :: version
    integer(int64), intent(in) :: extent(:)
    integer(int32), intent(in) :: dtype
    type(c_ptr), intent(out) :: first
    type(thalweg_loan), intent(out) :: loan
    integer, intent(in), optional :: lower(:)
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(definition_t) :: definition
    type(layout_t) :: layout
    integer(c_int) :: status

    first = c_null_ptr
    if (out_of_bounds('thalweg_lend', extent, lower, stat, errmsg)) return
    definition = no_definition()
    status = c_describe(variable%handle, definition)
    if (status == thalweg_ok .and. definition%dtype /= dtype) then
      call refuse(thalweg_dtype, 'thalweg_lend: the variable holds cells of another type', stat, errmsg)
      return
    end if
    layout = layout_of(extent)
    layout%order = column_major
    if (status == thalweg_ok) &
      status = c_loan_take(variable%handle, version, region_of(extent, lower), layout, seconds(timeout_s), loan%handle, &
                           first, c_null_ptr)
    if (status /= thalweg_ok) first = c_null_ptr
    call conclude(status, stat, errmsg)
  end subroutine lend

  !> An address as a number, of which strides are differences.
  function address_of(place) result(number)
    type(c_ptr), intent(in) :: place
    integer(int64) :: number
    number = transfer(place, 0_c_intptr_t)
  end function address_of

  !> The region that begins at `lower`; both have passed `out_of_bounds`.
  function region_of(extent, lower) result(region)
    integer(int64), intent(in) :: extent(:)
    integer, intent(in), optional :: lower(:)
    type(region_t) :: region

    region%dims = size(extent)
    region%lower = 0
    region%extent = 0
    region%extent(:size(extent)) = extent
    if (present(lower)) region%lower(:size(lower)) = lower - 1
  end function region_of

  !> Whether the caller's bounds are none: what C, which counts from 0 and knows no signs, would show as other numbers.
  logical function out_of_bounds(call_name, extent, lower, stat, errmsg)
    character(*), intent(in) :: call_name
    integer(int64), intent(in) :: extent(:)
    integer, intent(in), optional :: lower(:)
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    character(:), allocatable :: wrong

    wrong = ''
    if (size(extent) > max_dims) then
      wrong = 'size(extent) = '//shown(size(extent, kind=int64))//'; accepted are at most '// &
              shown(int(max_dims, int64))//' axes'
    else if (any(extent < 0)) then
      wrong = 'an extent of '//shown(minval(extent))//'; accepted are numbers of cells'
    else if (present(lower)) then
      if (size(lower) /= size(extent)) then
        wrong = 'size(lower) = '//shown(size(lower, kind=int64))//'; accepted is '// &
                shown(size(extent, kind=int64))//', a bound for each axis'
      else if (any(lower < 1)) then
        wrong = 'a lower bound of '//shown(int(minval(lower), int64))//'; bounds count from 1'
      end if
    end if
    out_of_bounds = len(wrong) > 0
    if (out_of_bounds) call refuse(thalweg_shape, call_name//': '//wrong, stat, errmsg)
  end function out_of_bounds

  !> A number as messages have it.
  function shown(number) result(text)
    integer(int64), intent(in) :: number
    character(:), allocatable :: text
    character(20) :: digits

    write (digits, '(i0)') number
    text = trim(digits)
  end function shown

  function layout_of(strides_bytes) result(layout)
    integer(int64), intent(in) :: strides_bytes(:)
    type(layout_t) :: layout

    layout%order = strided
    layout%records = 0
    layout%axes = 0
    layout%strides_bytes = 0
    layout%strides_bytes(:size(strides_bytes)) = strides_bytes
  end function layout_of

end module thalweg_transfer
