! read90 FILE : what `write` wrote, through PnetCDF's Fortran 90 interface; non-blocking, with a stride.
program read90
  use mpi
  use pnetcdf
  implicit none
  integer :: status, file, rho, height, rank, requests(2), statuses(2)
  integer(kind=MPI_OFFSET_KIND) :: start(3), counts(3), strides(3)
  real :: values(2, 2, 3)
  double precision :: heights(4, 4)
  character(len=200) :: path
  call MPI_Init(status)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, status)
  call get_command_argument(1, path)
  call ok(nf90mpi_open(MPI_COMM_WORLD, trim(path), NF90_NOWRITE, MPI_INFO_NULL, file))
  call ok(nf90mpi_inq_varid(file, 'rho', rho))
  call ok(nf90mpi_inq_varid(file, 'height', height))
  start = [1 + 4 * rank, 1, 1]
  counts = [2, 2, 3]
  strides = [2, 2, 1]
  call ok(nf90mpi_iget_var(file, rho, values, requests(1), start, counts, strides))
  call ok(nf90mpi_iget_var(file, height, heights, requests(2), start(1:2), [4_MPI_OFFSET_KIND, 4_MPI_OFFSET_KIND]))
  call ok(nf90mpi_wait_all(file, 2, requests, statuses))
  print '(a, i2, f12.2, f8.2, 4f6.2)', 'rank', rank, sum(values), sum(heights), heights(:, 1)
  call ok(nf90mpi_close(file))
  call MPI_Finalize(status)
contains
  subroutine ok(status)
    integer, intent(in) :: status
    integer :: ignored
    if (status == NF90_NOERR) return
    print *, nf90mpi_strerror(status)
    call MPI_Abort(MPI_COMM_WORLD, 1, ignored)
  end subroutine
end program
