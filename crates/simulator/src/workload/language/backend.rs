//! Calls of MPI in backend code: which collective, and on how much data.
//!
//! The published language hands such text to a C compiler. Here the collectives are understood under the names that programs
//! for MPI and for Union give them (`MPI_Allreduce`, `UNION_MPI_Allreduce`), with the datatypes of both.

use super::diagnostic::Diagnostic;
use super::source::Span;
use super::tree::{BackendCall, BackendKind, Part};

const CALLS: [(&str, BackendKind); 6] = [
    ("barrier", BackendKind::Barrier),
    ("allreduce", BackendKind::Allreduce),
    ("reduce", BackendKind::Reduce),
    ("bcast", BackendKind::Bcast),
    ("allgather", BackendKind::Allgather),
    ("alltoall", BackendKind::Alltoall),
];

/// Datatypes without their prefix, and their bytes.
const TYPES: [(&str, i64); 19] = [
    ("byte", 1),
    ("char", 1),
    ("signed_char", 1),
    ("unsigned_char", 1),
    ("int8_t", 1),
    ("uint8_t", 1),
    ("short", 2),
    ("unsigned_short", 2),
    ("int", 4),
    ("unsigned", 4),
    ("int32_t", 4),
    ("uint32_t", 4),
    ("float", 4),
    ("long", 8),
    ("long_long", 8),
    ("unsigned_long", 8),
    ("int64_t", 8),
    ("uint64_t", 8),
    ("double", 8),
];

/// The one call in backend code.
///
/// # Errors
/// Code that calls none of the collectives, or several, or names no datatype.
pub fn call(parts: &[Part], span: Span) -> Result<BackendCall, Diagnostic> {
    let refused = |message: String, label: &str| Err(Diagnostic::new(span, message, label));
    let words: Vec<String> = parts
        .iter()
        .filter_map(|part| match part {
            Part::Text(text) => Some(text),
            Part::Value(_) => None,
        })
        .flat_map(|text| text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_'))
        .map(str::to_ascii_lowercase)
        .collect();
    let known = |word: &String| {
        let name = unprefixed(word)?;
        CALLS.iter().find(|(call, _)| *call == name).map(|(_, kind)| *kind)
    };
    let calls: Vec<BackendKind> = words.iter().filter_map(known).collect();
    let kind = match calls[..] {
        [kind] => kind,
        [] => {
            return refused(
                "backend code that is not understood".into(),
                "expected a call of MPI_Barrier, MPI_Allreduce, MPI_Reduce, MPI_Bcast, MPI_Allgather or MPI_Alltoall",
            )
        }
        _ => return refused(format!("backend code with {} calls", calls.len()), "expected one call a statement"),
    };
    let element = words.iter().find_map(|word| {
        let name = unprefixed(word)?;
        TYPES.iter().find(|(known, _)| *known == name).map(|(_, bytes)| *bytes)
    });
    match element {
        _ if kind == BackendKind::Barrier => Ok(BackendCall { kind, element: 0 }),
        Some(element) => Ok(BackendCall { kind, element }),
        None => refused(
            "a call of MPI without a datatype".into(),
            "expected one such as MPI_INT, MPI_DOUBLE or MPI_BYTE",
        ),
    }
}

/// The count of a call, which is the number before its datatype, and the number behind that: the root of those that have one.
/// `code` has its values put in.
pub fn arguments(code: &str) -> Option<(i64, Option<i64>)> {
    let mut numbers = [None, None];
    let mut behind = 0;
    for word in code.split(|c: char| !c.is_ascii_alphanumeric() && !"_[]-".contains(c)) {
        if let Ok(number) = word.parse::<i64>() {
            numbers[behind] = Some(number);
            if behind == 1 {
                break;
            }
        } else if unprefixed(&word.to_ascii_lowercase())
            .is_some_and(|name| TYPES.iter().any(|(known, _)| *known == name))
        {
            behind = 1;
        }
    }
    numbers[0].map(|count| (count, numbers[1]))
}

/// `mpi_int`, `union_mpi_int` and `union_int` without what stands before `int`; none for a word without such a prefix.
fn unprefixed(word: &str) -> Option<&str> {
    let after = word.strip_prefix("union_").or_else(|| word.strip_prefix("codes_"));
    match after {
        Some(rest) => Some(rest.strip_prefix("mpi_").unwrap_or(rest)),
        None => word.strip_prefix("mpi_"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Vec<Part> {
        vec![Part::Text(text.into())]
    }

    #[test]
    fn a_call_is_known_by_its_name_and_its_datatype() {
        for (code, kind, element) in [
            (
                "UNION_MPI_Allreduce(a, b, (int)7\n MPI_INT, MPI_SUM, MPI_COMM_WORLD);",
                BackendKind::Allreduce,
                4,
            ),
            ("MPI_Bcast(a, 3, MPI_DOUBLE, 0, MPI_COMM_WORLD)", BackendKind::Bcast, 8),
            ("UNION_Allreduce(a, b, 1, UNION_Int, UNION_Op_Sum)", BackendKind::Allreduce, 4),
            ("MPI_Barrier(MPI_COMM_WORLD)", BackendKind::Barrier, 0),
        ] {
            assert_eq!(call(&text(code), Span::default()), Ok(BackendCall { kind, element }), "{code}");
        }
        for code in ["printf(1)", "MPI_Bcast(x, 1)", "MPI_Barrier(c); MPI_Barrier(c)"] {
            assert!(call(&text(code), Span::default()).is_err(), "{code}");
        }
    }

    #[test]
    fn the_count_stands_before_the_datatype_and_the_root_behind() {
        let code = "MPI_Allreduce([MESSAGE BUFFER 0], [MESSAGE BUFFER 1], (int)70\n MPI_INT, x)";
        assert_eq!(arguments(code), Some((70, None)));
        assert_eq!(arguments("MPI_Bcast(a, 3, MPI_INT, 2, MPI_COMM_WORLD)"), Some((3, Some(2))));
        assert_eq!(arguments("MPI_Bcast(a, n, MPI_INT, 0)"), None);
    }
}
