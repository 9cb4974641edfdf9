//! The C face of Thalweg: functions with status codes over checked handles. `include/thalweg.h` is made from it.
//!
//! Every function runs in `status::guarded`: an error becomes a status and a message for `thalweg_last_error`, and no
//! panic crosses into C. Handles are looked up, never followed (`handle.rs`).
#![allow(non_camel_case_types)]

mod dtype;
mod geometry;
mod handle;
mod status;
mod text;
mod versioned;

// In the order in which the header tells of them.
mod server;

mod client;

mod definition;

mod variable;

mod which;

mod transfer;

mod view;

mod loan;

mod request;

mod reduction;

mod attribute;

mod listing;

mod array;

mod stream;

mod redirect;
