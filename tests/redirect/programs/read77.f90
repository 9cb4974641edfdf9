! read77 FILE : what `write` wrote, through PnetCDF's Fortran 77 interface; each rank its part of x.
program read77
  implicit none
  include 'mpif.h'
  include 'pnetcdf.inc'
  integer :: status, file, rho, mask, rank, flags(4, 4)
  integer(kind=MPI_OFFSET_KIND) :: start(3), counts(3), records
  real :: values(4, 4, 3)
  character(len=200) :: path
  call MPI_Init(status)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, status)
  call get_command_argument(1, path)
  call ok(nfmpi_open(MPI_COMM_WORLD, trim(path), NF_NOWRITE, MPI_INFO_NULL, file))
  call ok(nfmpi_inq_dimlen(file, 1, records))
  call ok(nfmpi_inq_varid(file, 'rho', rho))
  call ok(nfmpi_inq_varid(file, 'mask', mask))
  start = [1 + 4 * rank, 1, 1]
  counts = [4, 4, 3]
  call ok(nfmpi_get_vara_real_all(file, rho, start, counts, values))
  call ok(nfmpi_get_vara_int_all(file, mask, start, counts, flags))
  print '(a, i2, i3, f12.2, i8)', 'rank', rank, records, sum(values), sum(flags)
  call ok(nfmpi_close(file))
  call MPI_Finalize(status)
contains
  subroutine ok(status)
    integer, intent(in) :: status
    integer :: ignored
    if (status == NF_NOERR) return
    print *, nfmpi_strerror(status)
    call MPI_Abort(MPI_COMM_WORLD, 1, ignored)
  end subroutine
end program
