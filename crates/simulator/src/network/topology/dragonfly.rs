//! The one-dimensional dragonfly: groups of fully connected routers, and links between all pairs of groups.
//!
//! Source: J. Kim, W. Dally, S. Scott, D. Abts, Technology-driven, highly-scalable dragonfly topology, ISCA 2008. Global links
//! are laid as a palm tree: the k-th link of router r leads r·h + k + 1 groups onward, to the router that lies as far from the
//! group's end as r from its beginning.

use super::super::counters::LinkKind;
use super::End;
use thalweg_foundation::{Error, Kind, Result};

/// A dragonfly by its numbers. Routers and terminals are numbered through all groups; a router's ports are first those to the
/// other routers of its group (by their number in it, its own left unused), then the global ones, then the terminals.
#[derive(Clone, Debug)]
pub struct Dragonfly {
    /// Groups.
    pub groups: u32,
    /// Routers of a group.
    pub routers: u32,
    /// Terminals of a router.
    pub terminals: u32,
    /// Global links of a router.
    pub global_links: u32,
    /// The global links that lead onward by 1, 2, … groups, `between` for each.
    gateways: Vec<Gateway>,
    /// Links between two groups.
    between: usize,
    group_of_router: Vec<u16>,
    member_of_router: Vec<u16>,
}

/// The end of a global link in its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gateway {
    /// The router's number in its group.
    pub member: u16,
    /// The port.
    pub port: u16,
}

impl Dragonfly {
    /// A dragonfly of `groups` groups of `routers` routers, each with `terminals` terminals and `global_links` global links.
    ///
    /// # Errors
    /// `Invalid` when a number is zero or too large, or when the global links do not suffice for, or cannot be shared evenly
    /// between, all pairs of groups.
    pub fn new(groups: u32, routers: u32, terminals: u32, global_links: u32) -> Result<Dragonfly> {
        let refused = |detail: String| Err(Error::new(Kind::Invalid, "topology: dragonfly", detail));
        for (name, value, most) in [
            ("groups", groups, 65_534),
            ("routers", routers, 1024),
            ("terminals", terminals, 1024),
            ("global_links", global_links, 1024),
        ] {
            if value == 0 && name != "global_links" || value > most {
                return refused(format!("{name} = {value}; accepted are 1 to {most}"));
            }
        }
        let links = routers * global_links;
        let others = groups - 1;
        if others > 0 && (links < others || !links.is_multiple_of(others)) {
            return refused(format!(
                "{routers} routers with {global_links} global links each make {links} links of a group; \
                 {groups} groups need a multiple of {others}"
            ));
        }
        let all = groups * routers;
        if u64::from(all) * u64::from(routers + global_links + terminals) > 1 << 24 {
            return refused(format!("{all} routers; at most 16,777,216 ports can be numbered"));
        }
        let between = links.checked_div(others).unwrap_or(0);
        let mut gateways = Vec::with_capacity((others * between) as usize);
        for onward in 1..groups {
            for block in 0..between {
                let link = block * others + onward - 1;
                let (member, k) = (link / global_links, link % global_links);
                gateways.push(Gateway { member: member as u16, port: (routers + k) as u16 });
            }
        }
        Ok(Dragonfly {
            groups,
            routers,
            terminals,
            global_links,
            gateways,
            between: between as usize,
            group_of_router: (0..all).map(|router| (router / routers) as u16).collect(),
            member_of_router: (0..all).map(|router| (router % routers) as u16).collect(),
        })
    }

    /// The 1,056 nodes of the paper (table 2): 33 groups of 8 routers with 4 terminals and 4 global links each.
    pub fn paper() -> Dragonfly {
        match Dragonfly::new(33, 8, 4, 4) {
            Ok(dragonfly) => dragonfly,
            Err(error) => unreachable!("{error}"),
        }
    }

    pub(super) fn router_count(&self) -> u32 {
        self.groups * self.routers
    }

    pub(super) fn terminal_count(&self) -> u32 {
        self.router_count() * self.terminals
    }

    pub(super) fn radix(&self) -> u32 {
        self.routers + self.global_links + self.terminals
    }

    pub(super) fn has(&self, kind: LinkKind) -> bool {
        match kind {
            LinkKind::Local => self.routers > 1,
            _ => self.groups > 1,
        }
    }

    pub(super) fn group_size(&self) -> u32 {
        self.routers * self.terminals
    }

    pub(super) fn firsts(&self) -> Vec<u32> {
        (0..self.router_count()).step_by(self.routers as usize).collect()
    }

    pub(super) fn end(&self, router: u32, index: u32) -> End {
        let (member, radix) = (u32::from(self.member(router)), self.radix());
        if index < self.routers {
            if index == member {
                return End::Nothing;
            }
            return End::Router { kind: LinkKind::Local, port: (router - member + index) * radix + member };
        }
        if index < self.routers + self.global_links {
            return self.global_peer(router, index - self.routers).map_or(End::Nothing, |(peer, k)| {
                End::Router { kind: LinkKind::Global, port: peer * radix + self.routers + k }
            });
        }
        End::Terminal(router * self.terminals + index - self.routers - self.global_links)
    }

    /// The group of a router.
    #[inline]
    pub fn group(&self, router: u32) -> u16 {
        self.group_of_router[router as usize]
    }

    /// The router's number in its group, which is also the port of its neighbours that leads to it.
    #[inline]
    pub fn member(&self, router: u32) -> u16 {
        self.member_of_router[router as usize]
    }

    #[inline]
    pub(in super::super) fn router_of(&self, terminal: u32) -> u32 {
        terminal / self.terminals
    }

    /// The port of its router that leads to a terminal.
    #[inline]
    pub fn terminal_port(&self, terminal: u32) -> u16 {
        (self.routers + self.global_links + terminal % self.terminals) as u16
    }

    /// The global links from one group to another.
    #[inline]
    pub fn gateways(&self, from: u16, to: u16) -> &[Gateway] {
        let onward = (u32::from(to) + self.groups - u32::from(from)) % self.groups;
        debug_assert!(onward > 0, "a group has no global link to itself");
        let first = (onward as usize - 1) * self.between;
        &self.gateways[first..first + self.between]
    }

    /// The group that the `k`-th global link of a router leads to, if it is laid.
    pub fn global_peer_group(&self, router: u32, k: u32) -> Option<u16> {
        let others = self.groups - 1;
        let link = u32::from(self.member(router)) * self.global_links + k;
        if others == 0 || link / others >= self.between as u32 {
            return None;
        }
        Some(((u32::from(self.group(router)) + link % others + 1) % self.groups) as u16)
    }

    /// The router at the far end of the `k`-th global link of a router, and which of its global links that is, if it is laid.
    fn global_peer(&self, router: u32, k: u32) -> Option<(u32, u32)> {
        let group = self.global_peer_group(router, k)?;
        let others = self.groups - 1;
        let link = u32::from(self.member(router)) * self.global_links + k;
        let back = link / others * others + (others - 1 - link % others);
        Some((u32::from(group) * self.routers + back / self.global_links, back % self.global_links))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_paper_s_machine_is_wired_as_its_artifact() {
        let dragonfly = Dragonfly::paper();
        assert_eq!(dragonfly.terminal_count(), 1056);
        for router in 0..264 {
            let (s, r) = (router / 8, router % 8);
            for k in 0..4 {
                // The reference: router r, global port k of group s goes to group (s + 4r + k + 1) mod 33, router 7 − r.
                let (peer, _) = dragonfly.global_peer(router, k).unwrap();
                assert_eq!(peer, (s + 4 * r + k + 1) % 33 * 8 + 7 - r);
            }
        }
    }

    #[test]
    fn every_global_link_leads_back_and_every_pair_of_groups_has_as_many() {
        for (groups, routers, links) in [(33, 8, 4), (2, 1, 1), (3, 4, 2), (5, 4, 1), (5, 4, 3), (9, 4, 2)] {
            let dragonfly = Dragonfly::new(groups, routers, 1, links).unwrap();
            let mut laid = vec![0; (groups * groups) as usize];
            for router in 0..dragonfly.router_count() {
                for k in 0..links {
                    let (peer, back) = dragonfly.global_peer(router, k).unwrap();
                    assert_eq!(dragonfly.global_peer(peer, back), Some((router, k)));
                    laid[(u32::from(dragonfly.group(router)) * groups + u32::from(dragonfly.group(peer)))
                        as usize] += 1;
                    let port = (routers + k) as u16;
                    let here = Gateway { member: dragonfly.member(router), port };
                    assert!(dragonfly
                        .gateways(dragonfly.group(router), dragonfly.group(peer))
                        .contains(&here));
                }
            }
            for from in 0..groups {
                for to in 0..groups {
                    let expected = if from == to { 0 } else { routers * links / (groups - 1) };
                    assert_eq!(laid[(from * groups + to) as usize], expected);
                }
            }
        }
    }

    #[test]
    fn what_cannot_be_wired_is_refused() {
        let message = Dragonfly::new(34, 8, 4, 4).unwrap_err().to_string();
        assert_eq!(
            message,
            "topology: dragonfly: 8 routers with 4 global links each make 32 links of a group; 34 groups need a multiple of 33"
        );
        assert!(Dragonfly::new(0, 8, 4, 4).is_err());
        assert!(Dragonfly::new(20, 8, 4, 4).is_err());
        assert!(Dragonfly::new(1, 8, 4, 0).is_ok());
    }
}
