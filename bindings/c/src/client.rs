//! The connection to the staging service.

use crate::handle::{handle, hold, taken};
use crate::status::{guarded, thalweg_status};
use crate::text::{self, optional, patience, place};
use crate::versioned::{self, Versioned};
use std::ffi::c_char;
use std::sync::Arc;
use thalweg::{Identity, Name, Result, Server, Stage};

/// A connection to the staging service; made by `thalweg_connect`, ended by `thalweg_disconnect`. Threads may share
/// it; a forked child must make its own.
pub struct thalweg_client {
    _opaque: (),
}

handle!(thalweg_client, "client", Connection);

/// A connection to all servers, for variables and whole arrays.
pub struct Connection {
    pub stage: Stage,
    /// The private server of this process, when that is where it leads.
    _server: Option<Arc<Server>>,
}

/// Where to connect to; begin with `THALWEG_CONNECT_OPTIONS_INIT`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct thalweg_connect_options {
    /// The size of this struct, in bytes.
    pub size: usize,
    /// `unix:NAME` or `tcp:HOST:PORT`, several separated by commas; `NULL`: the environment's `THALWEG_ADDRESS`, and
    /// without one a private server in this process.
    pub addresses: *const c_char,
    /// The variables of different namespaces never meet; give each run its own. `NULL`: `default`.
    pub name_space: *const c_char,
    /// What this client is called in messages to people; `NULL`: the program's name.
    pub name: *const c_char,
    /// The server's secret, needed over TCP; `NULL`: the environment's `THALWEG_TOKEN`.
    pub token: *const c_char,
    /// How long to try, in seconds.
    pub timeout_s: f64,
}

// SAFETY: plain data whose first member is its size.
unsafe impl Versioned for thalweg_connect_options {
    const WHAT: &'static str = "connect options";
    const INIT: &'static str = "THALWEG_CONNECT_OPTIONS_INIT";
    const FIRST: usize = size_of::<thalweg_connect_options>();
}

/// What stands where a caller gives no options.
pub const DEFAULTS: thalweg_connect_options = thalweg_connect_options {
    size: size_of::<thalweg_connect_options>(),
    addresses: std::ptr::null(),
    name_space: std::ptr::null(),
    name: std::ptr::null(),
    token: std::ptr::null(),
    timeout_s: 10.0,
};

/// Connects to the staging service. `options` may be `NULL`.
///
/// Errors: `THALWEG_GONE` when no server answers, `THALWEG_ACCESS` when the token is wrong, `THALWEG_INVALID` for an
/// address of another form. Blocks until the servers answer, or `timeout_s` has passed.
///
/// # Safety
/// Pointers are `NULL` or valid.
#[no_mangle]
pub unsafe extern "C" fn thalweg_connect(
    options: *const thalweg_connect_options,
    client: *mut *mut thalweg_client,
) -> thalweg_status {
    const OPERATION: &str = "stage.connect";
    guarded(OPERATION, || {
        // SAFETY: the caller's promise.
        let client = unsafe { place(OPERATION, "client", client) }?;
        // SAFETY: the caller's promise.
        let options = unsafe { versioned::taken(OPERATION, options, DEFAULTS) }?;
        let patience = patience(OPERATION, options.timeout_s)?;
        // SAFETY: the texts of the options are `NULL` or C strings, by the caller's promise.
        let Goal { name, token, address, server } = unsafe { goal(OPERATION, &options) }?;
        let namespace = match options.name_space.is_null() {
            true => Name::new(OPERATION, "default")?,
            // SAFETY: the caller's promise.
            false => unsafe { text::name(OPERATION, "name_space", options.name_space) }?,
        };
        let identity = Identity { name, namespace, token };
        let stage = Stage::connect(&address, &identity, patience)?;
        *client = hold(Connection { stage, _server: server });
        Ok(())
    })
}

/// Where a connection leads, and whose it is.
pub struct Goal {
    pub name: Name,
    pub token: String,
    pub address: String,
    /// The private server of this process, when that is where it leads.
    pub server: Option<Arc<Server>>,
}

/// What options say, the environment, or what stands for both.
///
/// # Safety
/// The texts of the options are `NULL` or C strings.
pub unsafe fn goal(operation: &'static str, options: &thalweg_connect_options) -> Result<Goal> {
    // SAFETY: the caller's promise.
    let text = |what, given| unsafe { optional(operation, what, given) };
    let token = text("token", options.token)?.map(str::to_owned);
    let given = text("addresses", options.addresses)?.filter(|a| !a.is_empty()).map(str::to_owned);
    let (address, server) = match given.or_else(|| from_environment("THALWEG_ADDRESS")) {
        Some(address) => (address, None),
        None => {
            let server = thalweg::embedded()?;
            (server.address().to_string(), Some(server))
        }
    };
    Ok(Goal {
        name: Name::new(operation, &text("name", options.name)?.map_or_else(program, str::to_owned))?,
        token: token.or_else(|| from_environment("THALWEG_TOKEN")).unwrap_or_default(),
        address,
        server,
    })
}

/// The value of a variable of the environment; none where it is empty.
fn from_environment(variable: &str) -> Option<String> {
    std::env::var(variable).ok().filter(|v| !v.is_empty())
}

/// The name of the running program.
fn program() -> String {
    let path = std::env::args_os().next().map(std::path::PathBuf::from);
    let name = path.as_deref().and_then(std::path::Path::file_name).map(|n| n.to_string_lossy().into_owned());
    name.filter(|n| !n.is_empty()).unwrap_or_else(|| "program".into())
}

/// Ends the connection; variables, views and loans that came from it stay usable until they are released. Nothing for
/// `NULL`; `THALWEG_INVALID` when it was ended before.
#[no_mangle]
pub extern "C" fn thalweg_disconnect(client: *mut thalweg_client) -> thalweg_status {
    const OPERATION: &str = "stage.disconnect";
    guarded(OPERATION, || taken(OPERATION, client).map(drop))
}
