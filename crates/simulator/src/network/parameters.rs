//! What the parts of a network are like: bandwidths, delays, buffers, sizes.

use super::routing::{Detour, Routing};
use crate::engine::random::{self, Purpose};
use crate::engine::Picos;
use thalweg_foundation::{Error, Kind, Result};

/// One class of links, and the buffers at their far end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkParameters {
    /// Bandwidth in GiB/s.
    pub bandwidth_gib_per_s: f64,
    /// From the end of a packet's sending to its arrival.
    pub delay: Picos,
    /// The buffer of each virtual channel in bytes.
    pub buffer_bytes: u32,
    /// From the acceptance of a packet at the far end to the sender's knowing.
    pub credit_delay: Picos,
}

impl LinkParameters {
    /// How long `bytes` are on the link.
    pub fn service(&self, bytes: u32) -> Picos {
        Picos::from_nanos(f64::from(bytes) / (self.bandwidth_gib_per_s * (1u64 << 30) as f64) * 1e9)
    }
}

/// A network's parameters beside its topology.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameters {
    /// Between a terminal and its router.
    pub terminal: LinkParameters,
    /// Between routers of a group.
    pub local: LinkParameters,
    /// Between groups.
    pub global: LinkParameters,
    /// The largest packet in bytes; a packet of any size fills this much of a buffer.
    pub packet_bytes: u16,
    /// What a packet without data costs on a link, in bytes.
    pub empty_packet_bytes: u32,
    /// From a router's decision to the link.
    pub router_delay: Picos,
    /// What the network interface needs for each message.
    pub interface_delay: Picos,
    /// The least and the most that a message needs from the node to the interface, and again within it.
    pub dither: (Picos, Picos),
    /// How packets find their way.
    pub routing: Routing,
    /// Through what a dragonfly's packets go round.
    pub detour: Detour,
}

impl Parameters {
    /// The parameters of MFNetSim's published artifact (experiments/conf/network/dally-1056-*.conf), with delays of links
    /// that default to the time of one packet on them, so that each hop costs that twice.
    pub fn artifact(routing: Routing) -> Parameters {
        let link = |bandwidth_gib_per_s: f64, buffer_bytes: u32| {
            let link = LinkParameters {
                bandwidth_gib_per_s,
                delay: Picos::ZERO,
                buffer_bytes,
                credit_delay: Picos::from_nanos(8.0 / (5.25 * (1u64 << 30) as f64) * 1e9),
            };
            LinkParameters { delay: link.service(4096), ..link }
        };
        Parameters {
            terminal: link(16.0, 32 << 10),
            local: link(5.25, 16 << 10),
            global: link(4.7, 16 << 10),
            packet_bytes: 4096,
            empty_packet_bytes: 8,
            router_delay: Picos::from_nanos(100.0),
            interface_delay: Picos::from_nanos(10.0),
            dither: (Picos::from_nanos(0.5), Picos::from_nanos(1.0)),
            routing,
            detour: Detour::Group,
        }
    }

    /// What the MFNetSim paper prints, where its artifact differs: 4.37 GiB/s between groups, detours by a certain router.
    pub fn paper(routing: Routing) -> Parameters {
        let artifact = Parameters::artifact(routing);
        let mut global = LinkParameters { bandwidth_gib_per_s: 4.37, ..artifact.global };
        global.delay = global.service(u32::from(artifact.packet_bytes));
        Parameters { global, detour: Detour::Router, ..artifact }
    }

    /// The paper's machine as it should be: a packet's time on a link is charged once; what comes on top is the length of the cable
    /// (5 ns a metre: 2 m to a terminal, 4 m within a group, 60 m between groups), which a credit crosses as well.
    pub fn right(routing: Routing) -> Parameters {
        let paper = Parameters::paper(routing);
        let cable = |link: LinkParameters, nanos: f64| {
            let delay = Picos::from_nanos(nanos);
            LinkParameters { delay, credit_delay: delay, ..link }
        };
        Parameters {
            terminal: cable(paper.terminal, 10.0),
            local: cable(paper.local, 20.0),
            global: cable(paper.global, 300.0),
            ..paper
        }
    }

    /// What a message needs of a terminal's node for one purpose.
    pub fn draw_dither(&self, seed: u64, purpose: Purpose, terminal: u32, count: u64) -> Picos {
        let (least, most) = self.dither;
        random::between(random::bits(seed, purpose, u64::from(terminal), count), least, most)
    }

    /// # Errors
    /// `Invalid` for a link without bandwidth, a buffer that no packet fits, or packets without room for data.
    pub fn check(&self) -> Result<()> {
        let refused = |detail: String| Err(Error::new(Kind::Invalid, "network", detail));
        let longest = Picos(1_000_000_000_000);
        if self.packet_bytes == 0 {
            return refused("packets of 0 bytes; at least 1 is needed".into());
        }
        for (name, link) in [("terminal", self.terminal), ("local", self.local), ("global", self.global)] {
            let bandwidth = link.bandwidth_gib_per_s;
            if !(bandwidth > 0.0 && bandwidth.is_finite()) {
                return refused(format!("a {name} link of {bandwidth} GiB/s; the bandwidth must be above 0"));
            }
            if link.service(u32::from(self.packet_bytes)) > longest {
                return refused(format!(
                    "a {name} link of {bandwidth} GiB/s; a packet of {} bytes must take at most {longest}",
                    self.packet_bytes
                ));
            }
            let most = u32::from(self.packet_bytes) * 1024;
            if !(u32::from(self.packet_bytes)..=most).contains(&link.buffer_bytes) {
                return refused(format!(
                    "a {name} buffer of {} bytes; it must hold 1 to 1024 packets of {} bytes",
                    link.buffer_bytes, self.packet_bytes
                ));
            }
        }
        for (name, delay) in [
            ("a terminal link", self.terminal.delay),
            ("a local link", self.local.delay),
            ("a global link", self.global.delay),
            ("a router", self.router_delay),
            ("an interface", self.interface_delay),
        ] {
            if delay > longest {
                return refused(format!("the delay of {name} is {delay}; accepted are 0 to {longest}"));
            }
        }
        if self.dither.0 > self.dither.1 {
            return refused(format!("a dither from {} down to {}", self.dither.0, self.dither.1));
        }
        Ok(())
    }
}
