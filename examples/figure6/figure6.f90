! The paper's figure 6 in Fortran: `figure6_fortran put` puts an array, `figure6_fortran get` gets it. Fortran's arrays
! are column-major, whoever put what they get.
program figure6
  use, intrinsic :: iso_fortran_env, only: error_unit, int64, real64
  use thalweg
  implicit none
  integer, parameter :: n0 = 4, n1 = 6
  character(16) :: what, text
  integer(int64) :: version

  call get_command_argument(1, what)
  call get_command_argument(2, text)
  version = 0
  if (text /= '') read (text, *) version
  select case (what)
  case ('put')
    call put(version)
  case ('get')
    call get(version)
  case default
    write (error_unit, '(a)') 'usage: figure6_fortran put|get [VERSION]'
    stop 2
  end select

contains

  !> What the cell with these indices, counted from 1, holds.
  pure real(real64) function cell(i, j)
    integer, intent(in) :: i, j
    cell = 100.0_real64*(i - 1) + (j - 1)
  end function cell

  subroutine put(version)
    integer(int64), intent(in) :: version
    type(thalweg_client) :: client
    type(thalweg_variable) :: variable
    real(real64) :: u(n0, n1)
    integer :: i, j

    do j = 1, n1
      do i = 1, n0
        u(i, j) = cell(i, j)
      end do
    end do
    call thalweg_connect(client)
    call thalweg_define(client, variable, 'figure6', thalweg_real64, shape(u))
    call thalweg_put(variable, version, u)
    call thalweg_close(variable)
    call thalweg_disconnect(client)
  end subroutine put

  subroutine get(version)
    integer(int64), intent(in) :: version
    type(thalweg_client) :: client
    type(thalweg_variable) :: variable
    real(real64) :: u(n0, n1)
    integer :: i, j, wrong

    call thalweg_connect(client)
    call thalweg_open(client, variable, 'figure6')
    call thalweg_get(variable, thalweg_exactly(version), u)
    call thalweg_close(variable)
    call thalweg_disconnect(client)
    wrong = 0
    do j = 1, n1
      do i = 1, n0
        if (u(i, j) /= cell(i, j)) wrong = wrong + 1
      end do
    end do
    write (*, '(i0, a, i0, a)') wrong, ' of ', n0*n1, ' cells are wrong'
    if (wrong > 0) stop 1
  end subroutine get
end program figure6
