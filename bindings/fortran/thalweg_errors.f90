!> Statuses, and errors as stat= and errmsg=; texts and time-outs for C.
module thalweg_errors
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: error_unit, real64
  use thalweg_c
  implicit none
  private

  public :: thalweg_status_name, conclude, refuse, seconds, c_text, f_text

  !> As in thalweg.h.
  integer, parameter, public :: thalweg_ok = 0, thalweg_not_found = 1, thalweg_exists = 2, thalweg_invalid = 3
  integer, parameter, public :: thalweg_shape = 4, thalweg_dtype = 5, thalweg_full = 6, thalweg_timeout = 7
  integer, parameter, public :: thalweg_gone = 8, thalweg_access = 9, thalweg_protocol = 10, thalweg_io = 11
  integer, parameter, public :: thalweg_interrupted = 12, thalweg_corrupt = 13, thalweg_internal = 99

  !> How long calls wait that are not told, in seconds.
  real(real64), parameter :: patiently_s = 60.0_real64

contains

  !> The name of a status, such as THALWEG_TIMEOUT.
  function thalweg_status_name(status) result(name)
    integer, intent(in) :: status
    character(:), allocatable :: name
    name = f_text(c_status_name(int(status, c_int32_t)))
  end function thalweg_status_name

  pure function seconds(timeout_s) result(s)
    real(real64), intent(in), optional :: timeout_s
    real(c_double) :: s

    s = patiently_s
    if (present(timeout_s)) s = timeout_s
  end function seconds

  !> As the language does it: stat takes the error, else it ends the program.
  subroutine conclude(status, stat, errmsg)
    integer(c_int), intent(in) :: status
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg

    if (present(stat)) stat = status
    if (status /= thalweg_ok) call refuse(status, f_text(c_last_error()), stat, errmsg)
  end subroutine conclude

  subroutine refuse(status, message, stat, errmsg)
    integer(c_int), intent(in) :: status
    character(*), intent(in) :: message
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg

    if (present(errmsg)) errmsg = message
    if (present(stat)) then
      stat = status
      return
    end if
    write (error_unit, '(a)') message
    error stop 1
  end subroutine refuse

  !> A text for C; trailing blanks are no part of it.
  pure function c_text(text) result(chars)
    character(*), intent(in) :: text
    character(kind=c_char) :: chars(len_trim(text) + 1)
    integer :: i

    do i = 1, len_trim(text)
      chars(i) = text(i:i)
    end do
    chars(len_trim(text) + 1) = c_null_char
  end function c_text

  function f_text(text) result(copy)
    type(c_ptr), intent(in) :: text
    character(:), allocatable :: copy
    character(kind=c_char), pointer :: chars(:)
    integer :: i

    copy = ''
    if (.not. c_associated(text)) return
    call c_f_pointer(text, chars, [c_strlen(text)])
    deallocate (copy)
    allocate (character(size(chars)) :: copy)
    do i = 1, size(chars)
      copy(i:i) = chars(i)
    end do
  end function f_text
end module thalweg_errors
