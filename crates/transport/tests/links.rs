//! What every link between two parties promises, tried on each of them: order, length, deadlines, the other end's death.
#![allow(clippy::unwrap_used)] // a test's way to fail

use std::net::TcpListener;
use std::sync::Arc;
use std::thread;
use thalweg_foundation::{Kind, Nanos, Result};
use thalweg_transport::link::{now, Bell, Channel, Control, Listener, Patience, Side, Socket, Stream};
use thalweg_transport::memory::Segment;

const SOON: Nanos = Nanos(30_000_000);
const LATE: Nanos = Nanos(20_000_000_000);

/// One end of a link under test.
trait End: Send + 'static {
    fn send(&self, message: &[u8]) -> Result<()>;
    fn receive(&self, within: Nanos) -> Result<Vec<u8>>;
}

impl End for Channel {
    fn send(&self, message: &[u8]) -> Result<()> {
        let start = now();
        while !self.try_send(message)? {
            self.wait_for_room(start, Patience::of(LATE))?;
        }
        Ok(())
    }

    fn receive(&self, within: Nanos) -> Result<Vec<u8>> {
        let mut message = Vec::new();
        Channel::receive(self, &mut message, Patience::of(within)).map(|()| message)
    }
}

impl End for Stream {
    fn send(&self, message: &[u8]) -> Result<()> {
        Stream::send(self, message, &[], Patience::of(LATE))
    }

    fn receive(&self, within: Nanos) -> Result<Vec<u8>> {
        let mut message = Vec::new();
        Stream::receive(self, &mut message, Patience::of(within)).map(|()| message)
    }
}

fn channels() -> (Channel, Channel) {
    let name = format!("@thalweg-links-{}-{:?}", std::process::id(), thread::current().id());
    let listener = Listener::bind(&name).unwrap();
    let near = Socket::connect(&name, "test").unwrap();
    let (far, pid) = listener.accept().unwrap();
    assert_eq!(pid, std::process::id());
    let control = Control::over(Arc::new(Segment::create(Control::BYTES).unwrap()));
    let (a, b) = (Bell::new().unwrap(), Bell::new().unwrap());
    let copy = |bell: &Bell| Bell::received(bell.fd().try_clone_to_owned().unwrap());
    let (a2, b2) = (copy(&a), copy(&b));
    let client = Channel::new(control.clone(), Side::Client, a, b2, Arc::new(near)).unwrap();
    let service = Channel::new(control, Side::Service, b, a2, Arc::new(far)).unwrap();
    (client, service)
}

fn streams() -> (Stream, Stream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let near = Stream::connect(&listener.local_addr().unwrap().to_string(), "test", LATE).unwrap();
    (near, Stream::over(listener.accept().unwrap().0).unwrap())
}

fn messages_arrive_whole_and_in_order<E: End>((near, far): (E, E)) {
    let lengths: Vec<usize> = (0..3000).map(|i| if i % 500 == 499 { 200_000 } else { i * 7 % 300 }).collect();
    let expected = lengths.clone();
    let sender = thread::spawn(move || {
        for (i, len) in lengths.into_iter().enumerate() {
            near.send(&vec![i as u8; len]).unwrap();
        }
        near
    });
    for (i, len) in expected.into_iter().enumerate() {
        assert_eq!(far.receive(LATE).unwrap(), vec![i as u8; len]);
    }
    sender.join().unwrap();
}

fn messages_cross<E: End>((near, far): (E, E)) {
    let echo = thread::spawn(move || {
        for _ in 0..2000 {
            far.send(&far.receive(LATE).unwrap()).unwrap();
        }
    });
    for i in 0..2000u32 {
        near.send(&i.to_le_bytes()).unwrap();
        assert_eq!(near.receive(LATE).unwrap(), i.to_le_bytes());
    }
    echo.join().unwrap();
}

fn a_wait_ends_at_its_deadline<E: End>((near, far): (E, E)) {
    assert_eq!(near.receive(SOON).unwrap_err().kind, Kind::Timeout);
    far.send(b"late").unwrap();
    assert_eq!(near.receive(LATE).unwrap(), b"late");
}

fn the_other_ends_death_ends_a_wait<E: End>((near, far): (E, E)) {
    far.send(b"last words").unwrap();
    let waiter = thread::spawn(move || {
        assert_eq!(near.receive(LATE).unwrap(), b"last words");
        near.receive(LATE).unwrap_err().kind
    });
    drop(far);
    assert_eq!(waiter.join().unwrap(), Kind::Gone);
}

fn a_message_that_is_too_long_is_refused<E: End>((near, far): (E, E)) {
    assert_eq!(near.send(&vec![0; 1 << 20]).unwrap_err().kind, Kind::Invalid);
    near.send(b"fits").unwrap();
    assert_eq!(far.receive(LATE).unwrap(), b"fits");
}

macro_rules! conformance {
    ($($link:ident: $make:expr),*) => {
        $(mod $link {
            use super::*;
            conformance!(@ $make; messages_arrive_whole_and_in_order, messages_cross, a_wait_ends_at_its_deadline,
                the_other_ends_death_ends_a_wait, a_message_that_is_too_long_is_refused);
        })*
    };
    (@ $make:expr; $($promise:ident),*) => {
        $(#[test] fn $promise() { super::$promise($make); })*
    };
}

conformance!(channel: channels(), stream: streams());

#[test]
fn bulk_bytes_follow_their_frame_into_place() {
    let (near, far) = streams();
    let bulk: Vec<u8> = (0..3_000_000u32).map(|i| (i * 7 % 251) as u8).collect();
    let sent = bulk.clone();
    let sender = thread::spawn(move || near.send(b"here it comes", &sent, Patience::of(LATE)).map(|()| near));
    assert_eq!(End::receive(&far, LATE).unwrap(), b"here it comes");
    let mut into = vec![0; bulk.len()];
    far.bulk(&mut into, Patience::of(LATE)).unwrap();
    assert_eq!(into, bulk);
    sender.join().unwrap().unwrap();
}

#[test]
fn a_caller_can_end_its_wait() {
    let (near, _far) = channels();
    let tick = || Err(thalweg_foundation::Error::new(Kind::Interrupted, "test", "enough"));
    let patience = Patience { within: LATE, tick: &tick };
    assert_eq!(near.receive(&mut Vec::new(), patience).unwrap_err().kind, Kind::Interrupted);
}
