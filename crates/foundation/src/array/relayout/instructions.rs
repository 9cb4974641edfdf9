//! Which vector instructions the processor has, asked when a plan runs.

/// The widest instructions that a plan may use, narrowest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Instructions {
    /// What every processor of the architecture has.
    Plain,
    /// 256-bit registers.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// 512-bit registers with masks and permutations of bytes (F, BW and VBMI).
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Instructions {
    /// The widest that this processor has.
    #[cfg(target_arch = "x86_64")]
    pub fn here() -> Instructions {
        let has_bytes = is_x86_feature_detected!("avx512bw") && is_x86_feature_detected!("avx512vbmi");
        if is_x86_feature_detected!("avx512f") && has_bytes {
            Instructions::Avx512
        } else if is_x86_feature_detected!("avx2") {
            Instructions::Avx2
        } else {
            Instructions::Plain
        }
    }

    /// The widest that this processor has.
    #[cfg(not(target_arch = "x86_64"))]
    pub fn here() -> Instructions {
        Instructions::Plain
    }
}
