//! The first message on every connection: who comes, and to which service.

use serde::{Deserialize, Serialize};
use thalweg_foundation::base::Name;
use thalweg_foundation::{Error, Kind, Result};

/// Who a client is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// The version of the service's protocol that the client speaks.
    pub protocol: u32,
    /// What the client calls itself; for messages to people.
    pub name: Name,
    /// Its process.
    pub pid: u32,
    /// The namespace that all its keys are in; streams have none.
    pub namespace: Name,
    /// The shared secret; needed over TCP.
    pub token: String,
}

/// The first message of a client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Greeting {
    /// To the staging service.
    Staging(Hello),
    /// To the stream service.
    Streams(Hello),
    /// To the redirect service: the name is the component's, the namespace the coupling's.
    Redirect(Hello),
}

impl Greeting {
    /// As it is sent.
    ///
    /// # Errors
    /// `Protocol` when it cannot be encoded.
    pub fn encode(&self) -> Result<Vec<u8>> {
        postcard::to_stdvec(self).map_err(|e| Error::new(Kind::Protocol, "connect", e))
    }

    /// Reads one.
    ///
    /// # Errors
    /// `Protocol` when the bytes are none.
    pub fn decode(bytes: &[u8]) -> Result<Greeting> {
        postcard::from_bytes(bytes).map_err(|e| {
            Error::new(Kind::Protocol, "connect", format!("{} bytes that are no greeting: {e}", bytes.len()))
        })
    }

    /// Who comes.
    pub fn hello(&self) -> &Hello {
        match self {
            Greeting::Staging(hello) | Greeting::Streams(hello) | Greeting::Redirect(hello) => hello,
        }
    }

    /// What errors of connecting begin with.
    pub fn operation(&self) -> &'static str {
        match self {
            Greeting::Staging(_) => "stage.connect",
            Greeting::Streams(_) => "stream.connect",
            Greeting::Redirect(_) => "redirect.connect",
        }
    }

    /// Checks that both sides speak the same protocol.
    ///
    /// # Errors
    /// `Protocol` with both versions.
    pub fn admissible(&self) -> Result<()> {
        let spoken = match self {
            Greeting::Staging(_) => crate::staging::message::PROTOCOL,
            Greeting::Streams(_) => crate::stream::message::PROTOCOL,
            Greeting::Redirect(_) => crate::redirect::message::PROTOCOL,
        };
        let theirs = self.hello().protocol;
        if theirs == spoken {
            return Ok(());
        }
        let detail = format!(
            "the client speaks protocol {theirs}, this server {spoken}; use the same release on both sides"
        );
        Err(Error::new(Kind::Protocol, self.operation(), detail))
    }
}

/// What every service's answer to a greeting begins with where it is refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Refusal {
    /// Why.
    Refused(Error),
}

impl Refusal {
    /// As it is sent.
    pub fn encode(e: Error) -> Vec<u8> {
        postcard::to_stdvec(&Refusal::Refused(e)).unwrap_or_default()
    }
}
