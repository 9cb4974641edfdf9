//! Counters of the staging service.

use serde::{Deserialize, Serialize};

macro_rules! stats {
    ($($(#[$doc:meta])* $field:ident),* $(,)?) => {
        /// Counters of the service.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        pub struct Stats { $($(#[$doc])* pub $field: u64),* }

        impl Stats {
            /// The sums over two services.
            pub fn plus(&self, other: &Stats) -> Stats {
                Stats { $($field: self.$field + other.$field),* }
            }

            /// Names and values, in a fixed order.
            pub fn fields(&self) -> Vec<(&'static str, u64)> {
                vec![$((stringify!($field), self.$field)),*]
            }
        }
    };
}

stats! {
    /// Clients connected now.
    clients,
    /// Versions held now.
    entries,
    /// Bytes of the versions held now.
    entry_bytes,
    /// Bytes granted to writers and not yet put.
    granted_bytes,
    /// Bytes withdrawn but still read by somebody.
    retired_bytes,
    /// Bytes of memory taken from the system.
    memory_bytes,
    /// The limit on `memory_bytes`.
    limit_bytes,
    /// Versions put since the start.
    puts,
    /// Bytes put since the start.
    put_bytes,
    /// Versions deleted since the start.
    deletes,
    /// Versions dropped since the start because memory was short.
    dropped,
    /// Reservations that had to wait for room since the start.
    blocked,
    /// Reservations waiting now.
    blocked_now,
    /// Waits for keys and regions pending now.
    waiting_now,
    /// Variables defined now.
    variables,
    /// Bytes of replicas in other layouts held now.
    replica_bytes,
    /// The limit on `replica_bytes`.
    replica_limit_bytes,
    /// Replicas made since the start.
    replicas_made,
    /// Replicas evicted since the start.
    replicas_evicted,
    /// Gets of regions answered since the start.
    gets,
    /// Gets that found a replica ready, or waited for one.
    replica_hits,
    /// Bytes that rest in the spill file now.
    spilled_bytes,
    /// The limit on `spilled_bytes`.
    spill_limit_bytes,
    /// Arrays and pieces spilled since the start.
    spilled,
    /// Reorganisations, reductions and moves under way now.
    tasks_now,
}
