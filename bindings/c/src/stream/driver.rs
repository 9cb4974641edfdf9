//! The connection to the stream service.

use crate::client::{goal, thalweg_connect_options, Goal, DEFAULTS};
use crate::handle::{handle, hold, taken};
use crate::status::{guarded, invalid, thalweg_status};
use crate::text::{optional, patience, place};
use crate::versioned;
use std::sync::Arc;
use thalweg::stream::{Driver, Identity};
use thalweg::Server;

/// A connection to the stream service; made by `thalweg_stream_connect`, ended by `thalweg_stream_disconnect`. Threads
/// may share it; a forked child must make its own.
pub struct thalweg_stream_driver {
    _opaque: (),
}

handle!(thalweg_stream_driver, "driver", Connection);

/// A connection to the service, for topics.
pub struct Connection {
    pub driver: Driver,
    /// The private server of this process, when that is where it leads.
    _server: Option<Arc<Server>>,
}

/// Connects to the stream service of the server at the one address of `options`; a server that is not there yet is
/// waited for. `options` may be `NULL`; topics have no namespaces, so `name_space` stays `NULL`.
///
/// Errors: `THALWEG_GONE` when no server answers, `THALWEG_ACCESS` when the token is wrong, `THALWEG_INVALID` for an
/// address of another form, several of them, or a namespace. Blocks until the server answers, or `timeout_s` has
/// passed.
///
/// # Safety
/// Pointers are `NULL` or valid.
#[no_mangle]
pub unsafe extern "C" fn thalweg_stream_connect(
    options: *const thalweg_connect_options,
    driver: *mut *mut thalweg_stream_driver,
) -> thalweg_status {
    const OPERATION: &str = "stream.connect";
    guarded(OPERATION, || {
        // SAFETY: the caller's promise.
        let driver = unsafe { place(OPERATION, "driver", driver) }?;
        // SAFETY: the caller's promise.
        let options = unsafe { versioned::taken(OPERATION, options, DEFAULTS) }?;
        let patience = patience(OPERATION, options.timeout_s)?;
        // SAFETY: the texts of the options are `NULL` or C strings, by the caller's promise.
        if let Some(given) = unsafe { optional(OPERATION, "name_space", options.name_space) }? {
            let detail = format!("name_space {given:?}; accepted is NULL: topics have no namespaces");
            return Err(invalid(OPERATION, detail));
        }
        // SAFETY: as above.
        let Goal { name, token, address, server } = unsafe { goal(OPERATION, &options) }?;
        let identity = Identity { name, token };
        let connected = Driver::connect(&address, identity, patience)?;
        *driver = hold(Connection { driver: connected, _server: server });
        Ok(())
    })
}

/// Ends the connection; producers and consumers that came from it have their own and go on. Nothing for `NULL`;
/// `THALWEG_INVALID` when it was ended before.
#[no_mangle]
pub extern "C" fn thalweg_stream_disconnect(driver: *mut thalweg_stream_driver) -> thalweg_status {
    const OPERATION: &str = "stream.disconnect";
    guarded(OPERATION, || taken(OPERATION, driver).map(drop))
}
