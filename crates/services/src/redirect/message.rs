//! What programs and the redirect service say to each other.

use super::rule::Rule;
use serde::{Deserialize, Serialize};
use thalweg_foundation::array::Region;
use thalweg_foundation::base::Name;
use thalweg_foundation::Error;

/// The version of the protocol.
pub const PROTOCOL: u32 = 1;

/// The longest path in bytes, as the operating system has it.
pub const PATH_MAX: usize = 4096;

/// What a program wants to do with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Access {
    /// See what is there now; waits for nobody and disturbs nobody.
    Look,
    /// Read what others wrote.
    Read,
    /// Read and write what is there.
    Update,
    /// Make it, or make it anew.
    Create {
        /// Only if it is not there.
        exclusive: bool,
        /// Without what was in it.
        truncate: bool,
    },
}

impl Access {
    /// Whether the file may be another one afterwards.
    pub fn writes(self) -> bool {
        matches!(self, Access::Update | Access::Create { .. })
    }
}

/// What a process has put into a variable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wrote {
    /// Its number in the file.
    pub variable: u32,
    /// All of it, with as many records as there are.
    pub whole: Region,
    /// What was put.
    pub parts: Vec<Region>,
}

/// What nobody has put into a variable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hole {
    /// Its number in the file.
    pub variable: u32,
    /// Where nothing was put.
    pub region: Region,
}

/// The most holes of a file that are told; others are not noticed.
pub const HOLES_MAX: usize = 512;

/// What a program asks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Request {
    /// I want to use a file. Answered when the file is there for me, or after the rule's deadline.
    Open {
        /// Its absolute path.
        path: String,
        /// The rule that it matches.
        rule: Rule,
        /// What for.
        access: Access,
        /// This is no turn: only a glance before one, or between its calls.
        glance: bool,
        /// What is not there is not waited for.
        at_once: bool,
        /// The bytes of an earlier file of this kind will do, as they are overwritten: their memory is at hand.
        warm: bool,
    },
    /// I have done with what I opened.
    Close {
        /// Its number.
        opened: u64,
    },
    /// Is it there for me?
    Find {
        /// Its absolute path.
        path: String,
        /// The rule that it matches.
        rule: Rule,
    },
    /// Forget a file.
    Remove {
        /// Its absolute path.
        path: String,
    },
    /// Call a file otherwise; what had that name is forgotten.
    Rename {
        /// Its absolute path.
        from: String,
        /// The new one.
        to: String,
        /// The rule that the new one matches.
        rule: Rule,
    },
    /// A component of the coupling has ended; none of its processes will ask again.
    Ended {
        /// Which.
        component: Name,
        /// The components that are still running.
        running: Vec<Name>,
        /// Why, when it did not end well.
        failure: Option<String>,
    },
    /// Forget this request: nobody waits for it any more.
    Cancel {
        /// Its number.
        request: u64,
    },
    /// I have put this into a file that I have open for writing. Who closes one without it may have written all of it.
    Wrote {
        /// The file's number.
        opened: u64,
        /// Each variable, also those into which nothing was put. More may follow.
        variables: Vec<Wrote>,
    },
    /// What has nobody written of a file that I have open?
    Holes {
        /// The file's number.
        opened: u64,
    },
    /// I cannot go on; nor can those who exchange files with me.
    Fail {
        /// Why.
        why: String,
    },
    /// I have done with what I opened, but for looking at it.
    HandOver {
        /// Its number.
        opened: u64,
    },
}

/// What the service answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reply {
    /// No.
    Failed(Error),
    /// It is done.
    Done,
    /// To `Open`.
    Opened {
        /// The number under which it is closed.
        opened: u64,
        /// Where its bytes are.
        content: u64,
        /// Whether it was there before.
        existed: bool,
    },
    /// To `Find`: where its bytes are.
    Found {
        /// The content's number.
        content: u64,
    },
    /// To `Holes`: at most `HOLES_MAX`.
    Holes(Vec<Hole>),
}
