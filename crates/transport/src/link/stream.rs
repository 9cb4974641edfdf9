//! The link between nodes: TCP with framed messages and bulk bytes straight from and into their place.

use super::{now, Patience};
use rustix::net::sockopt;
use std::io::{ErrorKind, IoSlice, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;
use thalweg_foundation::{Error, Kind, Nanos, Result};

/// The longest frame in bytes, bulk bytes not counted.
const FRAME_MAX: usize = 256 << 10;

/// One end of a connection. A frame is its length in four bytes (little-endian) and its bytes; bulk bytes follow a frame
/// that announces them.
#[derive(Debug)]
pub struct Stream(TcpStream);

impl Stream {
    /// Connects to `host:port`; errors begin with `operation`.
    ///
    /// # Errors
    /// `Gone` when nobody listens there or it does not answer in time.
    pub fn connect(address: &str, operation: &str, within: Nanos) -> Result<Stream> {
        let gone = |why: &dyn std::fmt::Display| {
            Error::new(Kind::Gone, operation, format!("no server answers on \"tcp:{address}\" ({why})"))
        };
        let found = address.to_socket_addrs().map_err(|e| match e.kind() {
            std::io::ErrorKind::InvalidInput => {
                let detail = format!("address \"tcp:{address}\" ({e}); accepted is tcp:HOST:PORT");
                Error::new(Kind::Invalid, operation, detail)
            }
            _ => gone(&e),
        })?;
        let mut last: Option<Error> = None;
        for candidate in found {
            match TcpStream::connect_timeout(
                &candidate,
                within.duration().max(std::time::Duration::from_millis(1)),
            ) {
                Ok(stream) => return Stream::over(stream),
                Err(e) => last = Some(gone(&e)),
            }
        }
        Err(last.unwrap_or_else(|| gone(&"the name has no address")))
    }

    /// Over an accepted connection.
    ///
    /// # Errors
    /// `Io` when the system refuses.
    pub fn over(stream: TcpStream) -> Result<Stream> {
        let io = |e| Error::io("link.stream", e);
        stream.set_nodelay(true).map_err(io)?;
        stream.set_read_timeout(Some(Patience::SLICE.duration())).map_err(io)?;
        stream.set_write_timeout(Some(Patience::SLICE.duration())).map_err(io)?;
        // A node that lost its power says nothing: the kernel asks it after half a minute of silence.
        let probe = || -> rustix::io::Result<()> {
            sockopt::set_socket_keepalive(&stream, true)?;
            sockopt::set_tcp_keepidle(&stream, Duration::from_secs(30))?;
            sockopt::set_tcp_keepintvl(&stream, Duration::from_secs(10))?;
            sockopt::set_tcp_keepcnt(&stream, 3)
        };
        probe().map_err(|e| Error::io("link.stream", e))?;
        Ok(Stream(stream))
    }

    /// Sends a frame and the bulk bytes that it announces.
    ///
    /// # Errors
    /// `Gone` when the connection broke, `Timeout` when the other end does not read, `Invalid` when the frame is too long.
    pub fn send(&self, frame: &[u8], bulk: &[u8], patience: Patience<'_>) -> Result<()> {
        if frame.len() > FRAME_MAX {
            let detail = format!("a frame of {} bytes; accepted are {FRAME_MAX}", frame.len());
            return Err(Error::new(Kind::Invalid, "link.stream", detail));
        }
        let head = (frame.len() as u32).to_le_bytes();
        self.all(&mut [IoSlice::new(&head), IoSlice::new(frame), IoSlice::new(bulk)], patience)
    }

    /// Sends bulk bytes that an earlier frame announced.
    ///
    /// # Errors
    /// `Gone` when the connection broke, `Timeout` when the other end does not read.
    pub fn bulk_out(&self, bulk: &[u8], patience: Patience<'_>) -> Result<()> {
        self.all(&mut [IoSlice::new(bulk)], patience)
    }

    fn all(&self, mut parts: &mut [IoSlice<'_>], patience: Patience<'_>) -> Result<()> {
        IoSlice::advance_slices(&mut parts, 0);
        let mut clock = Clock::new(patience);
        while !parts.is_empty() {
            match (&self.0).write_vectored(parts) {
                Ok(0) => return Err(closed()),
                Ok(n) => {
                    IoSlice::advance_slices(&mut parts, n);
                    clock.progress();
                }
                Err(e) => clock.stalled(e)?,
            }
        }
        Ok(())
    }

    /// Receives a frame.
    ///
    /// # Errors
    /// `Gone` when the connection broke, `Timeout` when none comes, `Protocol` when it is too long.
    pub fn receive(&self, into: &mut Vec<u8>, patience: Patience<'_>) -> Result<()> {
        let mut head = [0; 4];
        self.bulk(&mut head, patience)?;
        let len = u32::from_le_bytes(head) as usize;
        if len > FRAME_MAX {
            let detail = format!("a frame of {len} bytes; accepted are {FRAME_MAX}");
            return Err(Error::new(Kind::Protocol, "link.stream", detail));
        }
        into.resize(len, 0);
        self.bulk(into, patience)
    }

    /// Receives the first frame of a connection, of which nobody knows yet whose it is: `most` bytes at most, and whole before
    /// `deadline`, however steadily it drips in.
    ///
    /// # Errors
    /// As `receive`.
    pub fn receive_first(
        &self,
        most: usize,
        deadline: Nanos,
        tick: &dyn Fn() -> Result<()>,
    ) -> Result<Vec<u8>> {
        let in_time = || match now() < deadline {
            true => tick(),
            false => Err(Error::new(Kind::Timeout, "link.stream", "no whole greeting came in time")),
        };
        let mut head = [0; 4];
        self.fill(&mut head, &in_time)?;
        let len = u32::from_le_bytes(head) as usize;
        if len > most {
            let detail = format!("a first frame of {len} bytes; expected at most {most}");
            return Err(Error::new(Kind::Protocol, "link.stream", detail));
        }
        let mut frame = vec![0; len];
        self.fill(&mut frame, &in_time)?;
        Ok(frame)
    }

    /// Receives into `into`, and asks `go_on` after every read, also after one that brought something.
    fn fill(&self, into: &mut [u8], go_on: &dyn Fn() -> Result<()>) -> Result<()> {
        let mut got = 0;
        while got < into.len() {
            match (&self.0).read(&mut into[got..]) {
                Ok(0) => return Err(closed()),
                Ok(n) => got += n,
                Err(e)
                    if matches!(
                        e.kind(),
                        ErrorKind::Interrupted | ErrorKind::WouldBlock | ErrorKind::TimedOut
                    ) => {}
                Err(e) => return Err(Error::new(Kind::Gone, "link.stream", e)),
            }
            go_on()?;
        }
        Ok(())
    }

    /// Another handle of the same connection, which can end it.
    ///
    /// # Errors
    /// `Io` when the system refuses.
    pub fn handle(&self) -> Result<Stream> {
        self.0.try_clone().map(Stream).map_err(|e| Error::io("link.stream", e))
    }

    /// Receives bulk bytes into their place.
    ///
    /// # Errors
    /// `Gone` when the connection broke, `Timeout` when nothing comes for the time of the patience.
    pub fn bulk(&self, into: &mut [u8], patience: Patience<'_>) -> Result<()> {
        let (mut got, mut clock) = (0, Clock::new(patience));
        while got < into.len() {
            match (&self.0).read(&mut into[got..]) {
                Ok(0) => return Err(closed()),
                Ok(n) => {
                    got += n;
                    clock.progress();
                }
                Err(e) => clock.stalled(e)?,
            }
        }
        Ok(())
    }

    /// Ends the connection: half a message cannot be taken back.
    pub fn end(&self) {
        let _ = self.0.shutdown(std::net::Shutdown::Both);
    }

    /// Whether there is something to receive, or the end, within so long.
    pub fn readable(&self, within: Nanos) -> bool {
        use rustix::event::{poll, PollFd, PollFlags, Timespec};
        let mut fds = [PollFd::new(&self.0, PollFlags::IN | PollFlags::RDHUP)];
        let within = within.min(Patience::SLICE).0;
        let timeout = Timespec { tv_sec: 0, tv_nsec: within as _ };
        poll(&mut fds, Some(&timeout)).is_ok_and(|ready| ready > 0)
    }

    /// Whether the other end has closed.
    pub fn ended(&self) -> bool {
        use rustix::event::{poll, PollFd, PollFlags, Timespec};
        let mut fds = [PollFd::new(&self.0, PollFlags::RDHUP)];
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        let polled = poll(&mut fds, Some(&at_once));
        polled.is_ok() && fds[0].revents().intersects(PollFlags::RDHUP | PollFlags::HUP | PollFlags::ERR)
    }
}

fn closed() -> Error {
    Error::new(Kind::Gone, "link.stream", "the other end has closed")
}

/// How long nothing has moved.
struct Clock<'a> {
    patience: Patience<'a>,
    moved: Nanos,
}

impl<'a> Clock<'a> {
    fn new(patience: Patience<'a>) -> Clock<'a> {
        Clock { patience, moved: now() }
    }

    fn progress(&mut self) {
        self.moved = now();
    }

    fn stalled(&self, e: std::io::Error) -> Result<()> {
        match e.kind() {
            ErrorKind::Interrupted => (self.patience.tick)(),
            ErrorKind::WouldBlock | ErrorKind::TimedOut
                if now().since(self.moved) >= self.patience.within =>
            {
                let detail = format!("nothing moved for {}", self.patience.within);
                Err(Error::new(Kind::Timeout, "link.stream", detail))
            }
            ErrorKind::WouldBlock | ErrorKind::TimedOut => (self.patience.tick)(),
            _ => Err(Error::new(Kind::Gone, "link.stream", e)),
        }
    }
}
