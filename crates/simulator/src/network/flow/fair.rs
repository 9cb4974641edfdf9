//! Fair shares: rates of which none can grow but at the cost of one that is not larger (max-min).
//!
//! Progressive filling (D. Bertsekas, R. Gallager, Data networks, 2nd ed., section 6.5.2), all local bottlenecks of a round at once: a
//! link whose equal share none of its users can get less of elsewhere settles all of them.

/// A sender's way over links, and what it gets.
#[derive(Clone, Debug)]
pub struct Share {
    /// The links by their numbers.
    pub links: Vec<u32>,
    /// Bytes a picosecond.
    pub rate: f64,
}

/// Links with their capacities and users.
#[derive(Clone, Debug)]
pub struct Links {
    links: Vec<Link>,
    /// What is left while shares are worked out: kept for its memory, and for which links were full.
    filling: Filling,
}

#[derive(Clone, Copy, Debug)]
struct Link {
    /// Bytes a picosecond.
    capacity: f64,
    /// Users as the caller counts them.
    users: u32,
    /// Its place among those that are being filled.
    place: u32,
    /// Whether it settled some of its users.
    full: bool,
}

/// No place.
const NOWHERE: u32 = u32::MAX;

/// The links that somebody uses, side by side, and the ways over them.
#[derive(Clone, Debug, Default)]
struct Filling {
    partial: Vec<Partial>,
    /// The links of all ways by their places, one way behind the other.
    ways: Vec<u32>,
    open: Vec<Open>,
}

/// A link that is not settled.
#[derive(Clone, Copy, Debug)]
struct Partial {
    left: f64,
    /// An equal part of what is left for each of those that have no rate yet.
    share: f64,
    waiting: u32,
    /// How many of these can get no less elsewhere; only its distance from `waiting` counts once some have their rates.
    content: u32,
    link: u32,
}

/// A share that has no rate yet.
#[derive(Clone, Copy, Debug)]
struct Open {
    least: f64,
    /// Where its way begins and ends.
    begin: u32,
    end: u32,
    share: u32,
}

/// After so many rounds what is left is settled by equal shares; most problems need three to six.
const ROUNDS: usize = 16;

impl Links {
    /// Idle links of these capacities in bytes a picosecond.
    pub fn new(capacities: impl Iterator<Item = f64>) -> Links {
        let link = |capacity| Link { capacity, users: 0, place: NOWHERE, full: false };
        Links { links: capacities.map(link).collect(), filling: Filling::default() }
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

    /// Nothing flows any more: no link is full.
    pub fn empty(&mut self) {
        for partial in &self.filling.partial {
            self.links[partial.link as usize].full = false;
        }
    }

    /// The links that the last settling found full.
    pub fn full_links(&self) -> impl Iterator<Item = u32> + '_ {
        self.filling.partial.iter().map(|partial| partial.link).filter(|link| self.full(*link))
    }

    /// Gives every share its rate; who uses which link must have been counted.
    pub fn settle<'a>(&mut self, shares: impl Iterator<Item = &'a mut Share>) {
        let mut rates = self.gather(shares);
        let Filling { partial, ways, open } = &mut self.filling;
        for round in 0.. {
            if open.is_empty() {
                break;
            }
            for link in partial.iter_mut().filter(|link| link.waiting > 0) {
                link.share = link.left.max(0.0) / f64::from(link.waiting);
                link.content = 0;
            }
            for share in open.iter_mut() {
                let way = &ways[share.begin as usize..share.end as usize];
                let least = way.iter().map(|place| partial[*place as usize].share);
                share.least = least.fold(f64::INFINITY, f64::min);
                for place in way {
                    let link = &mut partial[*place as usize];
                    link.content += u32::from(link.share <= share.least);
                }
            }
            open.retain(|share| {
                let way = &ways[share.begin as usize..share.end as usize];
                let bottleneck = way.iter().find(|place| {
                    let link = &partial[**place as usize];
                    link.content == link.waiting && link.share <= share.least
                });
                let Some(bottleneck) = bottleneck.or_else(|| way.first().filter(|_| round >= ROUNDS)) else {
                    return true;
                };
                self.links[partial[*bottleneck as usize].link as usize].full = round < ROUNDS;
                *rates[share.share as usize] = share.least;
                for place in way {
                    let link = &mut partial[*place as usize];
                    link.left -= share.least;
                    link.waiting -= 1;
                    link.content = link.content.wrapping_sub(1);
                }
                false
            });
        }
    }

    /// The first of those links that have the least capacity.
    fn narrowest(&self, links: &[u32]) -> u32 {
        let mut found = (f64::INFINITY, NOWHERE);
        for link in links {
            let capacity = self.links[*link as usize].capacity;
            if capacity < found.0 {
                found = (capacity, *link);
            }
        }
        found.1
    }

    /// Brings what is to be settled together; where the rates go.
    fn gather<'a>(&mut self, shares: impl Iterator<Item = &'a mut Share>) -> Vec<&'a mut f64> {
        let mut filling = std::mem::take(&mut self.filling);
        let Filling { partial, ways, open } = &mut filling;
        for partial in partial.drain(..) {
            let link = &mut self.links[partial.link as usize];
            (link.full, link.place) = (false, NOWHERE);
        }
        ways.clear();
        open.clear();
        let mut rates = Vec::new();
        for Share { links, rate } in shares {
            let begin = ways.len() as u32;
            let narrowest = self.narrowest(links);
            for number in links.iter() {
                let link = &mut self.links[*number as usize];
                // Nobody else's: the narrowest never leaves more than this one has.
                if link.users == 1 && *number != narrowest {
                    continue;
                }
                if link.place == NOWHERE {
                    link.place = partial.len() as u32;
                    let (left, share) = (link.capacity, link.capacity);
                    partial.push(Partial { left, share, waiting: 0, content: 0, link: *number });
                }
                partial[link.place as usize].waiting += 1;
                ways.push(link.place);
            }
            open.push(Open { least: 0.0, begin, end: ways.len() as u32, share: rates.len() as u32 });
            rates.push(rate);
        }
        self.filling = filling;
        rates
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn settled(capacities: &[f64], ways: &[&[u32]]) -> Vec<f64> {
        let mut links = Links::new(capacities.iter().copied());
        let mut shares: Vec<_> =
            ways.iter().map(|links| Share { links: links.to_vec(), rate: 0.0 }).collect();
        ways.iter().copied().flatten().for_each(|link| links.count(*link, true));
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
