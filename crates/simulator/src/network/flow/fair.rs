//! Fair shares: rates of which none can grow but at the cost of one that is not larger (max-min).
//!
//! Progressive filling (D. Bertsekas, R. Gallager, Data networks, 2nd ed., section 6.5.2), all local bottlenecks of a round at once: a
//! link whose equal share none of its users can get less of elsewhere settles all of them.

/// A sender's way over links, and what it gets.
#[derive(Clone, Debug, Default)]
pub struct Share {
    /// The links by their numbers.
    pub links: Vec<u32>,
    /// Bytes a picosecond.
    pub rate: f64,
    /// Whether it has its rate.
    settled: bool,
    least: f64,
}

impl Share {
    /// One over these links, which gets `rate` until rates are worked out.
    pub fn over(links: Vec<u32>, rate: f64) -> Share {
        Share { links, rate, ..Share::default() }
    }
}

/// Links with their capacities, and what is left of them while shares are worked out.
#[derive(Clone, Debug)]
pub struct Links {
    links: Vec<Link>,
    /// Links that somebody uses.
    used: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Link {
    /// Bytes a picosecond.
    capacity: f64,
    left: f64,
    /// An equal part of what is left for each of those that have no rate yet.
    share: f64,
    waiting: u32,
    content: u32,
    /// Users as the caller counts them.
    users: u32,
    /// Whether it settled some of its users.
    full: bool,
}

/// After so many rounds what is left is settled by equal shares; most problems need three to six.
const ROUNDS: usize = 16;

impl Links {
    /// Idle links of these capacities in bytes a picosecond.
    pub fn new(capacities: impl Iterator<Item = f64>) -> Links {
        let link = |capacity| Link {
            capacity,
            left: capacity,
            share: capacity,
            waiting: 0,
            content: 0,
            users: 0,
            full: false,
        };
        Links { links: capacities.map(link).collect(), used: Vec::new() }
    }

    /// One more user of a link, or one less.
    pub fn count(&mut self, link: u32, comes: bool) {
        let users = &mut self.links[link as usize].users;
        *users = if comes { *users + 1 } else { *users - 1 };
    }

    /// How many use a link.
    pub fn users(&self, link: u32) -> u32 {
        self.links[link as usize].users
    }

    /// The capacity of a link, shared equally with those who use it.
    pub fn equal(&self, link: u32, others: u32) -> f64 {
        self.links[link as usize].capacity / f64::from(others + 1)
    }

    /// Whether the last settling found a link full.
    pub fn full(&self, link: u32) -> bool {
        self.links[link as usize].full
    }

    /// The links that the last settling found full.
    pub fn full_links(&self) -> impl Iterator<Item = u32> + '_ {
        self.used.iter().copied().filter(|link| self.full(*link))
    }

    /// Gives every share its rate.
    pub fn settle<'a>(&mut self, shares: impl Iterator<Item = &'a mut Share>) {
        let mut open: Vec<&mut Share> = Vec::new();
        for link in self.used.drain(..) {
            self.links[link as usize].full = false;
        }
        for share in shares {
            share.settled = false;
            for number in &share.links {
                let link = &mut self.links[*number as usize];
                if link.waiting == 0 {
                    link.left = link.capacity;
                    self.used.push(*number);
                }
                link.waiting += 1;
            }
            open.push(share);
        }
        for round in 0.. {
            if open.is_empty() {
                break;
            }
            for number in &self.used {
                let link = &mut self.links[*number as usize];
                link.share = link.left.max(0.0) / f64::from(link.waiting.max(1));
                link.content = 0;
            }
            for share in open.iter_mut() {
                let least = share.links.iter().map(|link| self.links[*link as usize].share);
                share.least = least.fold(f64::INFINITY, f64::min);
                for number in &share.links {
                    let link = &mut self.links[*number as usize];
                    link.content += u32::from(link.share <= share.least);
                }
            }
            for share in open.iter_mut() {
                let bottleneck = share.links.iter().find(|number| {
                    let link = &self.links[**number as usize];
                    link.content == link.waiting && link.share <= share.least
                });
                if let Some(bottleneck) = bottleneck.copied().or((round >= ROUNDS).then(|| share.links[0])) {
                    share.settled = true;
                    share.rate = share.least;
                    self.links[bottleneck as usize].full = round < ROUNDS;
                }
            }
            for share in open.iter().filter(|share| share.settled) {
                for number in &share.links {
                    let link = &mut self.links[*number as usize];
                    link.left -= share.rate;
                    link.waiting -= 1;
                }
            }
            open.retain(|share| !share.settled);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn settled(capacities: &[f64], ways: &[&[u32]]) -> Vec<f64> {
        let mut links = Links::new(capacities.iter().copied());
        let mut shares: Vec<_> = ways.iter().map(|links| Share::over(links.to_vec(), 0.0)).collect();
        links.settle(shares.iter_mut());
        shares.iter().map(|share| share.rate).collect()
    }

    #[test]
    fn what_one_cannot_use_the_others_get() {
        // Three share the first link; one of them gets no more than 1 behind it, so the others get 4 each.
        assert_eq!(settled(&[9.0, 1.0, 100.0], &[&[0, 1], &[0, 2], &[0]]), [1.0, 4.0, 4.0]);
        // The textbook's line: one long flow and one short one on each link.
        assert_eq!(settled(&[1.0, 2.0], &[&[0, 1], &[0], &[1]]), [0.5, 0.5, 1.5]);
    }

    proptest! {
        #[test]
        fn every_share_has_a_full_link_where_nobody_gets_more(
            capacities in prop::collection::vec(0.5f64..10.0, 1..8),
            ways in prop::collection::vec(prop::collection::btree_set(0u32..8, 1..5), 1..12),
        ) {
            let ways: Vec<Vec<u32>> = ways.into_iter()
                .map(|way| way.into_iter().map(|link| link % capacities.len() as u32).collect())
                .map(|mut way: Vec<u32>| { way.sort_unstable(); way.dedup(); way })
                .collect();
            let slices: Vec<&[u32]> = ways.iter().map(Vec::as_slice).collect();
            let rates = settled(&capacities, &slices);
            let users = |link: u32| ways.iter().zip(&rates).filter(move |(way, _)| way.contains(&link)).map(|(_, rate)| *rate);
            for (link, capacity) in (0..).zip(&capacities) {
                prop_assert!(users(link).sum::<f64>() <= capacity * (1.0 + 1e-9));
            }
            for (way, rate) in ways.iter().zip(&rates) {
                let is_bottleneck = |link: &u32| {
                    let full = users(*link).sum::<f64>() >= capacities[*link as usize] * (1.0 - 1e-9);
                    full && users(*link).all(|other| other <= rate * (1.0 + 1e-9))
                };
                prop_assert!(way.iter().any(is_bottleneck));
            }
        }
    }
}
