//! Which message a receive gets: the first one that fits, in the order of posting and of arrival.

use super::collectives::is_collective;
use crate::workload::operation::{Source, Tag};
use std::collections::VecDeque;
use thalweg_foundation::{Error, Kind, Result};

/// A receive that waits for its message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Posted {
    /// From whom.
    pub from: Source,
    /// With which tag; any of the program's when there is none.
    pub tag: Option<Tag>,
    /// The bytes that it has room for.
    pub bytes: u64,
    /// The request that it completes; none for a blocking receive.
    pub request: Option<u32>,
}

/// A message that has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrived {
    /// Who sent it.
    pub from: u32,
    /// Its tag.
    pub tag: Tag,
    /// Its size, also when its data are held back.
    pub bytes: u64,
    /// The number under which its sender holds the data back until it is received; none when the data came along.
    pub held: Option<u32>,
}

impl Posted {
    fn fits(&self, message: Arrived) -> bool {
        (self.from == Source::Any || self.from == Source::Rank(message.from))
            && self.tag.map_or(!is_collective(message.tag), |tag| tag == message.tag)
    }

    /// Checks that a message has room in the receive that gets it.
    ///
    /// # Errors
    /// `Invalid` for a longer one, as MPI has it (MPI_ERR_TRUNCATE).
    pub fn check_room(&self, receiver: usize, message: Arrived) -> Result<()> {
        let Arrived { from, bytes, .. } = message;
        if bytes <= self.bytes {
            return Ok(());
        }
        let detail = format!(
            "rank {receiver} receives {} bytes, and the message of rank {from} that it gets has {bytes}; accepted is a receive \
             of at least so many (messages of a rank come in the order in which it sends them)",
            self.bytes
        );
        Err(Error::new(Kind::Invalid, "simulation: receive", detail))
    }
}

/// The receives of a rank that wait for messages, and the messages that wait for receives.
#[derive(Clone, Debug, Default)]
pub struct Matching {
    posted: VecDeque<Posted>,
    unexpected: VecDeque<Arrived>,
}

impl Matching {
    /// A receive is posted; its message, when that is there already.
    pub fn post(&mut self, receive: Posted) -> Option<Arrived> {
        match self.unexpected.iter().position(|message| receive.fits(*message)) {
            Some(place) => self.unexpected.remove(place),
            None => {
                self.posted.push_back(receive);
                None
            }
        }
    }

    /// A message has arrived; the receive that it completes, if one waits for it.
    pub fn arrive(&mut self, message: Arrived) -> Option<Posted> {
        match self.posted.iter().position(|receive| receive.fits(message)) {
            Some(place) => self.posted.remove(place),
            None => {
                self.unexpected.push_back(message);
                None
            }
        }
    }

    /// The receives that wait.
    pub fn posted(&self) -> impl Iterator<Item = &Posted> {
        self.posted.iter()
    }

    /// How many messages nobody has received.
    pub fn unexpected(&self) -> usize {
        self.unexpected.len()
    }
}

#[cfg(test)]
mod tests {
    use super::super::collectives::tag_of;
    use super::*;
    use crate::workload::operation::Collective;

    fn receive(from: Source, tag: Option<Tag>, request: u32) -> Posted {
        Posted { from, tag, bytes: 8, request: Some(request) }
    }

    fn arrived(from: u32, tag: Tag) -> Arrived {
        Arrived { from, tag, bytes: 8, held: None }
    }

    #[test]
    fn messages_go_to_the_first_receive_that_fits() {
        let mut matching = Matching::default();
        assert_eq!(matching.post(receive(Source::Rank(1), Some(5), 0)), None);
        assert_eq!(matching.post(receive(Source::Any, Some(5), 1)), None);
        assert_eq!(matching.post(receive(Source::Any, None, 2)), None);
        let request = |found: Option<Posted>| found.and_then(|posted| posted.request);
        assert_eq!(request(matching.arrive(arrived(2, 5))), Some(1));
        assert_eq!(request(matching.arrive(arrived(1, 6))), Some(2));
        assert_eq!(request(matching.arrive(arrived(1, 5))), Some(0));
        assert_eq!(request(matching.arrive(arrived(1, 5))), None);
        assert_eq!(matching.unexpected(), 1);
    }

    #[test]
    fn receives_take_the_message_that_came_first() {
        let mut matching = Matching::default();
        for (from, tag) in [(3, 1), (4, 2), (3, 2)] {
            assert_eq!(matching.arrive(arrived(from, tag)), None);
        }
        assert_eq!(matching.post(receive(Source::Any, Some(2), 0)), Some(arrived(4, 2)));
        assert_eq!(matching.post(receive(Source::Rank(4), None, 1)), None);
        assert_eq!(matching.post(receive(Source::Rank(3), None, 2)), Some(arrived(3, 1)));
        assert_eq!(matching.post(receive(Source::Rank(3), None, 3)), Some(arrived(3, 2)));
        assert_eq!(matching.unexpected(), 0);
    }

    #[test]
    fn messages_of_collectives_are_no_programs_business() {
        let tag = tag_of(Collective::Barrier);
        let mut matching = Matching::default();
        assert_eq!(matching.post(receive(Source::Any, None, 0)), None);
        assert_eq!(matching.arrive(arrived(1, tag)), None);
        assert_eq!(matching.post(receive(Source::Rank(1), Some(tag), 1)), Some(arrived(1, tag)));
    }

    #[test]
    fn a_longer_message_is_refused() {
        let receive = receive(Source::Any, None, 0);
        receive.check_room(2, arrived(1, 0)).unwrap();
        let error = receive.check_room(2, Arrived { bytes: 9, ..arrived(1, 0) }).unwrap_err().message;
        assert!(
            error.contains("rank 2 receives 8 bytes, and the message of rank 1 that it gets has 9"),
            "{error}"
        );
    }
}
