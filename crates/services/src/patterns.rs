//! Access patterns: what is read again and again, so that it can be prepared before it is asked for.
//!
//! A pattern is a region and a form in which it is wanted. A new one that meets an old one of the same form is widened
//! to the region that holds both (Zhang et al., algorithm 1); one that meets none stands beside the others.

use thalweg_foundation::array::Region;

/// The most patterns that are remembered; the one met longest ago makes room.
pub const PATTERNS_MAX: usize = 64;

/// A pattern for which so much was prepared in a row that nobody read is forgotten, until it is met again.
pub const UNREAD_MAX: u32 = 4;

/// A region that is wanted in a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pattern<F> {
    /// Which cells.
    pub region: Region,
    /// In which form.
    pub form: F,
    /// How often it was asked for.
    pub gets: u64,
    last: u64,
    /// What was prepared for it since it was met last, has gone, and was never read.
    unread: u32,
}

/// What an observation was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Observed {
    /// Inside a known pattern.
    Known,
    /// A new pattern, or one that made an old one wider.
    New,
}

/// The patterns of one variable or file.
#[derive(Clone, Debug)]
pub struct Patterns<F> {
    patterns: Vec<Pattern<F>>,
    clock: u64,
}

impl<F> Default for Patterns<F> {
    fn default() -> Self {
        Patterns { patterns: Vec::new(), clock: 0 }
    }
}

impl<F: Copy + Eq> Patterns<F> {
    /// Notes that `region` was asked for in `form`.
    pub fn observe(&mut self, region: &Region, form: F) -> Observed {
        self.clock += 1;
        let clock = self.clock;
        let known = self.patterns.iter_mut().find(|p| p.form == form && p.region.contains(region));
        if let Some(pattern) = known {
            pattern.gets += 1;
            pattern.last = clock;
            pattern.unread = 0;
            return Observed::Known;
        }
        let mut new = Pattern { region: *region, form, gets: 1, last: clock, unread: 0 };
        // The wider it gets, the more it may meet.
        while let Some(at) =
            self.patterns.iter().position(|p| p.form == form && p.region.intersection(&new.region).is_some())
        {
            let old = self.patterns.swap_remove(at);
            new.region = new.region.hull(&old.region).unwrap_or(new.region);
            new.gets += old.gets;
        }
        if self.patterns.len() >= PATTERNS_MAX {
            let oldest = self.patterns.iter().enumerate().min_by_key(|(_, p)| p.last).map(|(at, _)| at);
            oldest.map(|at| self.patterns.swap_remove(at));
        }
        self.patterns.push(new);
        Observed::New
    }

    /// What was prepared for `region` in `form` has gone, and was `read` or not.
    pub fn used(&mut self, region: &Region, form: F, read: bool) {
        let Some(at) = self.patterns.iter().position(|p| p.form == form && p.region == *region) else {
            return;
        };
        let pattern = &mut self.patterns[at];
        pattern.unread = if read { 0 } else { pattern.unread + 1 };
        if pattern.unread >= UNREAD_MAX {
            self.patterns.swap_remove(at);
        }
    }

    /// The patterns that `region` meets.
    pub fn meeting<'a>(&'a self, region: &'a Region) -> impl Iterator<Item = &'a Pattern<F>> {
        self.patterns.iter().filter(|p| p.region.intersection(region).is_some())
    }

    /// All patterns.
    pub fn iter(&self) -> impl Iterator<Item = &Pattern<F>> {
        self.patterns.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn region(lower: u64, extent: u64) -> Region {
        Region::new(&[lower], &[extent]).unwrap()
    }

    #[test]
    fn patterns_that_meet_become_one_and_others_stay() {
        let mut patterns = Patterns::default();
        assert_eq!(patterns.observe(&region(0, 4), 'l'), Observed::New);
        assert_eq!(patterns.observe(&region(10, 4), 'l'), Observed::New, "it meets none");
        assert_eq!(patterns.observe(&region(2, 4), 'r'), Observed::New, "another form");
        assert_eq!(patterns.observe(&region(1, 2), 'l'), Observed::Known);
        let regions = |p: &Patterns<char>| {
            let mut all: Vec<(Region, char, u64)> = p.iter().map(|p| (p.region, p.form, p.gets)).collect();
            all.sort();
            all
        };
        assert_eq!(
            regions(&patterns),
            [(region(0, 4), 'l', 2), (region(2, 4), 'r', 1), (region(10, 4), 'l', 1)]
        );
        assert_eq!(patterns.observe(&region(3, 8), 'l'), Observed::New, "it bridges two");
        assert_eq!(regions(&patterns), [(region(0, 14), 'l', 4), (region(2, 4), 'r', 1)]);
        assert_eq!(patterns.meeting(&region(12, 1)).count(), 1);
    }

    #[test]
    fn a_pattern_for_which_nothing_is_read_is_forgotten_until_it_is_met_again() {
        let mut patterns = Patterns::default();
        patterns.observe(&region(0, 4), 'l');
        let mut gone =
            |reads: &[bool]| reads.iter().for_each(|read| patterns.used(&region(0, 4), 'l', *read));
        gone(&[false, false, false, true, false, false, false]);
        assert_eq!(patterns.observe(&region(0, 4), 'l'), Observed::Known);
        (0..UNREAD_MAX).for_each(|_| patterns.used(&region(0, 4), 'l', false));
        assert_eq!(patterns.iter().count(), 0);
        assert_eq!(patterns.observe(&region(0, 4), 'l'), Observed::New);
    }

    #[test]
    fn the_pattern_met_longest_ago_makes_room() {
        let mut patterns = Patterns::default();
        (0..PATTERNS_MAX as u64)
            .for_each(|i| assert_eq!(patterns.observe(&region(2 * i, 1), ()), Observed::New));
        assert_eq!(patterns.observe(&region(0, 1), ()), Observed::Known);
        assert_eq!(patterns.observe(&region(1_000_000, 1), ()), Observed::New);
        assert_eq!(patterns.iter().count(), PATTERNS_MAX);
        assert_eq!(patterns.meeting(&region(0, 1)).count(), 1);
        assert_eq!(patterns.meeting(&region(2, 1)).count(), 0);
    }
}
