//! Unix sockets that keep message boundaries and carry descriptors.

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{
    self, AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketAddrUnix, SocketFlags, SocketType,
};
use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use thalweg_foundation::{Error, Kind, Nanos, Result};

const PACKET_MAX: usize = 4096;
const DESCRIPTORS_MAX: usize = 4;

/// A message with descriptors.
#[derive(Debug)]
pub struct Packet {
    /// The message; empty when the other end has closed.
    pub bytes: Vec<u8>,
    /// The descriptors.
    pub fds: Vec<OwnedFd>,
}

fn address(name: &str) -> Result<SocketAddrUnix> {
    let made = match name.strip_prefix('@') {
        Some(abstract_name) => SocketAddrUnix::new_abstract_name(abstract_name.as_bytes()),
        None => SocketAddrUnix::new(name),
    };
    made.map_err(|_| {
        let detail = format!("socket name {name:?}; accepted are a path or @name of at most 107 bytes");
        Error::new(Kind::Invalid, "link.socket", detail)
    })
}

/// Whether `name` is the socket of a listener that was killed.
fn left_behind(name: &str) -> bool {
    let is_socket = std::fs::symlink_metadata(name).is_ok_and(|found| found.file_type().is_socket());
    let heard = || {
        let fd = net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
        net::connect(&fd, &SocketAddrUnix::new(name)?)
    };
    is_socket && heard() == Err(rustix::io::Errno::CONNREFUSED)
}

/// Waits for clients. A name `@…` is in Linux's abstract space and leaves nothing in the file system.
#[derive(Debug)]
pub struct Listener {
    fd: OwnedFd,
    path: Option<String>,
}

impl Listener {
    /// Listens under `name`.
    ///
    /// # Errors
    /// `Exists` when the name is taken; `Io` when it cannot be used. A socket of a listener that was killed is replaced.
    pub fn bind(name: &str) -> Result<Listener> {
        let operation = format!("link.socket: cannot listen on {name:?}");
        let io = |e: rustix::io::Errno| Error::io(&operation, e);
        let fd = net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
            .map_err(io)?;
        let place = address(name)?;
        let bound = net::bind(&fd, &place).or_else(|e| match left_behind(name) {
            true if e == rustix::io::Errno::ADDRINUSE => {
                std::fs::remove_file(name).map_err(|_| e)?;
                net::bind(&fd, &place)
            }
            _ => Err(e),
        });
        bound.map_err(|e| match e {
            rustix::io::Errno::ADDRINUSE => {
                let detail = "a server of that name is running, or something else has it; stop it, or take another name";
                Error::new(Kind::Exists, &operation, detail)
            }
            e => io(e),
        })?;
        net::listen(&fd, 128).map_err(io)?;
        let path = (!name.starts_with('@')).then(|| name.to_string());
        Ok(Listener { fd, path })
    }

    /// The next client.
    ///
    /// # Errors
    /// `Io` when the system refuses; `Access` when the client is another user's process (and this one is not root's).
    pub fn accept(&self) -> Result<(Socket, u32)> {
        let fd = net::accept_with(&self.fd, SocketFlags::CLOEXEC).map_err(|e| Error::io("link.socket", e))?;
        let who = net::sockopt::socket_peercred(&fd).map_err(|e| Error::io("link.socket", e))?;
        let own = rustix::process::geteuid();
        if who.uid != own && !who.uid.is_root() {
            let detail = format!(
                "a client of user {} is refused; this server is user {}'s",
                who.uid.as_raw(),
                own.as_raw()
            );
            return Err(Error::new(Kind::Access, "link.socket", detail));
        }
        Ok((Socket { fd }, who.pid.as_raw_nonzero().get() as u32))
    }

    /// The descriptor.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// One end of a connection.
#[derive(Debug)]
pub struct Socket {
    fd: OwnedFd,
}

impl Socket {
    /// Connects to the listener under `name`; errors begin with `operation`. Nothing is sent before it is known whose listener it
    /// is: anybody may have taken the name.
    ///
    /// # Errors
    /// `Gone` when nobody listens there, `Access` when it is another user's.
    pub fn connect(name: &str, operation: &str) -> Result<Socket> {
        let fd = net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
            .map_err(|e| Error::io("link.socket", e))?;
        net::connect(&fd, &address(name)?).map_err(|e| match e {
            Errno::ACCESS | Errno::PERM => {
                let owner = std::fs::metadata(name).ok().map(|found| found.uid());
                foreign(name, operation, owner, "which this process may not use")
            }
            e => {
                let why = std::io::Error::from(e);
                Error::new(Kind::Gone, operation, format!("no server listens on \"unix:{name}\" ({why})"))
            }
        })?;
        let owner = net::sockopt::socket_peercred(&fd).map_err(|e| Error::io("link.socket", e))?.uid;
        // Root's server would refuse this client; to tell that, it need not hear from it.
        if owner != rustix::process::geteuid() {
            return Err(foreign(name, operation, Some(owner.as_raw()), "to which nothing is sent"));
        }
        Ok(Socket { fd })
    }

    /// Limits how long `receive` and `send` wait.
    ///
    /// # Errors
    /// `Io` when the system refuses.
    pub fn set_patience(&self, within: Nanos) -> Result<()> {
        for direction in [net::sockopt::Timeout::Recv, net::sockopt::Timeout::Send] {
            net::sockopt::set_socket_timeout(&self.fd, direction, Some(within.duration()))
                .map_err(|e| Error::io("link.socket", e))?;
        }
        Ok(())
    }

    /// Sends one message with descriptors.
    ///
    /// # Errors
    /// `Gone` when the other end has closed, `Timeout` when it does not read.
    pub fn send(&self, bytes: &[u8], fds: &[BorrowedFd<'_>]) -> Result<()> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !fds.is_empty() && !control.push(SendAncillaryMessage::ScmRights(fds)) {
            let detail = format!("{} descriptors; accepted are {DESCRIPTORS_MAX}", fds.len());
            return Err(Error::new(Kind::Invalid, "link.socket", detail));
        }
        net::sendmsg(&self.fd, &[IoSlice::new(bytes)], &mut control, SendFlags::NOSIGNAL).map_err(lost)?;
        Ok(())
    }

    /// The next message; empty when the other end has closed.
    ///
    /// # Errors
    /// `Timeout` when none comes in time, `Gone` when the connection broke.
    pub fn receive(&self) -> Result<Packet> {
        let mut bytes = vec![0; PACKET_MAX];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let got = loop {
            match net::recvmsg(
                &self.fd,
                &mut [IoSliceMut::new(&mut bytes)],
                &mut control,
                RecvFlags::CMSG_CLOEXEC,
            ) {
                Err(rustix::io::Errno::INTR) => continue,
                got => break got.map_err(lost)?,
            }
        };
        bytes.truncate(got.bytes);
        let fds = control.drain().filter_map(|message| match message {
            RecvAncillaryMessage::ScmRights(fds) => Some(fds),
            _ => None,
        });
        Ok(Packet { bytes, fds: fds.flatten().collect() })
    }

    /// Whether the other end has closed.
    pub fn ended(&self) -> bool {
        use rustix::event::{poll, PollFd, PollFlags, Timespec};
        let mut fds = [PollFd::new(&self.fd, PollFlags::RDHUP)];
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        let polled = poll(&mut fds, Some(&at_once));
        polled.is_ok() && fds[0].revents().intersects(PollFlags::RDHUP | PollFlags::HUP | PollFlags::ERR)
    }

    /// The descriptor.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// That the socket `name` is another user's.
fn foreign(name: &str, operation: &str, owner: Option<u32>, what: &str) -> Error {
    let owner = owner.map_or("another user".into(), |uid| format!("user {uid}"));
    let own = rustix::process::geteuid().as_raw();
    let detail = format!(
        "\"unix:{name}\" is a socket of {owner}, {what}; this process is user {own}'s, and expected a server of that user; start one, or use tcp:HOST:PORT with its token"
    );
    Error::new(Kind::Access, operation, detail)
}

fn lost(e: rustix::io::Errno) -> Error {
    let kind = if e == rustix::io::Errno::AGAIN { Kind::Timeout } else { Kind::Gone };
    Error::new(kind, "link.socket", std::io::Error::from(e))
}
