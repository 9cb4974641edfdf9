//! Tori: routers on a grid of any number of dimensions whose ends are joined.
//!
//! A router's ports are two for each dimension, up before down, then the terminals. Source for the virtual channels that keep it
//! free of deadlock: W. Dally, C. Seitz, Deadlock-free message routing in multiprocessor interconnection networks, IEEE ToC 36
//! (1987): a packet changes its channel where a ring closes.

use super::super::counters::LinkKind;
use super::{refused, within, End, MOST_PORTS};
use thalweg_foundation::Result;

/// A torus by its numbers; routers are numbered along the first dimension first.
#[derive(Clone, Debug)]
pub struct Torus {
    extents: Vec<u32>,
    /// Routers from one to the next of each dimension.
    strides: Vec<u32>,
    terminals: u32,
    routers: u32,
}

/// A step towards a router.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The port.
    pub port: u16,
    /// Whether the ring's end lies behind the packet, or not on its way at all.
    pub beyond_end: bool,
}

impl Torus {
    /// A torus of `extents` routers with `terminals` terminals each.
    ///
    /// # Errors
    /// `Invalid` for no or more than eight dimensions, and when a number is zero or too large.
    pub fn new(extents: &[u32], terminals: u32) -> Result<Torus> {
        within("torus", "dimensions", extents.len() as u64, 1, 8)?;
        within("torus", "terminals", u64::from(terminals), 1, 1024)?;
        for (dimension, extent) in extents.iter().enumerate() {
            within("torus", &format!("extents[{dimension}]"), u64::from(*extent), 1, 1024)?;
        }
        let routers = extents.iter().try_fold(1u64, |all, extent| all.checked_mul(u64::from(*extent)));
        let radix = 2 * extents.len() as u64 + u64::from(terminals);
        let routers =
            routers.filter(|routers| routers.saturating_mul(radix) <= MOST_PORTS).ok_or_else(|| {
                refused("torus", format!("extents = {extents:?}: at most {MOST_PORTS} ports can be numbered"))
            })?;
        let hops: u32 = extents.iter().map(|extent| extent / 2).sum();
        if hops > 120 {
            return Err(refused(
                "torus",
                format!("extents = {extents:?}: a way of {hops} links; at most 120"),
            ));
        }
        let mut strides = Vec::new();
        let mut stride = 1;
        for extent in extents {
            strides.push(stride);
            stride *= extent;
        }
        Ok(Torus { extents: extents.to_vec(), strides, terminals, routers: routers as u32 })
    }

    pub(in super::super) fn router_count(&self) -> u32 {
        self.routers
    }

    pub(super) fn terminal_count(&self) -> u32 {
        self.routers * self.terminals
    }

    pub(super) fn radix(&self) -> u32 {
        2 * self.extents.len() as u32 + self.terminals
    }

    /// A slab across the last dimension that is longer than one.
    fn slab(&self) -> u32 {
        let last = self.extents.iter().rposition(|extent| *extent > 1).unwrap_or(0);
        self.strides[last]
    }

    pub(super) fn has(&self, kind: LinkKind) -> bool {
        kind == LinkKind::Local && self.routers > 1
    }

    pub(super) fn group_size(&self) -> u32 {
        self.slab() * self.terminals
    }

    pub(super) fn firsts(&self) -> Vec<u32> {
        (0..self.routers).step_by(self.slab() as usize).collect()
    }

    #[inline]
    pub(in super::super) fn router_of(&self, terminal: u32) -> u32 {
        terminal / self.terminals
    }

    /// The port of its router that leads to a terminal.
    #[inline]
    pub(in super::super) fn terminal_port(&self, terminal: u32) -> u16 {
        (2 * self.extents.len() as u32 + terminal % self.terminals) as u16
    }

    pub(super) fn end(&self, router: u32, index: u32) -> End {
        let dimension = index as usize / 2;
        if dimension >= self.extents.len() {
            let place = index - 2 * self.extents.len() as u32;
            return End::Terminal(router * self.terminals + place);
        }
        let (extent, stride) = (self.extents[dimension], self.strides[dimension]);
        if extent == 1 {
            return End::Nothing;
        }
        let here = router / stride % extent;
        let there = if index.is_multiple_of(2) { (here + 1) % extent } else { (here + extent - 1) % extent };
        let peer = router - here * stride + there * stride;
        End::Router { kind: LinkKind::Local, port: peer * self.radix() + (index ^ 1) }
    }

    /// The next step towards another router: along the first dimension in which they differ, the shorter way round. Of two ways of
    /// the same length, routers with an even place go up.
    #[inline]
    pub(in super::super) fn toward(&self, router: u32, to: u32) -> Step {
        for (dimension, (extent, stride)) in self.extents.iter().zip(&self.strides).enumerate() {
            let (here, there) = (router / stride % extent, to / stride % extent);
            if here == there {
                continue;
            }
            let up = (there + extent - here) % extent;
            let goes_up = 2 * up < *extent || 2 * up == *extent && here.is_multiple_of(2);
            let beyond_end = if goes_up { here < there } else { here > there };
            return Step { port: (2 * dimension + usize::from(!goes_up)) as u16, beyond_end };
        }
        unreachable!("router {router} has no way to itself")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_is_a_shortest_one_and_changes_its_channel_once_at_most() {
        for torus in [Torus::new(&[4, 5], 1).unwrap(), Torus::new(&[2, 1, 6], 1).unwrap()] {
            for (from, to) in (0..torus.routers).flat_map(|a| (0..torus.routers).map(move |b| (a, b))) {
                let distance: u32 = (torus.extents.iter().zip(&torus.strides))
                    .map(|(extent, stride)| {
                        let apart = (from / stride % extent).abs_diff(to / stride % extent);
                        apart.min(extent - apart)
                    })
                    .sum();
                let (mut router, mut hops) = (from, 0);
                let mut last: Option<Step> = None;
                while router != to {
                    let step = torus.toward(router, to);
                    if let Some(last) = last.filter(|last| last.port == step.port) {
                        assert!(step.beyond_end || !last.beyond_end, "back to the channel before the end");
                    }
                    last = Some(step);
                    let End::Router { port, .. } = torus.end(router, u32::from(step.port)) else { panic!() };
                    router = port / torus.radix();
                    hops += 1;
                }
                assert_eq!(hops, distance);
            }
        }
    }

    #[test]
    fn what_is_no_torus_is_refused() {
        let message = |extents: &[u32], terminals| Torus::new(extents, terminals).unwrap_err().message;
        assert_eq!(message(&[], 1), "topology: torus: dimensions = 0; accepted are 1 to 8");
        assert_eq!(message(&[4, 0], 1), "topology: torus: extents[1] = 0; accepted are 1 to 1024");
        assert_eq!(message(&[4], 0), "topology: torus: terminals = 0; accepted are 1 to 1024");
        assert_eq!(message(&[512], 1), "topology: torus: extents = [512]: a way of 256 links; at most 120");
    }
}
