! read_nc FILE : what `write_nc` wrote, through netCDF-Fortran.
program read_nc
  use netcdf
  implicit none
  integer :: file, rho, mask, time, length
  double precision :: values(500, 3)
  integer :: flags(1000)
  character(len=200) :: path, units, title
  call get_command_argument(1, path)
  call ok(nf90_open(trim(path), NF90_NOWRITE, file))
  call ok(nf90_inq_varid(file, 'rho', rho))
  call ok(nf90_inq_varid(file, 'mask', mask))
  call ok(nf90_inq_dimid(file, 'time', time))
  call ok(nf90_inquire_dimension(file, time, len=length))
  call ok(nf90_get_var(file, rho, values, stride=[2, 1]))
  call ok(nf90_get_var(file, mask, flags))
  units = ''
  title = ''
  call ok(nf90_get_att(file, rho, 'units', units))
  call ok(nf90_get_att(file, NF90_GLOBAL, 'title', title))
  print '(i0, 2(1x, f0.1), 1x, i0, 2(1x, a))', length, sum(values), values(500, 3), sum(flags), trim(units), trim(title)
  call ok(nf90_close(file))
contains
  subroutine ok(status)
    integer, intent(in) :: status
    if (status == NF90_NOERR) return
    print *, trim(nf90_strerror(status))
    stop 1
  end subroutine
end program
