//! The storage device of the published artifact: a time for each request, one a byte, and seeks.

use super::device::Request;
use crate::engine::Picos;

/// Its parameters, and where it stands.
#[derive(Clone, Debug)]
pub struct Flat {
    /// Picoseconds a byte.
    pub byte: f64,
    /// For every request.
    pub overhead: Picos,
    /// When it must seek.
    pub seek: Picos,
    /// The object that it worked on last, and where in it that ended.
    at: Option<(u64, u64)>,
}

/// A request that begins at most so many bytes further than the last one ended needs no seek.
pub const SEEK_TOLERANCE: u64 = 512;

impl Flat {
    /// The artifact's burst buffer: 5700 MiB/s, 20 µs a request, 2.5 ms a seek.
    pub fn artifact() -> Flat {
        Flat {
            byte: 1e12 / (5700.0 * (1u64 << 20) as f64),
            overhead: Picos(20_000_000),
            seek: Picos(2_500_000_000),
            at: None,
        }
    }

    /// How long a request takes, and whether it needs a seek.
    pub fn service(&mut self, request: Request) -> (Picos, bool) {
        let Request { object, offset, bytes, .. } = request;
        // A device that did nothing yet stands at the beginning of whatever object comes first.
        let (last, end) = self.at.unwrap_or((object, 0));
        let near = last == object && (end..=end + SEEK_TOLERANCE).contains(&offset);
        let transfer = Picos((bytes as f64 * self.byte).round() as u64);
        self.at = Some((object, offset + bytes));
        (self.overhead + transfer + if near { Picos::ZERO } else { self.seek }, !near)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::Device;

    fn request(object: u64, offset: u64, bytes: u64) -> Request {
        Request { object, offset, bytes, writes: true }
    }

    #[test]
    fn a_device_is_as_busy_as_in_the_published_run() {
        // 15 checkpoints of 166 units of 10⁶ bytes and one of 666,666: 2,505 requests; with 2,297 seeks 6,210.878 ms.
        let mut device = Device::artifact();
        for object in 0..15u64 {
            for unit in 0..167u64 {
                let bytes = if unit == 166 { 666_666 } else { 1_000_000 };
                device.serve(Picos::ZERO, request(object, unit * 1_000_000, bytes));
            }
        }
        assert_eq!(device.requests, (2505, 14));
        let with_seeks = device.busy.millis() + (2297 - 14) as f64 * 2.5;
        assert!((with_seeks - 6210.878).abs() < 0.01, "{with_seeks}");
    }

    #[test]
    fn a_seek_is_needed_after_a_jump_back_or_far_ahead_or_to_another_object() {
        let mut device = Device::artifact();
        for (object, offset) in [(1, 0), (1, 100), (1, 712), (1, 1325), (1, 1000), (2, 1100)] {
            device.serve(Picos::ZERO, request(object, offset, 100));
        }
        // The one 513 bytes ahead, the one back and the one in another object.
        assert_eq!(device.requests, (6, 3));
    }
}
