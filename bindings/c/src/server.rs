//! A server in the calling process, for programs that bring their own.

use crate::handle::{handle, held, hold, taken};
use crate::status::{guarded, invalid, thalweg_status};
use crate::text::{optional, place};
use crate::versioned::{self, Versioned};
use std::ffi::{c_char, CString};
use std::sync::{Mutex, PoisonError};
use thalweg::{Bytes, Server, Settings, WhenFull};

/// A server that runs in this process; made by `thalweg_server_start`, ended by `thalweg_server_stop`.
pub struct thalweg_server {
    _opaque: (),
}

handle!(thalweg_server, "server", Served);

/// A running server, and its addresses for C.
pub struct Served {
    server: Mutex<Option<Server>>,
    address: CString,
    tcp_address: Option<CString>,
}

/// When memory is full, a put waits within its deadline.
pub const THALWEG_BLOCK: u32 = 0;
/// When memory is full, a put fails with `THALWEG_FULL`.
pub const THALWEG_FAIL: u32 = 1;
/// When memory is full, the oldest versions that nobody is reading are dropped.
pub const THALWEG_DROP_OLDEST: u32 = 2;

/// How a server is to be; begin with `THALWEG_SERVER_OPTIONS_INIT`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct thalweg_server_options {
    /// The size of this struct, in bytes.
    pub size: usize,
    /// The most memory that arrays may take, at least 1 MiB; 0: half of what is available.
    pub memory_limit_bytes: u64,
    /// `THALWEG_BLOCK`, `THALWEG_FAIL` or `THALWEG_DROP_OLDEST`.
    pub when_full: u32,
    /// The name of the Unix socket: a path, or `@name` in Linux's abstract space; `NULL`: a fresh abstract one.
    pub socket: *const c_char,
    /// `host:port` to serve other nodes over TCP as well, port 0 for a free one; `NULL`: this node only.
    pub listen: *const c_char,
    /// The secret, of at least 8 characters, that clients over TCP must give; needed with `listen`.
    pub token: *const c_char,
}

// SAFETY: plain data whose first member is its size.
unsafe impl Versioned for thalweg_server_options {
    const WHAT: &'static str = "server options";
    const INIT: &'static str = "THALWEG_SERVER_OPTIONS_INIT";
    const FIRST: usize = size_of::<thalweg_server_options>();
}

const DEFAULTS: thalweg_server_options = thalweg_server_options {
    size: size_of::<thalweg_server_options>(),
    memory_limit_bytes: 0,
    when_full: THALWEG_BLOCK,
    socket: std::ptr::null(),
    listen: std::ptr::null(),
    token: std::ptr::null(),
};

/// Starts a server in this process, on threads of its own; it answers when this returns. `options` may be `NULL`.
///
/// Errors: `THALWEG_INVALID` for options outside what is accepted, `THALWEG_IO` when a name or port is taken.
///
/// # Safety
/// Pointers are `NULL` or valid.
#[no_mangle]
pub unsafe extern "C" fn thalweg_server_start(
    options: *const thalweg_server_options,
    server: *mut *mut thalweg_server,
) -> thalweg_status {
    const OPERATION: &str = "server.start";
    guarded(OPERATION, || {
        // SAFETY: the caller's promise.
        let server = unsafe { place(OPERATION, "server", server) }?;
        // SAFETY: the caller's promise.
        let options = unsafe { versioned::taken(OPERATION, options, DEFAULTS) }?;
        let when_full = match options.when_full {
            THALWEG_BLOCK => WhenFull::Block,
            THALWEG_FAIL => WhenFull::Fail,
            THALWEG_DROP_OLDEST => WhenFull::DropOldest,
            other => {
                let detail = format!(
                    "when_full = {other}; accepted are THALWEG_BLOCK, THALWEG_FAIL and THALWEG_DROP_OLDEST"
                );
                return Err(invalid(OPERATION, detail));
            }
        };
        // SAFETY: the texts of the options are `NULL` or C strings, by the caller's promise.
        let text = |what, given| unsafe { optional(OPERATION, what, given) }.map(|t| t.map(str::to_owned));
        let settings = Settings {
            limit: (options.memory_limit_bytes > 0).then_some(Bytes(options.memory_limit_bytes)),
            when_full,
            socket: text("socket", options.socket)?,
            listen: text("listen", options.listen)?,
            token: text("token", options.token)?,
            ..Settings::default()
        };
        let started = Server::start(settings)?;
        let address = CString::new(started.address()).unwrap_or_default();
        let tcp_address = started.tcp_address().and_then(|a| CString::new(a).ok());
        *server = hold(Served { server: Mutex::new(Some(started)), address, tcp_address });
        Ok(())
    })
}

/// The address for clients on this node, `unix:NAME`, as long as the server runs. Errors: `THALWEG_INVALID`.
///
/// # Safety
/// `address` is `NULL` or writable.
#[no_mangle]
pub unsafe extern "C" fn thalweg_server_address(
    server: *const thalweg_server,
    address: *mut *const c_char,
) -> thalweg_status {
    const OPERATION: &str = "server.address";
    guarded(OPERATION, || {
        // SAFETY: the caller's promise.
        let address = unsafe { place(OPERATION, "address", address) }?;
        // The text lives in the table's object, which stays until the server is stopped.
        *address = held(OPERATION, server)?.address.as_ptr();
        Ok(())
    })
}

/// The address for clients on other nodes, `tcp:HOST:PORT`, as long as the server runs; `NULL` without `listen`.
/// Errors: `THALWEG_INVALID`.
///
/// # Safety
/// `address` is `NULL` or writable.
#[no_mangle]
pub unsafe extern "C" fn thalweg_server_tcp_address(
    server: *const thalweg_server,
    address: *mut *const c_char,
) -> thalweg_status {
    const OPERATION: &str = "server.tcp_address";
    guarded(OPERATION, || {
        // SAFETY: the caller's promise.
        let address = unsafe { place(OPERATION, "address", address) }?;
        *address = held(OPERATION, server)?.tcp_address.as_ref().map_or(std::ptr::null(), |a| a.as_ptr());
        Ok(())
    })
}

/// Stops the server: clients get `THALWEG_GONE`, views that they hold stay valid. Blocks until its threads have
/// ended. Nothing for `NULL`; `THALWEG_INVALID` when it was stopped before.
#[no_mangle]
pub extern "C" fn thalweg_server_stop(server: *mut thalweg_server) -> thalweg_status {
    const OPERATION: &str = "server.stop";
    guarded(OPERATION, || {
        if let Some(served) = taken(OPERATION, server)? {
            drop(served.server.lock().unwrap_or_else(PoisonError::into_inner).take());
        }
        Ok(())
    })
}
