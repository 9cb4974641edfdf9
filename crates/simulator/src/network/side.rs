//! Parts of a network with those who send over them, as processes of the engine.

use super::carrier::Carrier;
use super::fabric::Notice;
use super::part::Crossing;
use crate::engine::parallel::{self, Process};
use crate::engine::Picos;
use thalweg_foundation::Result;

/// A part of a network with those who send over it. They touch nothing that belongs to another part.
pub trait Side: Send {
    /// What messages carry.
    type Content: Copy + Send;

    /// The part.
    fn network(&mut self) -> &mut Carrier<Self::Content>;

    /// How many packets have arrived.
    fn delivered(&self) -> u64;

    /// Hears what it tells.
    ///
    /// # Errors
    /// What ends the run.
    fn notice(&mut self, notice: Notice<Self::Content>) -> Result<()>;
}

/// A side as a process.
struct Running<'a, S: Side>(&'a mut S);

impl<S: Side> Process for Running<'_, S> {
    type Mail = Crossing<S::Content>;

    fn next_at(&mut self) -> Option<Picos> {
        self.0.network().next_at()
    }

    fn work(&mut self, end: Picos, most: u64) -> Result<u64> {
        let first = self.0.network().counters().events;
        loop {
            let network = self.0.network();
            let events = network.counters().events - first;
            if events >= most || !network.step_before(end) {
                return Ok(events);
            }
            while let Some(notice) = self.0.network().notices().pop() {
                self.0.notice(notice)?;
            }
        }
    }

    fn outbox(&mut self) -> &mut Vec<(u8, Self::Mail)> {
        self.0.network().outbox()
    }

    fn receive(&mut self, from: u8, mail: Self::Mail) {
        self.0.network().receive(from, mail);
    }

    fn matters_at(mail: &Self::Mail) -> Option<Picos> {
        match mail {
            Crossing::Packet(at, ..) | Crossing::Credit(at, _) => Some(*at),
            Crossing::Message(..) | Crossing::Arrived(_) => None,
        }
    }

    fn progress(&self) -> u64 {
        self.0.delivered()
    }
}

/// Runs all sides of a network until nothing more happens, on at most `threads` threads. `goes_on` is asked now and then, with the
/// simulated time and the number of packets that have arrived.
///
/// # Errors
/// Those of [`Side::notice`], and of [`Carrier::check_idle`]; `Interrupted` when `goes_on` said no.
pub fn run<S: Side>(
    sides: &mut [S],
    threads: usize,
    ahead: Picos,
    goes_on: impl FnMut(Picos, u64) -> bool,
) -> Result<()> {
    let mut running: Vec<_> = sides.iter_mut().map(Running).collect();
    parallel::run(&mut running, threads, ahead, goes_on)?;
    sides.iter_mut().try_for_each(|side| side.network().check_idle())
}
