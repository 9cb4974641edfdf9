//! How much memory there is to share.

use thalweg_foundation::Bytes;

/// Memory that could be taken now without swapping, or 1 GiB where the system does not tell.
pub fn available() -> Bytes {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|l| l.strip_prefix("MemAvailable:"));
    let kib = line.and_then(|l| l.split_whitespace().next()?.parse::<u64>().ok());
    Bytes(kib.map_or(1 << 30, |kib| kib << 10))
}
