//! Whatever comes over a link is refused, or is a message that means itself when it is written again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use serde::{de::DeserializeOwned, Serialize};
use std::fmt::Debug;
use thalweg_services::envelope::{decode, encode};
use thalweg_services::greeting::Greeting;
use thalweg_services::{staging, stream};

fn means_itself<T: Serialize + DeserializeOwned + Debug>(bytes: &[u8]) {
    if let Ok((id, message)) = decode::<T>(bytes) {
        let Ok(written) = encode(id, &message, Vec::new()) else { return };
        // As bytes: a number that is none is not equal to itself.
        let again = decode::<T>(&written).and_then(|(id, message)| encode(id, &message, Vec::new()));
        assert_eq!(again.ok(), Some(written), "{message:?}");
    }
}

fuzz_target!(|bytes: &[u8]| {
    means_itself::<stream::message::Request>(bytes);
    means_itself::<stream::message::Reply>(bytes);
    means_itself::<stream::driver::RemoteRequest>(bytes);
    means_itself::<stream::driver::RemoteReply>(bytes);
    means_itself::<staging::message::Request>(bytes);
    means_itself::<staging::message::Reply>(bytes);
    let _ = Greeting::decode(bytes);
    let _ = stream::driver::Handshake::decode(bytes);
    let _ = staging::driver::Handshake::decode(bytes);
});
