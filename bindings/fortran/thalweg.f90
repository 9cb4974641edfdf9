!> The Fortran 2008 face of Thalweg: staged arrays between processes, in the layout that each one needs.
!!
!! Errors come as in the language's own statements: stat= takes a status (0: none), errmsg= the message; without stat an
!! error ends the program. Names and statuses are those of thalweg.h, regions count from 1.
module thalweg
  use thalweg_c, only: thalweg_server, thalweg_client, thalweg_variable, thalweg_loan, thalweg_which, &
                       thalweg_version_state, thalweg_summary, thalweg_int32, thalweg_int64, thalweg_real32, &
                       thalweg_real64, thalweg_strategy_default, thalweg_rad, thalweg_rasar, thalweg_rasia, thalweg_sahr
  use thalweg_errors, only: thalweg_ok, thalweg_not_found, thalweg_exists, thalweg_invalid, thalweg_shape, &
                            thalweg_dtype, thalweg_full, thalweg_timeout, thalweg_gone, thalweg_access, &
                            thalweg_protocol, thalweg_io, thalweg_interrupted, thalweg_corrupt, &
                            thalweg_internal, thalweg_status_name
  use thalweg_core, only: thalweg_server_start, thalweg_server_address, thalweg_server_stop, thalweg_block, &
                          thalweg_fail, thalweg_drop_oldest, thalweg_connect, thalweg_disconnect, thalweg_define, &
                          thalweg_open, thalweg_close, thalweg_domain, thalweg_element_type, thalweg_seal, &
                          thalweg_release, thalweg_loan_commit, thalweg_loan_discard, thalweg_versions, &
                          thalweg_reduce, thalweg_set_attribute, thalweg_attribute, thalweg_variables, &
                          thalweg_exactly, thalweg_latest, thalweg_after
  use thalweg_arrays, only: thalweg_put, thalweg_put_local, thalweg_get, thalweg_lend
  implicit none
  public
end module thalweg
