! The Fortran face: every type and rank, sections, bounds, and errors as stat= and errmsg=.
program fortran_face
  use, intrinsic :: iso_fortran_env, only: error_unit, int32, int64, real32, real64
  use thalweg
  implicit none
  real(real64), parameter :: soon_s = 0.05_real64
  type(thalweg_server) :: server
  type(thalweg_client) :: client
  integer :: failures = 0

  call thalweg_server_start(server, memory_limit_bytes=16777216_int64)
  call thalweg_connect(client, addresses=thalweg_server_address(server), namespace='fortran')
  call types()
  call ranks()
  call sections()
  call bounds()
  call loans()
  call what_is_there()
  call refusals()
  call definitions_refused()
  call thalweg_disconnect(client)
  call thalweg_server_stop(server)
  if (failures > 0) stop 1

contains

  subroutine expect(holds, what)
    logical, intent(in) :: holds
    character(*), intent(in) :: what

    if (holds) return
    failures = failures + 1
    write (error_unit, '(2a)') 'does not hold: ', what
  end subroutine expect

  subroutine refused(stat, wanted, errmsg, words)
    integer, intent(in) :: stat, wanted
    character(*), intent(in) :: errmsg, words

    if (stat == wanted .and. index(errmsg, words) > 0) return
    failures = failures + 1
    write (error_unit, '(7a)') 'came to ', thalweg_status_name(stat), ' "', trim(errmsg), '" instead of "', words, '"'
  end subroutine refused

  subroutine types()
    type(thalweg_variable) :: variable
    real(real32) :: a(2, 3), b(2, 3)
    integer(int32) :: c(2, 3), d(2, 3)
    integer(int64) :: e(2, 3), f(2, 3)

    a = reshape([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [2, 3])
    c = int(a)
    e = int(a, int64)*10000000000_int64
    call thalweg_define(client, variable, 'real32', thalweg_real32, [2, 3])
    call thalweg_put(variable, 0_int64, a)
    call thalweg_get(variable, thalweg_exactly(0_int64), b)
    call expect(all(a == b), 'real32')
    call thalweg_close(variable)
    call thalweg_define(client, variable, 'int32', thalweg_int32, [2, 3])
    call thalweg_put(variable, 0_int64, c)
    call thalweg_get(variable, thalweg_exactly(0_int64), d)
    call expect(all(c == d), 'int32')
    call thalweg_close(variable)
    call thalweg_define(client, variable, 'int64', thalweg_int64, [2, 3])
    call thalweg_put_local(variable, 0_int64, e)
    call thalweg_get(variable, thalweg_exactly(0_int64), f)
    call expect(all(e == f), 'int64')
    call thalweg_close(variable)
  end subroutine types

  subroutine ranks()
    type(thalweg_variable) :: variable
    real(real64) :: a1(720), a3(8, 9, 10), a4(2, 4, 9, 10), a5(2, 4, 3, 3, 10), a6(2, 4, 3, 3, 2, 5)
    real(real64) :: b1(720), b3(8, 9, 10), b4(2, 4, 9, 10), b5(2, 4, 3, 3, 10), b6(2, 4, 3, 3, 2, 5)
    integer :: i

    a1 = [(real(i, real64), i=1, 720)]
    a3 = reshape(a1, shape(a3))
    a4 = reshape(a1, shape(a4))
    a5 = reshape(a1, shape(a5))
    a6 = reshape(a1, shape(a6))
    call thalweg_define(client, variable, 'rank 1', thalweg_real64, shape(a1))
    call thalweg_put(variable, 0_int64, a1)
    call thalweg_get(variable, thalweg_latest(), b1)
    call expect(all(a1 == b1), 'rank 1')
    call thalweg_close(variable)
    call thalweg_define(client, variable, 'rank 3', thalweg_real64, shape(a3))
    call thalweg_put(variable, 0_int64, a3)
    call thalweg_get(variable, thalweg_latest(), b3)
    call expect(all(a3 == b3), 'rank 3')
    call thalweg_close(variable)
    call thalweg_define(client, variable, 'rank 4', thalweg_real64, shape(a4))
    call thalweg_put(variable, 0_int64, a4)
    call thalweg_get(variable, thalweg_latest(), b4)
    call expect(all(a4 == b4), 'rank 4')
    call thalweg_close(variable)
    call thalweg_define(client, variable, 'rank 5', thalweg_real64, shape(a5))
    call thalweg_put(variable, 0_int64, a5)
    call thalweg_get(variable, thalweg_latest(), b5)
    call expect(all(a5 == b5), 'rank 5')
    call thalweg_close(variable)
    call thalweg_define(client, variable, 'rank 6', thalweg_real64, shape(a6))
    call thalweg_put(variable, 0_int64, a6)
    call thalweg_get(variable, thalweg_latest(), b6)
    call expect(all(a6 == b6), 'rank 6')
    call thalweg_close(variable)
  end subroutine ranks

  !> Sections that do not lie together are put and got where they are.
  subroutine sections()
    type(thalweg_variable) :: variable
    real(real64) :: a(8, 6), b(10, 6)
    integer :: i

    a = reshape([(real(i, real64), i=1, 48)], shape(a))
    b = -1
    call thalweg_define(client, variable, 'sections', thalweg_real64, [4, 3])
    call thalweg_put(variable, 1_int64, a(1::2, 6:1:-2))
    call thalweg_get(variable, thalweg_exactly(1_int64), b(2:5, 4:6))
    call expect(all(b(2:5, 4:6) == a(1::2, 6:1:-2)), 'the section')
    call expect(count(b == -1) == 48, 'what is beside the section stays')
    call thalweg_close(variable)
  end subroutine sections

  !> Bounds count from 1; the array's shape says how far the region goes.
  subroutine bounds()
    type(thalweg_variable) :: variable
    integer(int32) :: top(2, 5), bottom(3, 5), middle(2, 2)
    integer(int64) :: version
    integer :: i, j

    do j = 1, 5
      do i = 1, 2
        top(i, j) = 10*i + j
      end do
      do i = 1, 3
        bottom(i, j) = 10*(i + 2) + j
      end do
    end do
    call thalweg_define(client, variable, 'bounds', thalweg_int32, [5, 5], strategy=thalweg_rasar, keep_last=2)
    call thalweg_put(variable, 3_int64, top)
    call thalweg_put(variable, 3_int64, bottom, lower=[3, 1])
    call thalweg_get(variable, thalweg_after(2_int64), middle, lower=[2, 4], version=version)
    call expect(version == 3, 'the version that was got')
    call expect(all(middle == reshape([24, 34, 25, 35], [2, 2])), 'a region over two pieces')
    call thalweg_close(variable)
  end subroutine bounds

  !> Arrays made in the service's own memory.
  subroutine loans()
    type(thalweg_variable) :: variable
    type(thalweg_loan) :: loan
    real(real64), pointer :: lent(:, :)
    real(real32), pointer :: single(:, :)
    real(real64) :: got(4, 3)
    integer :: i, j, stat
    character(200) :: errmsg

    call thalweg_define(client, variable, 'lent', thalweg_real64, [4, 3])
    call thalweg_lend(variable, 0_int64, [3, 3], lent, loan, lower=[2, 1])
    do j = 1, 3
      do i = 1, 3
        lent(i, j) = 10*(i + 1) + j
      end do
    end do
    call thalweg_loan_commit(loan)
    call thalweg_lend(variable, 0_int64, [1, 3], lent, loan)
    lent(1, :) = [11, 12, 13]
    call thalweg_loan_commit(loan)
    call thalweg_get(variable, thalweg_latest(), got)
    call expect(all(got(:, 2) == [12, 22, 32, 42]), 'what was filled in place')
    call thalweg_loan_commit(loan, stat=stat, errmsg=errmsg)
    call refused(stat, thalweg_invalid, errmsg, 'loan is NULL')
    call thalweg_lend(variable, 1_int64, [4, 3], single, loan, stat=stat, errmsg=errmsg)
    call refused(stat, thalweg_dtype, errmsg, 'cells of another type')
    call expect(.not. associated(single), 'no array without a loan')
    call thalweg_lend(variable, 1_int64, [5, 3], lent, loan, stat=stat, errmsg=errmsg)
    call refused(stat, thalweg_shape, errmsg, '"lent"')
    call thalweg_lend(variable, 1_int64, [4, 3], lent, loan)
    call thalweg_loan_discard(loan)
    call thalweg_get(variable, thalweg_exactly(1_int64), got, timeout_s=soon_s, stat=stat, errmsg=errmsg)
    call refused(stat, thalweg_timeout, errmsg, '"lent"')
    call thalweg_close(variable)
  end subroutine loans

  subroutine what_is_there()
    type(thalweg_variable) :: variable
    type(thalweg_version_state), allocatable :: states(:)
    type(thalweg_summary) :: summary
    character(:), allocatable :: names(:), units
    integer(int64) :: step
    logical :: existed

    call thalweg_define(client, variable, 'there', thalweg_real64, [4], writers=1)
    do step = 1, 20
      call thalweg_put(variable, step, real([1, 2, 3, 4], real64)*step)
    end do
    call thalweg_seal(variable, 1_int64, writer=1)
    call thalweg_versions(variable, states)
    call expect(size(states) == 20, 'twenty versions')
    call expect(states(1)%complete == 1 .and. states(2)%complete == 0, 'one of them sealed')
    call thalweg_reduce(variable, thalweg_exactly(1_int64), [2], [3], summary)
    call expect(summary%count == 3 .and. summary%least == 2 .and. summary%total == 9, 'a reduction')
    call thalweg_set_attribute(variable, 'units', repeat('m', 100))
    call thalweg_attribute(variable, 'units', units)
    call expect(units == repeat('m', 100), 'an attribute')
    call thalweg_variables(client, names)
    call expect(any(names == 'there') .and. any(names == 'bounds'), 'the names of variables')
    call thalweg_release(variable, 1_int64, existed)
    call expect(existed, 'a released version')
    call expect(all(thalweg_domain(variable) == [4]), 'the domain')
    call expect(thalweg_element_type(variable) == thalweg_real64, 'the type')
    call thalweg_close(variable)
  end subroutine what_is_there

  subroutine refusals()
    type(thalweg_variable) :: variable
    type(thalweg_client) :: nobody
    real(real64) :: a(2, 2)
    real(real32) :: single(2, 2)
    integer :: stat
    character(200) :: errmsg

    a = 0
    single = 0
    call thalweg_define(client, variable, 'refused', thalweg_real64, [2, 2], stat=stat, errmsg=errmsg)
    call expect(stat == thalweg_ok, 'stat without an error')
    call thalweg_put(variable, 0_int64, a, lower=[2, 1], stat=stat, errmsg=errmsg)
    call refused(stat, thalweg_shape, errmsg, '"refused"')
    call thalweg_put(variable, 0_int64, a, lower=[0, 1], stat=stat, errmsg=errmsg)
    call refused(stat, thalweg_shape, errmsg, 'thalweg_put: a lower bound of 0; bounds count from 1')
    call thalweg_put(variable, -1_int64, a, stat=stat, errmsg=errmsg)
    call refused(stat, thalweg_invalid, errmsg, 'as a signed number -1; accepted are 0 to 2^63 - 1')
    call thalweg_get(variable, thalweg_exactly(-1_int64), a, stat=stat, errmsg=errmsg)
    call refused(stat, thalweg_invalid, errmsg, 'as a signed number -1; accepted are 0 to 2^63 - 1')
    call bounds_refused(variable)
    call thalweg_put(variable, 0_int64, a(1:0, :), stat=stat, errmsg=errmsg)
    call refused(stat, thalweg_shape, errmsg, 'region')
    call thalweg_put(variable, 0_int64, single, stat=stat, errmsg=errmsg)
    call refused(stat, thalweg_dtype, errmsg, '"refused" holds float64, the given array float32')
    call thalweg_get(variable, thalweg_exactly(7_int64), a, timeout_s=soon_s, stat=stat, errmsg=errmsg)
    call refused(stat, thalweg_timeout, errmsg, '"refused"')
    call thalweg_close(variable)
    call thalweg_put(variable, 0_int64, a, stat=stat, errmsg=errmsg)
    call refused(stat, thalweg_invalid, errmsg, 'variable is NULL')
    call thalweg_open(client, variable, 'nobody defines it', timeout_s=soon_s, stat=stat, errmsg=errmsg)
    call refused(stat, thalweg_timeout, errmsg, 'nobody defines it')
    call thalweg_connect(nobody, addresses='unix:@thalweg-nobody-serves-here', timeout_s=soon_s, stat=stat, &
                         errmsg=errmsg)
    call refused(stat, thalweg_gone, errmsg, '@thalweg-nobody-serves-here')
  end subroutine refusals

  !> Bounds for too few or too many axes, and numbers that are none of cells.
  subroutine bounds_refused(variable)
    type(thalweg_variable), intent(in) :: variable
    type(thalweg_loan) :: loan
    type(thalweg_summary) :: summary
    real(real64), pointer :: lent(:, :)
    real(real64) :: a(2, 2)
    integer :: stat
    character(200) :: errmsg

    a = 0
    call thalweg_put(variable, 0_int64, a, lower=[1], stat=stat, errmsg=errmsg)
    call refused(stat, thalweg_shape, errmsg, 'thalweg_put: size(lower) = 1; accepted is 2, a bound for each axis')
    call thalweg_put(variable, 0_int64, a, lower=[1, 1, 1], stat=stat, errmsg=errmsg)
    call refused(stat, thalweg_shape, errmsg, 'thalweg_put: size(lower) = 3; accepted is 2')
    call thalweg_put_local(variable, 0_int64, a, lower=[1], stat=stat, errmsg=errmsg)
    call refused(stat, thalweg_shape, errmsg, 'thalweg_put_local: size(lower) = 1; accepted is 2')
    call thalweg_get(variable, thalweg_latest(), a, lower=[1], stat=stat, errmsg=errmsg)
    call refused(stat, thalweg_shape, errmsg, 'thalweg_get: size(lower) = 1; accepted is 2')
    call thalweg_lend(variable, 0_int64, [2, 2], lent, loan, lower=[1], stat=stat, errmsg=errmsg)
    call refused(stat, thalweg_shape, errmsg, 'thalweg_lend: size(lower) = 1; accepted is 2')
    call thalweg_lend(variable, 0_int64, [2, -2], lent, loan, stat=stat, errmsg=errmsg)
    call refused(stat, thalweg_shape, errmsg, 'thalweg_lend: an extent of -2; accepted are numbers of cells')
    call thalweg_reduce(variable, thalweg_latest(), [1], [2, 2], summary, stat=stat, errmsg=errmsg)
    call refused(stat, thalweg_shape, errmsg, 'thalweg_reduce: size(lower) = 1; accepted is 2')
    call thalweg_reduce(variable, thalweg_latest(), [0, 1], [2, 2], summary, stat=stat, errmsg=errmsg)
    call refused(stat, thalweg_shape, errmsg, 'thalweg_reduce: a lower bound of 0; bounds count from 1')
    call thalweg_reduce(variable, thalweg_latest(), [1, 1], [-1, 2], summary, stat=stat, errmsg=errmsg)
    call refused(stat, thalweg_shape, errmsg, 'thalweg_reduce: an extent of -1')
    call thalweg_reduce(variable, thalweg_latest(), [1, 1], spread(1, 1, 40), summary, stat=stat, errmsg=errmsg)
    call refused(stat, thalweg_shape, errmsg, 'thalweg_reduce: size(extent) = 40; accepted are at most 8 axes')
  end subroutine bounds_refused

  !> Options of a definition, and writers, that C could not show as they were given.
  subroutine definitions_refused()
    type(thalweg_variable) :: variable
    integer :: stat
    character(200) :: errmsg

    call thalweg_define(client, variable, 'none', thalweg_real64, [6, -4], stat=stat, errmsg=errmsg)
    call refused(stat, thalweg_shape, errmsg, 'thalweg_define: -4 cells along an axis of the domain; accepted')
    call thalweg_define(client, variable, 'none', real64, [6, 4], stat=stat, errmsg=errmsg)
    call refused(stat, thalweg_dtype, errmsg, 'dtype 0x8 is no element type; give THALWEG_FLOAT64')
    call thalweg_define(client, variable, 'none', thalweg_real64, [6, 4], writers=-1, stat=stat, errmsg=errmsg)
    call refused(stat, thalweg_invalid, errmsg, 'thalweg_define: writers = -1; accepted are 0 and more')
    call thalweg_define(client, variable, 'none', thalweg_real64, [6, 4], keep_last=-1, stat=stat, errmsg=errmsg)
    call refused(stat, thalweg_invalid, errmsg, 'thalweg_define: keep_last = -1; accepted are 0 and more')
    call thalweg_define(client, variable, 'two writers', thalweg_real64, [6, 4], writers=2, keep_last=0)
    call thalweg_seal(variable, 0_int64, writer=0, stat=stat, errmsg=errmsg)
    call refused(stat, thalweg_invalid, errmsg, 'thalweg_seal: writer 0; accepted are 1 to 2')
    call thalweg_seal(variable, 0_int64, writer=-1, stat=stat, errmsg=errmsg)
    call refused(stat, thalweg_invalid, errmsg, 'thalweg_seal: writer -1; accepted are 1 to 2')
    call thalweg_seal(variable, 0_int64, writer=3, stat=stat, errmsg=errmsg)
    call refused(stat, thalweg_invalid, errmsg, 'thalweg_seal: writer 3; accepted are 1 to 2')
    call thalweg_seal(variable, -1_int64, writer=2, stat=stat, errmsg=errmsg)
    call refused(stat, thalweg_invalid, errmsg, 'as a signed number -1')
    call thalweg_close(variable)
    call thalweg_seal(variable, 0_int64, stat=stat, errmsg=errmsg)
    call refused(stat, thalweg_invalid, errmsg, 'variable is NULL')
  end subroutine definitions_refused
end program fortran_face
