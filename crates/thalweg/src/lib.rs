//! The façade: what bindings and Rust programs use of Thalweg.
//!
//! ```
//! use thalweg::{embedded, Client, Identity, Key, Name, Patience, Nanos, Shape, Version};
//! let identity = Identity { name: Name::new("doc", "solver")?, namespace: Name::new("doc", "run")?, token: String::new() };
//! let client = Client::connect(embedded()?.address(), identity, Patience::of(Nanos(1_000_000_000)))?;
//! let key = Key { name: Name::new("doc", "greeting")?, version: Version(0) };
//! let within = Patience::of(Nanos(1_000_000_000));
//! let text = b"hello";
//! // SAFETY: five readable bytes.
//! unsafe { client.put(key.clone(), Shape::bytes(5)?, text.as_ptr(), &[1], false, within)? };
//! let view = client.get(key, within)?;
//! // SAFETY: the view keeps its five bytes.
//! assert_eq!(unsafe { std::slice::from_raw_parts(view.start(), 5) }, text);
//! # Ok::<(), thalweg::Error>(())
//! ```

pub mod limits;
mod relayout;

/// Machines that are not there.
pub mod simulator {
    pub use thalweg_simulator::engine::{hold, Picos};
    pub use thalweg_simulator::mpi::collectives::{schedule, Algorithm, Algorithms, Exchange, Part};
    pub use thalweg_simulator::mpi::Protocol;
    pub use thalweg_simulator::network::routing::Routing;
    pub use thalweg_simulator::network::{Fidelity, Histogram, LinkKind};
    pub use thalweg_simulator::scenario::{
        description, parse_nodes, run, tally, ApplicationResult, Model, Nodes, Outcome, Policy, Scenario,
        Tally, Task, Work,
    };
    pub use thalweg_simulator::storage::{table1, Row, Storage};
    pub use thalweg_simulator::workload::applications::Application;
    pub use thalweg_simulator::workload::language::{Bound, Diagnostic, Performer, Program, Source as Text};
    pub use thalweg_simulator::workload::operation::{
        Behaviour, Collective, Generator, Group, Operation, Seen, Source, MOST_BYTES,
    };
    pub use thalweg_simulator::workload::synthetic::{Gaps, Pattern, Synthetic};
}

/// Streams of events.
pub mod stream {
    pub use thalweg_services::stream::client::{
        BatchSize, Column, Consumer, ConsumerOptions, Driver, Events, Identity, Ordering, Position, Producer,
        ProducerOptions, Pushed, PushedMany,
    };
    pub use thalweg_services::stream::driver::{check, repair, Problem};
    pub use thalweg_services::stream::message::Begin;
    pub use thalweg_services::stream::{Durability, Partition, Rest, Retention, Topic, PARTITIONS_MAX};
}

/// Files that stay in memory.
pub mod redirect {
    pub use thalweg_services::redirect::client::{Client, How, Opened};
    pub use thalweg_services::redirect::message::{Access, Hole, Wrote, HOLES_MAX};
    pub use thalweg_services::redirect::{Mode, Rule, TURNS_MAX};
}

pub use relayout::relayout;
pub use thalweg_foundation::array::{
    Cell, DType, Extents, Field, Histogram, Layout, Number, Part, Plan, Records, Region, Shape, Sum, Summary,
};
pub use thalweg_foundation::base::{Key, Name};
pub use thalweg_foundation::{Bytes, Error, Kind, Nanos, Result, Version};
pub use thalweg_services::server::{Server, Settings, Spill};
pub use thalweg_services::staging::core::WhenFull;
pub use thalweg_services::staging::driver::{
    Client, Identity, Loan, Lying, RegionLoan, RegionView, Stage, Target, Variable, View,
};
pub use thalweg_services::staging::message::{Bins, Entry, Habit, Reduction, Stats, VersionState, Which};
pub use thalweg_services::staging::{Definition, Strategy};
pub use thalweg_transport::link::Patience;
pub use thalweg_transport::memory::available as available_memory;

use std::sync::{Arc, Mutex, PoisonError};

/// The private server of this process, started when first asked for; it ends with the process.
///
/// # Errors
/// `Io` when the system refuses.
pub fn embedded() -> Result<Arc<Server>> {
    static EMBEDDED: Mutex<Option<(u32, Arc<Server>)>> = Mutex::new(None);
    let here = std::process::id();
    let mut embedded = EMBEDDED.lock().unwrap_or_else(PoisonError::into_inner);
    match &*embedded {
        Some((made_in, server)) if *made_in == here => Ok(server.clone()),
        _ => {
            let server = Arc::new(Server::start(Settings { private: true, ..Settings::default() })?);
            // A forked child's copy of its parent's server has no threads to join: it is left alone.
            std::mem::forget(embedded.replace((here, server.clone())));
            Ok(server)
        }
    }
}

/// A client of the private server of this process, which keeps what is put locally for `of`'s readers.
///
/// # Errors
/// As `embedded` and `Client::connect`.
pub fn keeper(of: &Identity, patience: Patience<'_>) -> Result<Arc<Client>> {
    let identity = Identity { token: String::new(), ..of.clone() };
    Client::connect(embedded()?.address(), identity, patience).map(Arc::new)
}
