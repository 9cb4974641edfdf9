!> The functions, handles and plain types of thalweg.h, as Fortran 2008 declares them.
module thalweg_c
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int32
  implicit none
  private

  public :: no_definition
  public :: c_last_error, c_status_name, c_server_start, c_server_address, c_server_stop, c_connect, c_disconnect
  public :: c_define, c_open, c_describe, c_close, c_put, c_put_local, c_get_into, c_seal, c_release, c_versions
  public :: c_reduce, c_set_attribute, c_attribute, c_variables, c_names_count, c_names_at, c_names_release
  public :: c_strlen
  public :: c_loan_take, c_loan_commit, c_loan_discard
  public :: thalweg_server, thalweg_client, thalweg_variable, thalweg_loan
  public :: thalweg_which, thalweg_version_state, thalweg_summary
  public :: server_options_t, connect_options_t, region_t, layout_t, definition_t

  integer, parameter, public :: max_dims = 8
  !> A packed layout in Fortran's order.
  integer(c_int32_t), parameter, public :: column_major = 1
  !> A layout given by its strides.
  integer(c_int32_t), parameter, public :: strided = 3

  !> Handles: what a program holds in place of an object.
  type :: thalweg_server
    type(c_ptr) :: handle = c_null_ptr
  end type thalweg_server

  !> A connection to the staging service. Threads may share it.
  type :: thalweg_client
    type(c_ptr) :: handle = c_null_ptr
  end type thalweg_client

  !> A named n-d array that has many versions.
  type :: thalweg_variable
    type(c_ptr) :: handle = c_null_ptr
  end type thalweg_variable

  !> Memory of the service that an array points at until it is committed or discarded.
  type :: thalweg_loan
    type(c_ptr) :: handle = c_null_ptr
  end type thalweg_loan

  !> Which version: thalweg_exactly(version), thalweg_latest() or thalweg_after(version).
  type, bind(c) :: thalweg_which
    integer(c_int32_t) :: how = 0
    integer(c_int64_t) :: version = 0
  end type thalweg_which

  !> One version of a variable.
  type, bind(c) :: thalweg_version_state
    integer(c_int64_t) :: version  !< which
    integer(c_int64_t) :: cells    !< how many cells have been put
    integer(c_int32_t) :: seals    !< how many writers have sealed it
    integer(c_int32_t) :: complete !< 1 when all that will be put has been
  end type thalweg_version_state

  !> What was found in the cells of a region; the mean is total/count.
  type, bind(c) :: thalweg_summary
    integer(c_int64_t) :: version
    integer(c_int64_t) :: count
    real(c_double) :: least
    real(c_double) :: greatest
    real(c_double) :: total
  end type thalweg_summary

  type, bind(c) :: server_options_t
    integer(c_size_t) :: size
    integer(c_int64_t) :: memory_limit_bytes
    integer(c_int32_t) :: when_full
    type(c_ptr) :: socket, listen, token
  end type server_options_t

  type, bind(c) :: connect_options_t
    integer(c_size_t) :: size
    type(c_ptr) :: addresses, name_space, name, token
    real(c_double) :: timeout_s
  end type connect_options_t

  type, bind(c) :: region_t
    integer(c_int32_t) :: dims
    integer(c_int64_t) :: lower(max_dims), extent(max_dims)
  end type region_t

  type, bind(c) :: layout_t
    integer(c_int32_t) :: order, records
    integer(c_int8_t) :: axes(max_dims)
    integer(c_int64_t) :: strides_bytes(max_dims)
  end type layout_t

  type, bind(c) :: definition_t
    integer(c_size_t) :: size
    integer(c_int32_t) :: dtype, dims
    integer(c_int64_t) :: domain(max_dims)
    integer(c_int32_t) :: strategy, keep_last, writers, field_count
    type(c_ptr) :: fields, layouts
    integer(c_int32_t) :: layout_count
  end type definition_t

  !> Element types: the kind's letter in the highest byte, the size in bytes in the others.
  integer(int32), parameter, public :: thalweg_int32 = iachar('i')*16777216 + 4
  integer(int32), parameter, public :: thalweg_int64 = iachar('i')*16777216 + 8
  integer(int32), parameter, public :: thalweg_real32 = iachar('f')*16777216 + 4
  integer(int32), parameter, public :: thalweg_real64 = iachar('f')*16777216 + 8

  !> Where data are reorganised.
  integer(int32), parameter, public :: thalweg_strategy_default = 0, thalweg_rad = 1, thalweg_rasar = 2
  integer(int32), parameter, public :: thalweg_rasia = 3, thalweg_sahr = 4

  interface
    function c_last_error() bind(c, name='thalweg_last_error')
      import :: c_ptr
      type(c_ptr) :: c_last_error
    end function c_last_error

    function c_status_name(status) bind(c, name='thalweg_status_name')
      import :: c_ptr, c_int32_t
      integer(c_int32_t), value :: status
      type(c_ptr) :: c_status_name
    end function c_status_name

    function c_server_start(options, server) bind(c, name='thalweg_server_start')
      import :: c_ptr, c_int, server_options_t
      type(server_options_t), intent(in) :: options
      type(c_ptr), intent(out) :: server
      integer(c_int) :: c_server_start
    end function c_server_start

    function c_server_address(server, address) bind(c, name='thalweg_server_address')
      import :: c_ptr, c_int
      type(c_ptr), value :: server
      type(c_ptr), intent(out) :: address
      integer(c_int) :: c_server_address
    end function c_server_address

    function c_server_stop(server) bind(c, name='thalweg_server_stop')
      import :: c_ptr, c_int
      type(c_ptr), value :: server
      integer(c_int) :: c_server_stop
    end function c_server_stop

    function c_connect(options, client) bind(c, name='thalweg_connect')
      import :: c_ptr, c_int, connect_options_t
      type(connect_options_t), intent(in) :: options
      type(c_ptr), intent(out) :: client
      integer(c_int) :: c_connect
    end function c_connect

    function c_disconnect(client) bind(c, name='thalweg_disconnect')
      import :: c_ptr, c_int
      type(c_ptr), value :: client
      integer(c_int) :: c_disconnect
    end function c_disconnect

    function c_define(client, name, definition, timeout_s, variable) bind(c, name='thalweg_define')
      import :: c_ptr, c_int, c_char, c_double, definition_t
      type(c_ptr), value :: client
      character(kind=c_char), intent(in) :: name(*)
      type(definition_t), intent(in) :: definition
      real(c_double), value :: timeout_s
      type(c_ptr), intent(out) :: variable
      integer(c_int) :: c_define
    end function c_define

    function c_open(client, name, timeout_s, variable) bind(c, name='thalweg_open')
      import :: c_ptr, c_int, c_char, c_double
      type(c_ptr), value :: client
      character(kind=c_char), intent(in) :: name(*)
      real(c_double), value :: timeout_s
      type(c_ptr), intent(out) :: variable
      integer(c_int) :: c_open
    end function c_open

    function c_describe(variable, definition) bind(c, name='thalweg_describe')
      import :: c_ptr, c_int, definition_t
      type(c_ptr), value :: variable
      type(definition_t), intent(inout) :: definition
      integer(c_int) :: c_describe
    end function c_describe

    function c_close(variable) bind(c, name='thalweg_close')
      import :: c_ptr, c_int
      type(c_ptr), value :: variable
      integer(c_int) :: c_close
    end function c_close

    function c_put(variable, version, region, data, dtype, layout, timeout_s) bind(c, name='thalweg_put')
      import :: c_ptr, c_int, c_int32_t, c_int64_t, c_double, region_t, layout_t
      type(c_ptr), value :: variable, data
      integer(c_int64_t), value :: version
      type(region_t), intent(in) :: region
      integer(c_int32_t), value :: dtype
      type(layout_t), intent(in) :: layout
      real(c_double), value :: timeout_s
      integer(c_int) :: c_put
    end function c_put

    function c_put_local(variable, version, region, data, dtype, layout, timeout_s) bind(c, name='thalweg_put_local')
      import :: c_ptr, c_int, c_int32_t, c_int64_t, c_double, region_t, layout_t
      type(c_ptr), value :: variable, data
      integer(c_int64_t), value :: version
      type(region_t), intent(in) :: region
      integer(c_int32_t), value :: dtype
      type(layout_t), intent(in) :: layout
      real(c_double), value :: timeout_s
      integer(c_int) :: c_put_local
    end function c_put_local

    function c_get_into(variable, which, region, data, dtype, layout, strategy, timeout_s, version) &
      bind(c, name='thalweg_get_into')
      import :: c_ptr, c_int, c_int32_t, c_int64_t, c_double, region_t, layout_t, thalweg_which
      type(c_ptr), value :: variable, data
      type(thalweg_which), value :: which
      type(region_t), intent(in) :: region
      integer(c_int32_t), value :: dtype, strategy
      type(layout_t), intent(in) :: layout
      real(c_double), value :: timeout_s
      integer(c_int64_t), intent(out) :: version
      integer(c_int) :: c_get_into
    end function c_get_into

    function c_loan_take(variable, version, region, layout, timeout_s, loan, data, strides_bytes) &
      bind(c, name='thalweg_loan_take')
      import :: c_ptr, c_int, c_int64_t, c_double, region_t, layout_t
      type(c_ptr), value :: variable, strides_bytes
      integer(c_int64_t), value :: version
      type(region_t), intent(in) :: region
      type(layout_t), intent(in) :: layout
      real(c_double), value :: timeout_s
      type(c_ptr), intent(out) :: loan, data
      integer(c_int) :: c_loan_take
    end function c_loan_take

    function c_loan_commit(loan, timeout_s) bind(c, name='thalweg_loan_commit')
      import :: c_ptr, c_int, c_double
      type(c_ptr), value :: loan
      real(c_double), value :: timeout_s
      integer(c_int) :: c_loan_commit
    end function c_loan_commit

    function c_loan_discard(loan) bind(c, name='thalweg_loan_discard')
      import :: c_ptr, c_int
      type(c_ptr), value :: loan
      integer(c_int) :: c_loan_discard
    end function c_loan_discard

    function c_seal(variable, version, writer, timeout_s) bind(c, name='thalweg_seal')
      import :: c_ptr, c_int, c_int32_t, c_int64_t, c_double
      type(c_ptr), value :: variable
      integer(c_int64_t), value :: version
      integer(c_int32_t), value :: writer
      real(c_double), value :: timeout_s
      integer(c_int) :: c_seal
    end function c_seal

    function c_release(variable, version, timeout_s, existed) bind(c, name='thalweg_release')
      import :: c_ptr, c_int, c_int32_t, c_int64_t, c_double
      type(c_ptr), value :: variable
      integer(c_int64_t), value :: version
      real(c_double), value :: timeout_s
      integer(c_int32_t), intent(out) :: existed
      integer(c_int) :: c_release
    end function c_release

    function c_versions(variable, timeout_s, states, capacity, count) bind(c, name='thalweg_versions')
      import :: c_ptr, c_int, c_double, c_size_t, thalweg_version_state
      type(c_ptr), value :: variable
      real(c_double), value :: timeout_s
      integer(c_size_t), value :: capacity
      type(thalweg_version_state), intent(out) :: states(*)
      integer(c_size_t), intent(out) :: count
      integer(c_int) :: c_versions
    end function c_versions

    function c_reduce(variable, which, region, bins, timeout_s, summary, histogram) bind(c, name='thalweg_reduce')
      import :: c_ptr, c_int, c_double, region_t, thalweg_which, thalweg_summary
      type(c_ptr), value :: variable, bins, histogram
      type(thalweg_which), value :: which
      type(region_t), intent(in) :: region
      real(c_double), value :: timeout_s
      type(thalweg_summary), intent(out) :: summary
      integer(c_int) :: c_reduce
    end function c_reduce

    function c_set_attribute(variable, key, value, timeout_s) bind(c, name='thalweg_set_attribute')
      import :: c_ptr, c_int, c_char, c_double
      type(c_ptr), value :: variable
      character(kind=c_char), intent(in) :: key(*), value(*)
      real(c_double), value :: timeout_s
      integer(c_int) :: c_set_attribute
    end function c_set_attribute

    function c_attribute(variable, key, timeout_s, buffer, capacity_bytes, length) bind(c, name='thalweg_attribute')
      import :: c_ptr, c_int, c_char, c_double, c_size_t
      type(c_ptr), value :: variable
      character(kind=c_char), intent(in) :: key(*)
      real(c_double), value :: timeout_s
      character(kind=c_char), intent(out) :: buffer(*)
      integer(c_size_t), value :: capacity_bytes
      integer(c_size_t), intent(out) :: length
      integer(c_int) :: c_attribute
    end function c_attribute

    function c_variables(client, timeout_s, names) bind(c, name='thalweg_variables')
      import :: c_ptr, c_int, c_double
      type(c_ptr), value :: client
      real(c_double), value :: timeout_s
      type(c_ptr), intent(out) :: names
      integer(c_int) :: c_variables
    end function c_variables

    function c_names_count(names) bind(c, name='thalweg_names_count')
      import :: c_ptr, c_size_t
      type(c_ptr), value :: names
      integer(c_size_t) :: c_names_count
    end function c_names_count

    function c_names_at(names, index) bind(c, name='thalweg_names_at')
      import :: c_ptr, c_size_t
      type(c_ptr), value :: names
      integer(c_size_t), value :: index
      type(c_ptr) :: c_names_at
    end function c_names_at

    function c_names_release(names) bind(c, name='thalweg_names_release')
      import :: c_ptr, c_int
      type(c_ptr), value :: names
      integer(c_int) :: c_names_release
    end function c_names_release

    function c_strlen(text) bind(c, name='strlen')
      import :: c_ptr, c_size_t
      type(c_ptr), value :: text
      integer(c_size_t) :: c_strlen
    end function c_strlen
  end interface
contains

  !> A definition that says nothing yet.
  function no_definition() result(definition)
    type(definition_t) :: definition

    definition%size = c_sizeof(definition)
    definition%dtype = 0
    definition%dims = 0
    definition%domain = 0
    definition%strategy = 0
    definition%keep_last = 0
    definition%writers = 0
    definition%field_count = 0
    definition%fields = c_null_ptr
    definition%layouts = c_null_ptr
    definition%layout_count = 0
  end function no_definition
end module thalweg_c
