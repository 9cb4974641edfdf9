//! Flash by pages and channels: equations 2 and 3 of the MFNetSim paper.
//!
//! T_w = W_ch (N_page − 1) + T_wait (N_cycle − 1) + W_page; T_r = R_ch (N_page − 1) + R_page; T_wait = W_page − W_ch ρ where that
//! is positive, and else zero. Source: J. Yoo and others, Analytical model of SSD parallelism, SIMULTECH 2014.

use super::device::Request;
use crate::engine::Picos;

/// The parameters of the equations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ssd {
    /// Bytes of a page.
    pub page: u64,
    /// W_ch and R_ch: from one page to the next, on another channel.
    pub switch: (Picos, Picos),
    /// W_page and R_page: a page alone.
    pub single: (Picos, Picos),
    /// ρ: how many pages a cycle has at most.
    pub per_cycle: u64,
}

impl Ssd {
    /// The Intel D3-S4510 of the paper's table 1. R_page and W_page are one over the modelled operations of 4 KiB a second; R_ch and
    /// W_ch follow from the modelled rates of records of 512 KiB, for which a cycle of 8 pages leaves nothing to wait for.
    pub fn table1() -> Ssd {
        Ssd {
            page: 4096,
            switch: (Picos(10_070_000), Picos(9_600_000)),
            single: (Picos(71_000_000), Picos(118_000_000)),
            per_cycle: 8,
        }
    }

    /// How long a request takes; nothing for nothing.
    pub fn service(&self, request: Request) -> Picos {
        let pages = request.bytes.div_ceil(self.page);
        let Some(others) = pages.checked_sub(1) else { return Picos::ZERO };
        if !request.writes {
            return Picos(self.switch.1 .0 * others) + self.single.1;
        }
        let (switch, single) = (self.switch.0 .0, self.single.0 .0);
        let wait = single.saturating_sub(switch * self.per_cycle);
        let cycles = pages.div_ceil(self.per_cycle);
        Picos(switch * others + wait * (cycles - 1) + single)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_the_equations() {
        let request = |pages: u64, writes| Request { object: 0, offset: 0, bytes: pages * 100, writes };
        let micros = |us: u64| Picos(us * 1_000_000);
        // W_page = 50 µs, W_ch = 10 µs, cycles of 4 pages: T_wait = 50 − 40 = 10 µs.
        let ssd = Ssd {
            page: 100,
            switch: (micros(10), micros(3)),
            single: (micros(50), micros(20)),
            per_cycle: 4,
        };
        // One page: W_page. Four: 3 · 10 + 50. Five, in two cycles: 4 · 10 + 10 + 50. Nine, in three: 8 · 10 + 2 · 10 + 50.
        for (pages, time) in [(1, 50), (4, 80), (5, 100), (9, 150)] {
            assert_eq!(ssd.service(request(pages, true)), micros(time), "{pages} pages");
        }
        // Reads never wait: 8 · 3 + 20.
        assert_eq!(ssd.service(request(9, false)), micros(44));
        // A cycle of 5 pages takes as long as one page: nothing to wait for.
        assert_eq!(Ssd { per_cycle: 5, ..ssd }.service(request(9, true)), micros(130));
        assert_eq!(ssd.service(request(0, true)), Picos::ZERO);
    }
}
