!> Servers, connections and variables.
module thalweg_core
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int32, int64, real64
  use thalweg_c
  use thalweg_errors
  use thalweg_transfer
  implicit none
  private

  public :: thalweg_server, thalweg_client, thalweg_variable, thalweg_which, thalweg_version_state, thalweg_summary
  public :: thalweg_server_start, thalweg_server_address, thalweg_server_stop
  public :: thalweg_connect, thalweg_disconnect, thalweg_define, thalweg_open, thalweg_close
  public :: thalweg_domain, thalweg_element_type, thalweg_seal, thalweg_release, thalweg_versions, thalweg_reduce
  public :: thalweg_set_attribute, thalweg_attribute, thalweg_variables
  public :: thalweg_exactly, thalweg_latest, thalweg_after
  public :: thalweg_loan, thalweg_loan_commit, thalweg_loan_discard

  !> What a full server does.
  integer(int32), parameter, public :: thalweg_block = 0, thalweg_fail = 1, thalweg_drop_oldest = 2

contains

  !> Starts a server in this process.
  !!
  !! memory_limit_bytes: at least 1 MiB; default: half of what is available. when_full: thalweg_block (default),
  !! thalweg_fail or thalweg_drop_oldest. socket: name of the Unix socket. listen, token: to serve other nodes over TCP.
  subroutine thalweg_server_start(server, memory_limit_bytes, when_full, socket, listen, token, stat, errmsg)
    type(thalweg_server), intent(out) :: server
    integer(int64), intent(in), optional :: memory_limit_bytes
    integer(int32), intent(in), optional :: when_full
    character(*), intent(in), optional :: socket, listen, token
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(server_options_t) :: options
    character(kind=c_char), allocatable, target :: socket_c(:), listen_c(:), token_c(:)

    options%size = c_sizeof(options)
    options%memory_limit_bytes = 0
    if (present(memory_limit_bytes)) options%memory_limit_bytes = memory_limit_bytes
    options%when_full = thalweg_block
    if (present(when_full)) options%when_full = when_full
    options%socket = c_null_ptr
    options%listen = c_null_ptr
    options%token = c_null_ptr
    if (present(socket)) then
      socket_c = c_text(socket)
      options%socket = c_loc(socket_c)
    end if
    if (present(listen)) then
      listen_c = c_text(listen)
      options%listen = c_loc(listen_c)
    end if
    if (present(token)) then
      token_c = c_text(token)
      options%token = c_loc(token_c)
    end if
    call conclude(c_server_start(options, server%handle), stat, errmsg)
  end subroutine thalweg_server_start

  !> The server's address for clients on this node.
  function thalweg_server_address(server) result(address)
    type(thalweg_server), intent(in) :: server
    character(:), allocatable :: address
    type(c_ptr) :: text

    call conclude(c_server_address(server%handle, text))
    address = f_text(text)
  end function thalweg_server_address

  !> Stops the server; blocks until its threads have ended.
  subroutine thalweg_server_stop(server, stat, errmsg)
    type(thalweg_server), intent(inout) :: server
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg

    call conclude(c_server_stop(server%handle), stat, errmsg)
    server%handle = c_null_ptr
  end subroutine thalweg_server_stop

  !> Connects to the staging service.
  !!
  !! addresses: unix:NAME or tcp:HOST:PORT, several separated by commas; default: the environment's THALWEG_ADDRESS, else
  !! a private server in this process. namespace: variables of different namespaces never meet. name: for messages.
  subroutine thalweg_connect(client, addresses, namespace, name, token, timeout_s, stat, errmsg)
    type(thalweg_client), intent(out) :: client
    character(*), intent(in), optional :: addresses, namespace, name, token
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(connect_options_t) :: options
    character(kind=c_char), allocatable, target :: addresses_c(:), namespace_c(:), name_c(:), token_c(:)

    options%size = c_sizeof(options)
    options%addresses = c_null_ptr
    options%name_space = c_null_ptr
    options%name = c_null_ptr
    options%token = c_null_ptr
    options%timeout_s = 10.0_real64
    if (present(timeout_s)) options%timeout_s = timeout_s
    if (present(addresses)) then
      addresses_c = c_text(addresses)
      options%addresses = c_loc(addresses_c)
    end if
    if (present(namespace)) then
      namespace_c = c_text(namespace)
      options%name_space = c_loc(namespace_c)
    end if
    if (present(name)) then
      name_c = c_text(name)
      options%name = c_loc(name_c)
    end if
    if (present(token)) then
      token_c = c_text(token)
      options%token = c_loc(token_c)
    end if
    call conclude(c_connect(options, client%handle), stat, errmsg)
  end subroutine thalweg_connect

  !> Ends the connection.
  subroutine thalweg_disconnect(client, stat, errmsg)
    type(thalweg_client), intent(inout) :: client
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg

    call conclude(c_disconnect(client%handle), stat, errmsg)
    client%handle = c_null_ptr
  end subroutine thalweg_disconnect

  !> Defines a variable, or agrees with the definition that is there.
  !!
  !! dtype: thalweg_real64 and its like. domain: the number of cells along each axis, in the order of the indices.
  !! strategy: where data are reorganised. keep_last: complete versions kept; 0, the default: all, until released.
  !! writers: how many must seal a version before it can be read; 0, the default: a region can be read where it is
  !! complete.
  subroutine thalweg_define(client, variable, name, dtype, domain, strategy, keep_last, writers, timeout_s, stat, &
                            errmsg)
    type(thalweg_client), intent(in) :: client
    type(thalweg_variable), intent(out) :: variable
    character(*), intent(in) :: name
    integer(int32), intent(in) :: dtype
    integer, intent(in) :: domain(:)
    integer(int32), intent(in), optional :: strategy, keep_last, writers
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(definition_t) :: definition

    if (any(domain < 0)) then
      call refuse(thalweg_shape, 'thalweg_define: '//shown(int(minval(domain), int64))// &
                  ' cells along an axis of the domain; accepted are at least 1', stat, errmsg)
      return
    end if
    if (negative('keep_last', keep_last, stat, errmsg)) return
    if (negative('writers', writers, stat, errmsg)) return
    definition = no_definition()
    definition%dtype = dtype
    definition%dims = size(domain)
    if (size(domain) <= max_dims) definition%domain(:size(domain)) = domain
    if (present(strategy)) definition%strategy = strategy
    if (present(keep_last)) definition%keep_last = keep_last
    if (present(writers)) definition%writers = writers
    call conclude(c_define(client%handle, c_text(name), definition, seconds(timeout_s), variable%handle), stat, errmsg)
  end subroutine thalweg_define

  !> Whether an option of thalweg_define is below 0, which C would take for a large number.
  logical function negative(option, value, stat, errmsg)
    character(*), intent(in) :: option
    integer(int32), intent(in), optional :: value
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg

    negative = .false.
    if (present(value)) negative = value < 0
    if (negative) call refuse(thalweg_invalid, 'thalweg_define: '//option//' = '//shown(int(value, int64))// &
                              '; accepted are 0 and more', stat, errmsg)
  end function negative

  !> Opens a variable; blocks until somebody has defined it.
  subroutine thalweg_open(client, variable, name, timeout_s, stat, errmsg)
    type(thalweg_client), intent(in) :: client
    type(thalweg_variable), intent(out) :: variable
    character(*), intent(in) :: name
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg

    call conclude(c_open(client%handle, c_text(name), seconds(timeout_s), variable%handle), stat, errmsg)
  end subroutine thalweg_open

  !> The number of cells along each axis.
  function thalweg_domain(variable) result(domain)
    type(thalweg_variable), intent(in) :: variable
    integer(int64), allocatable :: domain(:)
    type(definition_t) :: definition

    definition = no_definition()
    call conclude(c_describe(variable%handle, definition))
    domain = definition%domain(:definition%dims)
  end function thalweg_domain

  !> The element type, such as thalweg_real64.
  function thalweg_element_type(variable) result(dtype)
    type(thalweg_variable), intent(in) :: variable
    integer(int32) :: dtype
    type(definition_t) :: definition

    definition = no_definition()
    call conclude(c_describe(variable%handle, definition))
    dtype = definition%dtype
  end function thalweg_element_type

  !> Forgets the variable here; it stays in the service.
  subroutine thalweg_close(variable, stat, errmsg)
    type(thalweg_variable), intent(inout) :: variable
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg

    call conclude(c_close(variable%handle), stat, errmsg)
    variable%handle = c_null_ptr
  end subroutine thalweg_close

  !> Says that a writer, counted from 1, has put all that it will of a version.
  subroutine thalweg_seal(variable, version, writer, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    integer(int64), intent(in) :: version
    integer, intent(in), optional :: writer
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(definition_t) :: definition
    integer(c_int) :: status
    integer :: sealing

    sealing = 1
    if (present(writer)) sealing = writer
    definition = no_definition()
    status = c_describe(variable%handle, definition)
    ! Said here, as the service counts writers from 0.
    if (status == thalweg_ok .and. (sealing < 1 .or. sealing > max(1, definition%writers))) then
      call refuse(thalweg_invalid, 'thalweg_seal: writer '//shown(int(sealing, int64))//'; accepted are 1 to '// &
                  shown(int(max(1, definition%writers), int64)), stat, errmsg)
      return
    end if
    if (status == thalweg_ok) status = c_seal(variable%handle, version, sealing - 1, seconds(timeout_s))
    call conclude(status, stat, errmsg)
  end subroutine thalweg_seal

  !> Says that nobody needs a version any more; existed: whether it was there.
  subroutine thalweg_release(variable, version, existed, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    integer(int64), intent(in) :: version
    logical, intent(out), optional :: existed
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: was

    was = 0
    call conclude(c_release(variable%handle, version, seconds(timeout_s), was), stat, errmsg)
    if (present(existed)) existed = was /= 0
  end subroutine thalweg_release

  !> The versions that are there, in order.
  subroutine thalweg_versions(variable, states, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    type(thalweg_version_state), allocatable, intent(out) :: states(:)
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_size_t) :: capacity, count
    integer(c_int) :: status

    count = 16
    do
      capacity = count
      if (allocated(states)) deallocate (states)
      allocate (states(capacity))
      status = c_versions(variable%handle, seconds(timeout_s), states, capacity, count)
      if (status /= thalweg_ok .or. count <= capacity) exit
    end do
    if (status == thalweg_ok) states = states(:count)
    call conclude(status, stat, errmsg)
  end subroutine thalweg_versions

  !> Count, least, greatest and sum of a region's cells, made in the service. lower: the first cell, counted from 1.
  subroutine thalweg_reduce(variable, which, lower, extent, summary, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    type(thalweg_which), intent(in) :: which
    integer, intent(in) :: lower(:), extent(:)
    type(thalweg_summary), intent(out) :: summary
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg

    if (out_of_bounds('thalweg_reduce', int(extent, int64), lower, stat, errmsg)) return
    call conclude(c_reduce(variable%handle, which, region_of(int(extent, int64), lower), c_null_ptr, &
                           seconds(timeout_s), summary, c_null_ptr), stat, errmsg)
  end subroutine thalweg_reduce

  !> Notes something for those who read the variable; an empty value removes it.
  subroutine thalweg_set_attribute(variable, key, value, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    character(*), intent(in) :: key, value
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg

    call conclude(c_set_attribute(variable%handle, c_text(key), c_text(value), seconds(timeout_s)), stat, errmsg)
  end subroutine thalweg_set_attribute

  !> What was noted under a key.
  subroutine thalweg_attribute(variable, key, value, timeout_s, stat, errmsg)
    type(thalweg_variable), intent(in) :: variable
    character(*), intent(in) :: key
    character(:), allocatable, intent(out) :: value
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    character(kind=c_char), allocatable :: buffer(:)
    integer(c_size_t) :: capacity, length
    integer(c_int) :: status
    integer :: i

    length = 63
    do
      capacity = length + 1
      if (allocated(buffer)) deallocate (buffer)
      allocate (buffer(capacity))
      status = c_attribute(variable%handle, c_text(key), seconds(timeout_s), buffer, capacity, length)
      if (status /= thalweg_ok .or. length < capacity) exit
    end do
    if (status == thalweg_ok) then
      allocate (character(length) :: value)
      do i = 1, int(length)
        value(i:i) = buffer(i)
      end do
    end if
    call conclude(status, stat, errmsg)
  end subroutine thalweg_attribute

  !> The names of the variables that are defined, padded to one length.
  subroutine thalweg_variables(client, names, timeout_s, stat, errmsg)
    type(thalweg_client), intent(in) :: client
    character(:), allocatable, intent(out) :: names(:)
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: list
    integer(c_int) :: status, ended
    integer(c_size_t) :: i, count
    integer :: longest

    status = c_variables(client%handle, seconds(timeout_s), list)
    if (status == thalweg_ok) then
      count = c_names_count(list)
      longest = 0
      do i = 1, count
        longest = max(longest, int(c_strlen(c_names_at(list, i - 1))))
      end do
      allocate (character(longest) :: names(count))
      do i = 1, count
        names(i) = f_text(c_names_at(list, i - 1))
      end do
      ended = c_names_release(list)
    end if
    call conclude(status, stat, errmsg)
  end subroutine thalweg_variables

  !> This version.
  elemental function thalweg_exactly(version) result(which)
    integer(int64), intent(in) :: version
    type(thalweg_which) :: which
    which = thalweg_which(0, version)
  end function thalweg_exactly

  !> The newest version in which the region is complete.
  elemental function thalweg_latest() result(which)
    type(thalweg_which) :: which
    which = thalweg_which(1, 0_int64)
  end function thalweg_latest

  !> The oldest version behind this one in which the region is complete.
  elemental function thalweg_after(version) result(which)
    integer(int64), intent(in) :: version
    type(thalweg_which) :: which
    which = thalweg_which(2, version)
  end function thalweg_after

  !> Publishes what was filled; the array must not be used any more.
  subroutine thalweg_loan_commit(loan, timeout_s, stat, errmsg)
    type(thalweg_loan), intent(inout) :: loan
    real(real64), intent(in), optional :: timeout_s
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg

    call conclude(c_loan_commit(loan%handle, seconds(timeout_s)), stat, errmsg)
    loan%handle = c_null_ptr
  end subroutine thalweg_loan_commit

  !> Gives the memory back; the array must not be used any more.
  subroutine thalweg_loan_discard(loan, stat, errmsg)
    type(thalweg_loan), intent(inout) :: loan
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg

    call conclude(c_loan_discard(loan%handle), stat, errmsg)
    loan%handle = c_null_ptr
  end subroutine thalweg_loan_discard

end module thalweg_core
