//! Connections of which nobody knows whose they are: they get little, and not for long.
#![allow(clippy::unwrap_used)] // a test's way to fail

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};
use thalweg_foundation::base::Name;
use thalweg_foundation::{Bytes, Kind, Nanos};
use thalweg_services::server::{Server, Settings};
use thalweg_services::stream::client::{Driver, Identity};
use thalweg_transport::link::Patience;

const TOKEN: &str = "a-long-secret";
/// More than may be connected without having introduced themselves.
const MANY: usize = 100;

fn server() -> (Server, String) {
    let server = Server::start(Settings {
        limit: Some(Bytes(1 << 20)),
        listen: Some("127.0.0.1:0".into()),
        token: Some(TOKEN.into()),
        stream_memory: Some(Bytes(1 << 20)),
        ..Settings::default()
    })
    .unwrap();
    let place = server.tcp_address().unwrap().strip_prefix("tcp:").unwrap().to_string();
    (server, place)
}

/// One who announces a greeting of so many bytes.
fn stranger(place: &str, announced: u32) -> TcpStream {
    let mut stream = TcpStream::connect(place).unwrap();
    stream.write_all(&announced.to_le_bytes()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream
}

/// Returns when the server has closed it.
fn is_closed(mut stream: TcpStream) -> bool {
    // Closing with unread bytes is a reset.
    matches!(stream.read(&mut [0; 64]), Ok(0))
        || stream.read(&mut [0; 64]).is_err_and(|e| e.kind() != std::io::ErrorKind::WouldBlock)
}

#[test]
fn clients_come_in_while_strangers_hold_connections_and_the_oldest_stranger_goes_first() {
    let (server, place) = server();
    let mut strangers: Vec<TcpStream> = (0..MANY).map(|_| stranger(&place, 200)).collect();
    let name = |text| Name::new("test", text).unwrap();
    let identity = Identity { name: name("client"), token: TOKEN.into() };
    let driver =
        Driver::connect(server.tcp_address().unwrap(), identity, Patience::of(Nanos(20_000_000_000)))
            .unwrap();
    assert_eq!(driver.topics(Patience::of(Nanos(20_000_000_000))).unwrap(), []);
    assert!(is_closed(strangers.remove(0)));
    let wrong = Identity { name: name("client"), token: "another-secret".into() };
    let refused = Driver::connect(server.tcp_address().unwrap(), wrong, Patience::of(Nanos(20_000_000_000)));
    assert_eq!(refused.err().unwrap().kind, Kind::Access);
}

#[test]
fn a_large_greeting_is_not_waited_for() {
    let (_server, place) = server();
    assert!(is_closed(stranger(&place, 256 << 10)));
}

#[test]
fn a_greeting_that_drips_in_has_a_deadline() {
    let (_server, place) = server();
    let mut dripping = stranger(&place, 1000);
    let start = Instant::now();
    let mut sent = 0;
    // As fast as keeps any single read from timing out, and too slow to be whole in time.
    while start.elapsed() < Duration::from_secs(30) && dripping.write_all(&[0]).is_ok() {
        sent += 1;
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(sent < 500, "{sent} bytes were taken one at a time");
}
