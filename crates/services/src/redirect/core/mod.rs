//! The redirect service as a state machine: no clock, no socket, no byte of a file.
//!
//! It is driven by `step`. Contents are numbers here; what lies behind them is made and kept by who carries out the `Output`s.

mod coupling;
mod file;
mod state;
mod waiting;
mod written;

pub use state::{Config, Redirect};

use super::message::{Reply, Request};
use thalweg_foundation::base::{Name, PeerId};
use thalweg_foundation::Bytes;

/// What happens to the service.
#[derive(Clone, Debug)]
pub enum Input {
    /// A process was let in.
    Joined {
        /// Its connection.
        peer: PeerId,
        /// The coupling that it takes part in.
        coupling: Name,
        /// The component that it is one of.
        component: Name,
        /// Its number in the operating system; for messages to people.
        pid: u32,
    },
    /// A process closed its connection or died.
    Gone(PeerId),
    /// A process asks.
    Request {
        /// Who.
        from: PeerId,
        /// The request's number, unique for the process.
        id: u64,
        /// What.
        body: Request,
    },
    /// A content that was to be made could not be.
    Unmade(u64),
    /// So many bytes are in contents.
    Used(Bytes),
    /// Time has passed.
    Tick,
}

/// What the service wants done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// An answer is to be sent.
    Send {
        /// To whom.
        to: PeerId,
        /// In answer to which request.
        id: u64,
        /// What.
        reply: Reply,
    },
    /// Make an empty content.
    Make {
        /// Its number, never used twice.
        content: u64,
        /// One that was retired of this kind will do.
        kind: Option<String>,
    },
    /// Find out how large this content is: nobody writes it any more.
    Measure {
        /// Its number.
        content: u64,
    },
    /// Nobody can open this content any more; who has it open keeps it.
    Drop {
        /// Its number.
        content: u64,
    },
    /// Nobody uses this content any more; its memory may be that of the next one of its kind.
    Retire {
        /// Its number.
        content: u64,
        /// What files of its kind are called.
        kind: String,
    },
    /// Write a content to its file.
    Save {
        /// Its number.
        content: u64,
        /// The file's absolute path.
        path: String,
    },
    /// Remove what was saved there, if anything was.
    Unsave {
        /// The file's absolute path.
        path: String,
    },
    /// Rename what was saved there, if anything was.
    Resave {
        /// Its absolute path.
        from: String,
        /// The new one.
        to: String,
    },
}
