//! The outgoing side of a link: when it is free, and what went over it.

use super::parameters::{LinkParameters, Parameters};
use crate::engine::Picos;

/// What a port is like and what it is doing; its far end never changes.
#[derive(Clone, Copy, Debug)]
pub struct Port {
    /// When what was sent so far is on the link.
    pub free: Picos,
    /// Since when its buffers are full, or [`Picos::NEVER`].
    pub full_since: Picos,
    /// The port of a router, or the terminal, at the far end.
    pub peer: u32,
    /// Packets that wait for room in a buffer.
    pub waiting: u16,
    /// The index of its class of links.
    pub class: u8,
    /// One bit for each virtual channel with packets that are ready to be sent.
    pub ready: u8,
    /// Whether an event will send the next packet.
    pub sending: bool,
}

const _: () = assert!(std::mem::size_of::<Port>() <= 32);

/// One class of links with its times worked out.
#[derive(Clone, Copy, Debug)]
pub struct Class {
    /// How long a full packet is on the link.
    pub service: Picos,
    /// What comes on top until it arrives.
    pub delay: Picos,
    /// Packets that a buffer holds.
    pub capacity: u16,
    /// From acceptance to credit.
    pub credit_delay: Picos,
    /// Picoseconds a byte.
    pub byte: f64,
}

impl Class {
    /// The links of `link`, as routers see them.
    pub fn new(link: &LinkParameters, parameters: &Parameters) -> Class {
        Class {
            service: link.service(u32::from(parameters.packet_bytes)),
            delay: parameters.router_delay + link.delay,
            capacity: (link.buffer_bytes / u32::from(parameters.packet_bytes)) as u16,
            credit_delay: link.credit_delay,
            byte: 1e12 / (link.bandwidth_gib_per_s * (1u64 << 30) as f64),
        }
    }

    /// How long a packet of `size` bytes is on the link.
    #[inline]
    pub fn service_of(&self, size: u16, full: u16, empty: u32) -> Picos {
        if size == full {
            self.service
        } else {
            let bytes = if size == 0 { empty } else { u32::from(size) };
            Picos((f64::from(bytes) * self.byte).round() as u64)
        }
    }
}

/// The index of each class.
pub const TERMINAL: u8 = 0;
pub const LOCAL: u8 = 1;
pub const GLOBAL: u8 = 2;
/// A port that leads nowhere.
pub const UNUSED: u8 = 3;
