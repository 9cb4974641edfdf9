! explicit_read FILE : reads it while its writer, the other process of the world, has it open.
include "thalweg_redirect.f90"
program explicit_read
   use mpi
   use pnetcdf
   use thalweg_redirect
   implicit none
   integer :: error, file
   real(8) :: values(4)
   character(len=200) :: path
   call MPI_Init(error)
   call get_command_argument(1, path)
   call thalweg_redirect_init("analysis", error)
   if (error /= 0) stop 3
   error = nf90mpi_open(MPI_COMM_SELF, trim(path), NF90_NOWRITE, MPI_INFO_NULL, file)
   if (error /= NF90_NOERR) stop 4
   error = nf90mpi_get_var_all(file, 1, values)
   print '(a, 4f4.1)', "read", values
   call thalweg_redirect_transfer(path, error)
   if (error /= 0) stop 5
   error = nf90mpi_close(file)
   call MPI_Barrier(MPI_COMM_WORLD, error)
   call thalweg_redirect_finalize(error)
   if (error /= 0) stop 6
   call MPI_Finalize(error)
end program
