//! What memory a client is handed over the socket, whatever it asks for.
#![allow(clippy::unwrap_used)] // a test's way to fail

use thalweg_foundation::base::Name;
use thalweg_foundation::{Bytes, Kind, Nanos};
use thalweg_services::greeting::{Greeting, Hello};
use thalweg_services::server::{Server, Settings, Spill};
use thalweg_services::staging::core::{MEMORY, SPILL};
use thalweg_services::staging::driver::{receive_segment, Handshake};
use thalweg_services::staging::message::PROTOCOL;
use thalweg_transport::link::Socket;
use thalweg_transport::memory::Access;

#[test]
fn the_spill_file_is_never_handed_out_for_writing() {
    let spill = Spill { folder: std::env::temp_dir(), limit: Bytes(1 << 20) };
    let settings = Settings { limit: Some(Bytes(4 << 20)), spill: Some(spill), ..Settings::default() };
    let server = Server::start(settings).unwrap();
    let socket = Socket::connect(server.address().strip_prefix("unix:").unwrap(), "test").unwrap();
    socket.set_patience(Nanos(20_000_000_000)).unwrap();
    let name = |text: &str| Name::new("test", text).unwrap();
    let (name, namespace) = (name("greedy"), name("run"));
    let hello = Hello { protocol: PROTOCOL, name, pid: std::process::id(), namespace, token: String::new() };
    socket.send(&Greeting::Staging(hello).encode().unwrap(), &[]).unwrap();
    assert!(matches!(Handshake::receive(&socket).unwrap().0, Handshake::Welcome { .. }));
    let asked = |number, access| receive_segment(&socket, number, access).map(drop);
    assert_eq!(asked(SPILL, Access::Write).unwrap_err().kind, Kind::Access);
    assert_eq!(asked(7, Access::Read).unwrap_err().kind, Kind::Protocol);
    for (number, access) in [(SPILL, Access::Read), (MEMORY, Access::Read), (MEMORY, Access::Write)] {
        asked(number, access).unwrap();
    }
}
