//! The words of the language: which are reserved, and which mean the same.

/// Reserved words; the first of a row is the one that messages name, the others are other forms of it.
const RESERVED: &[&[&str]] = &[
    &["a", "an"],
    &["aggregates"],
    &["aligned"],
    &["all"],
    &["and"],
    &["arithmetic"],
    &["as"],
    &["assert"],
    &["assigned"],
    &["asynchronously"],
    &["at"],
    &["awaits", "await"],
    &["backend"],
    &["be"],
    &["bits", "bit"],
    &["buffer", "buffers"],
    &["but"],
    &["bytes", "byte"],
    &["closes", "close"],
    &["comes"],
    &["completion", "completions"],
    &["computes", "compute"],
    &["counters"],
    &["current"],
    &["data"],
    &["days", "day"],
    &["declares"],
    &["default"],
    &["deviation"],
    &["divides"],
    &["doublewords", "doubleword"],
    &["each"],
    &["even"],
    &["executes", "execute"],
    &["file", "files"],
    &["final"],
    &["for"],
    &["from"],
    &["geometric"],
    &["gigabytes", "gigabyte"],
    &["greater"],
    &["group"],
    &["halfwords", "halfword"],
    &["harmonic"],
    &["histogram"],
    &["hours", "hour"],
    &["if"],
    &["in"],
    &["integers", "integer"],
    &["into"],
    &["is", "are"],
    &["its", "their"],
    &["kilobytes", "kilobyte"],
    &["language"],
    &["less"],
    &["let"],
    &["logs", "log"],
    &["maximum"],
    &["mean"],
    &["median"],
    &["megabytes", "megabyte"],
    &["memory"],
    &["messages", "message"],
    &["microseconds", "microsecond"],
    &["milliseconds", "millisecond"],
    &["minimum"],
    &["minutes", "minute"],
    &["misaligned"],
    &["mod"],
    &["multicasts", "multicast"],
    &["my"],
    &["nanoseconds", "nanosecond"],
    &["nonunique"],
    &["not"],
    &["odd"],
    &["of"],
    &["opens", "open"],
    &["or"],
    &["other"],
    &["otherwise"],
    &["outputs", "output"],
    &["pages", "page"],
    &["plus"],
    &["processor", "processors"],
    &["quadwords", "quadword"],
    &["random"],
    &["reads", "read"],
    &["receives", "receive"],
    &["reduces", "reduce"],
    &["region"],
    &["repetitions", "repetition"],
    &["require"],
    &["resets", "reset"],
    &["restores", "restore"],
    &["results", "result"],
    &["seconds", "second"],
    &["sends", "send"],
    &["sized"],
    &["sleeps", "sleep"],
    &["standard"],
    &["stores", "store"],
    &["stride"],
    &["such"],
    &["sum"],
    &["synchronization"],
    &["synchronizes", "synchronize"],
    &["synchronously"],
    &["syncs", "sync"],
    &["task", "tasks"],
    &["than"],
    &["that"],
    &["the"],
    &["them", "it"],
    &["then"],
    &["times", "time"],
    &["to"],
    &["touches", "touch"],
    &["touching"],
    &["unaligned"],
    &["unique"],
    &["unsuspecting"],
    &["variance"],
    &["verification"],
    &["version"],
    &["warmup"],
    &["while"],
    &["who"],
    &["with"],
    &["without"],
    &["words", "word"],
    &["writes", "write"],
    &["xor"],
];

/// Units of data: their words and bytes; `bits` are an eighth of one.
pub const SIZES: &[(&str, i64)] = &[
    ("bytes", 1),
    ("halfwords", 2),
    ("words", 4),
    ("integers", 4),
    ("doublewords", 8),
    ("quadwords", 16),
    ("pages", 4096),
    ("kilobytes", 1 << 10),
    ("megabytes", 1 << 20),
    ("gigabytes", 1 << 30),
    ("bits", 0),
];

/// Units of time and their picoseconds. Nanoseconds are an addition to the published language.
pub const TIMES: &[(&str, u64)] = &[
    ("nanoseconds", 1_000),
    ("microseconds", 1_000_000),
    ("milliseconds", 1_000_000_000),
    ("seconds", 1_000_000_000_000),
    ("minutes", 60_000_000_000_000),
    ("hours", 3_600_000_000_000_000),
    ("days", 86_400_000_000_000_000),
];

/// The reserved word that `word`, in small letters, is a form of.
pub fn reserved(word: &str) -> Option<&'static str> {
    let row = RESERVED.binary_search_by(|row| row[0].cmp(word)).ok().or_else(|| {
        // Other forms stand behind the first, out of order.
        RESERVED.iter().position(|row| row[1..].contains(&word))
    });
    row.map(|row| RESERVED[row][0])
}

/// Whether a word is a unit or a kind of alignment, before which a hyphen is a space: "a 64K-byte message".
pub fn takes_hyphen(word: &str) -> bool {
    SIZES.iter().any(|(unit, _)| *unit == word)
        || TIMES.iter().any(|(unit, _)| *unit == word)
        || ["aligned", "misaligned", "sized", "touching", "messages"].contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_a_word_are_the_same() {
        for (one, other) in [
            ("a", "an"),
            ("task", "tasks"),
            ("send", "sends"),
            ("is", "are"),
            ("word", "words"),
            ("millisecond", "milliseconds"),
        ] {
            assert_eq!(reserved(one), reserved(other));
            assert!(reserved(one).is_some(), "{one}");
        }
        assert_eq!(reserved("numwords"), None);
        assert!(RESERVED.is_sorted_by(|a, b| a[0] < b[0]));
    }
}
