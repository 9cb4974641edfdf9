! For programs that run under `thalweg redirect`, as in thalweg_redirect.h; without it these calls do nothing. `error` is 0 when
! all went well.
module thalweg_redirect
   use, intrinsic :: iso_c_binding
   implicit none
   private
   public :: thalweg_redirect_init, thalweg_redirect_transfer, thalweg_redirect_finalize

   abstract interface
      integer(c_int) function with_text(text) bind(c)
         import :: c_int, c_char
         character(kind=c_char), intent(in) :: text(*)
      end function
      integer(c_int) function with_nothing() bind(c)
         import :: c_int
      end function
   end interface

   interface
      type(c_funptr) function dlsym(handle, name) bind(c)
         import :: c_funptr, c_ptr, c_char
         type(c_ptr), value :: handle
         character(kind=c_char), intent(in) :: name(*)
      end function
   end interface

contains

   ! This process is one of `component`, whatever its program is called. Before it opens its first file.
   subroutine thalweg_redirect_init(component, error)
      character(len=*), intent(in) :: component
      integer, intent(out) :: error
      error = call_with("thalweg_redirect_init_", component)
   end subroutine

   ! Hands a file over that stays open; it is not written any more.
   subroutine thalweg_redirect_transfer(path, error)
      character(len=*), intent(in) :: path
      integer, intent(out) :: error
      error = call_with("thalweg_redirect_transfer_", path)
   end subroutine

   ! Hands all over that are open.
   subroutine thalweg_redirect_finalize(error)
      integer, intent(out) :: error
      procedure(with_nothing), pointer :: found
      type(c_funptr) :: at
      error = 0
      at = dlsym(c_null_ptr, "thalweg_redirect_finalize_" // c_null_char)
      if (.not. c_associated(at)) return
      call c_f_procpointer(at, found)
      error = found()
   end subroutine

   integer function call_with(name, text) result(error)
      character(len=*), intent(in) :: name, text
      procedure(with_text), pointer :: found
      type(c_funptr) :: at
      error = 0
      at = dlsym(c_null_ptr, name // c_null_char)
      if (.not. c_associated(at)) return
      call c_f_procpointer(at, found)
      error = found(trim(text) // c_null_char)
   end function
end module
