//! Credits of virtual channels: how full each buffer is, and who waits for room in it.

use super::arena::NONE;
use super::packet::List;
use crate::engine::Picos;

/// The sender's account of one buffer.
#[derive(Clone, Copy, Debug)]
struct Account {
    /// Packets that count as in the buffer, those whose credit is on its way included.
    occupied: u16,
    /// The oldest credit that was not read yet, as a place in the ring.
    first: u16,
    /// Credits that were not read yet.
    credits: u16,
    /// Packets that wait for room.
    waiting: u16,
    list: List,
}

const _: () = assert!(std::mem::size_of::<Account>() == 16);

impl Account {
    /// Takes the oldest credit out of the ring.
    #[inline]
    fn read(&mut self, ring: usize) {
        self.credits -= 1;
        self.occupied -= 1;
        self.first += 1;
        if usize::from(self.first) == ring {
            self.first = 0;
        }
    }
}

/// All accounts of a network, with their rings of credits.
#[derive(Debug)]
pub struct Channels {
    accounts: Vec<Account>,
    /// For each account, times from which places of the buffer are free again, in order.
    stamps: Vec<Picos>,
    ring: usize,
}

impl Channels {
    /// `count` accounts of empty buffers that hold at most `capacity` packets.
    pub fn new(count: usize, capacity: u16) -> Channels {
        let account =
            Account { occupied: 0, first: 0, credits: 0, waiting: 0, list: List { head: NONE, tail: NONE } };
        let ring = usize::from(capacity);
        Channels { accounts: vec![account; count], stamps: vec![Picos::ZERO; count * ring], ring }
    }

    /// How many packets the buffer holds, by the credits that have come by `now`. Those that packets wait for count when these
    /// are admitted.
    #[inline]
    pub fn occupied(&mut self, channel: u32, now: Picos) -> u16 {
        let account = &mut self.accounts[channel as usize];
        if account.waiting == 0 {
            let stamps = &self.stamps[channel as usize * self.ring..][..self.ring];
            while account.credits > 0 && stamps[usize::from(account.first)] <= now {
                account.read(self.ring);
            }
        }
        account.occupied
    }

    /// One packet more in the buffer.
    #[inline]
    pub fn fill(&mut self, channel: u32) {
        self.accounts[channel as usize].occupied += 1;
    }

    /// A place will be free from `at` on, which is not before any earlier credit. True when a packet waits for just this one.
    #[inline]
    pub fn credit(&mut self, channel: u32, at: Picos) -> bool {
        let account = &mut self.accounts[channel as usize];
        debug_assert!(account.credits < account.occupied, "a credit for a packet that was never sent");
        let mut place = usize::from(account.first + account.credits);
        if place >= self.ring {
            place -= self.ring;
        }
        self.stamps[channel as usize * self.ring + place] = at;
        account.credits += 1;
        account.waiting >= account.credits
    }

    /// Whether packets wait for room.
    #[inline]
    pub fn has_waiting(&self, channel: u32) -> bool {
        self.accounts[channel as usize].waiting > 0
    }

    /// One more packet waits; if the credit that will let it in is already on its way, when that comes.
    pub fn wait(&mut self, channel: u32) -> Option<Picos> {
        let account = &mut self.accounts[channel as usize];
        let mine = account.waiting;
        account.waiting += 1;
        (mine < account.credits).then(|| {
            let place = (usize::from(account.first) + usize::from(mine)) % self.ring;
            self.stamps[channel as usize * self.ring + place]
        })
    }

    /// The oldest credit goes to the packet that waits longest.
    pub fn admit(&mut self, channel: u32) {
        let account = &mut self.accounts[channel as usize];
        debug_assert!(account.credits > 0 && account.waiting > 0, "nothing to admit");
        account.read(self.ring);
        account.waiting -= 1;
    }

    /// The list of who waits.
    #[inline]
    pub fn list(&mut self, channel: u32) -> &mut List {
        &mut self.accounts[channel as usize].list
    }

    /// When the oldest unread credit comes.
    pub fn next_credit(&self, channel: u32) -> Option<Picos> {
        let account = &self.accounts[channel as usize];
        (account.credits > 0).then(|| self.stamps[channel as usize * self.ring + usize::from(account.first)])
    }

    /// Packets that count as in the buffer whose credits were not sent yet, and packets that wait.
    pub fn outstanding(&self, channel: u32) -> (u16, u16) {
        let account = &self.accounts[channel as usize];
        (account.occupied - account.credits, account.waiting)
    }
}
