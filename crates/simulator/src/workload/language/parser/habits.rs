//! What people write who come from other languages, and how it is said here.

/// What is met, what could have stood there instead, and the help.
const HABITS: &[(&[&str], &str, &str)] = &[
    (&["ns", "nsec", "nsecs"], "`nanoseconds`", "write `nanoseconds`"),
    (&["us", "usec", "usecs"], "`microseconds`", "write `microseconds`"),
    (&["ms", "msec", "msecs"], "`milliseconds`", "write `milliseconds`"),
    (&["s", "sec", "secs"], "`seconds`", "write `seconds`"),
    (&["min", "mins"], "`minutes`", "write `minutes`"),
    (&["h", "hrs"], "`hours`", "write `hours`"),
    (&["b"], "a unit of data", "write `bytes`"),
    (&["kb", "kib"], "a unit of data", "write `kilobytes`"),
    (&["mb", "mib"], "a unit of data", "write `megabytes`"),
    (&["gb", "gib"], "a unit of data", "write `gigabytes`"),
    (&["and", "or"], "`/\\`", "conditions are joined by `/\\` (and) and `\\/` (or)"),
    (&["in"], "`repetitions`", "a loop over numbers is `for each v in {1, 2, ..., 9}`"),
    (&["from"], "`in`", "numbers stand in braces: `for each v in {1, 2, ..., 9}`"),
    (&["while", "repeat", "loop", "do"], "`for`", "a loop is `for N repetitions`, or `for each v in {…}`"),
    (&["every", "each"], "`all`", "all of them are `all tasks`"),
    (&["rank", "ranks", "process", "processes", "node", "nodes"], "`task`", "here they are called tasks"),
    (&["barrier"], "`synchronizes`", "a barrier is `all tasks synchronize`"),
    (&["and", ","], "`asynchronously`", "several tasks are `tasks {0, 1}`, or `tasks t such that …`"),
    (&["<", ">", "=", "<=", ">=", "<>"], "`asynchronously`", "some tasks are `tasks t such that t > 0`"),
    (&["tag", "using"], "`with`", "messages have no tags: they are received in the order of sending"),
    (&["tag"], "`data`", "messages have no tags: they are received in the order of sending"),
    (&["to", "from"], "`messages`", "say what is sent: `a 4 byte message`"),
    (&["="], "`be`", "`let` binds with `be`: let n be 3 while …"),
    (&["="], "an expression", "equal is one `=`"),
    (&["average"], "`as`", "an average is `the mean of`"),
];

/// The help for what was met where something else was expected.
pub fn said(met: &str, expected: &[String]) -> Option<String> {
    let fits = |needed: &str| expected.iter().any(|name| name.starts_with(needed));
    let habit = HABITS.iter().find(|(words, needed, _)| words.contains(&met) && fits(needed))?;
    Some(habit.2.into())
}

/// The help for a character that has no meaning.
pub fn said_of(character: char) -> Option<String> {
    let help = match character {
        '!' => "different is `<>`",
        '%' => "the rest of a division is `mod`",
        ';' => "one statement follows another behind `then`, one sentence another behind a full stop",
        '^' => "a power is `**`, and bits are joined by `xor`",
        '\'' => "strings stand between `\"`",
        '@' => "a place in a file is `at E bytes`",
        _ => return None,
    };
    Some(help.into())
}
