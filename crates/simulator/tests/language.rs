//! What sentences of the workload language mean, and what is said of those that mean nothing.

#![allow(clippy::unwrap_used)] // a test that cannot go on shall fail

use std::sync::Arc;
use thalweg_simulator::engine::Picos;
use thalweg_simulator::workload::language::{Bound, Program, Source as Text};
use thalweg_simulator::workload::operation::{Behaviour, Group, Operation, Seen, Source};

fn bound(text: &str, tasks: u32) -> Arc<Bound> {
    let program = Program::parse("test", text).unwrap_or_else(|error| panic!("{error}"));
    Arc::new(program).bind(tasks, &[], 1).unwrap()
}

/// What a task does, in words: `>1:8` sends 8 bytes to task 1, `<` receives, `>>` and `<<` without waiting.
fn words(bound: &Arc<Bound>, task: u32) -> String {
    let mut performer = bound.task(task);
    let mut words = Vec::new();
    while let Some(operation) = performer.next(&Seen::default()).unwrap() {
        words.push(match operation {
            Operation::Send { to, bytes, .. } => format!(">{to}:{bytes}"),
            Operation::Isend { to, bytes, .. } => format!(">>{to}:{bytes}"),
            Operation::Recv { from: Source::Rank(from), bytes, .. } => format!("<{from}:{bytes}"),
            Operation::Irecv { from: Source::Rank(from), bytes, .. } => format!("<<{from}:{bytes}"),
            Operation::WaitAll => "wait".into(),
            Operation::Compute { time: Picos(time) } => format!("compute:{time}"),
            Operation::Collective { kind, root, bytes, group } => {
                let members = match group {
                    Group::All => String::new(),
                    Group::Of(members) => format!("{members:?}"),
                };
                format!("{}:{root}:{bytes}{members}", kind.name())
            }
            Operation::Open { file } => format!("open:{file}"),
            Operation::Close { file } => format!("close:{file}"),
            Operation::Sync { file } => format!("sync:{file}"),
            Operation::Read { file, at, bytes } => format!("read:{file}@{at}:{bytes}"),
            Operation::Write { file, at, bytes } => format!("write:{file}@{at}:{bytes}"),
            other => panic!("{other:?}"),
        });
    }
    words.join(" ")
}

#[test]
fn sentences_mean_operations() {
    for (text, tasks, task, expected) in [
        ("Task 0 sends a 64 byte message to task 1.", 2, 0, ">1:64"),
        ("Task 0 sends a 64 byte message to task 1.", 2, 1, "<0:64"),
        ("task 0 send 3 1 kilobyte messages to task 1", 2, 0, ">1:1024 >1:1024 >1:1024"),
        ("task 0 sends a message to task 1", 2, 1, "<0:0"),
        ("task 0 sends a 64K-byte message to task 1", 2, 0, ">1:65536"),
        ("task 0 sends a 12 bit message to task 1", 2, 0, ">1:2"),
        ("task 0 sends 2 doubleword sized messages to task 1", 2, 0, ">1:8 >1:8"),
        ("task 0 sends a 10 byte 64 byte aligned message to task 1", 2, 0, ">1:10"),
        ("task 0 sends a 10 byte unaligned message with data touching from buffer 3 to task 1", 2, 0, ">1:10"),
        ("task 0 sends a 10 byte page aligned message with verification to task 1", 2, 0, ">1:10"),
        ("all tasks t sends a 1 byte message to task (t+1) mod num_tasks", 3, 1, ">2:1 <0:1"),
        ("all tasks t asynchronously send a 1 byte message to task (t+1) mod num_tasks", 3, 0, "<<2:1 >>1:1"),
        ("task 0 asynchronously sends a 1 byte message to task 1 who receives it synchronously", 2, 1, "<0:1"),
        ("task 0 sends a 1 byte message to task 1 who receives it asynchronously into buffer 2", 2, 1, "<<0:1"),
        ("task 0 sends a 1 byte message to unsuspecting task 1", 2, 1, ""),
        ("task 1 asynchronously receives a 1 byte message from task 0 then task 1 awaits completion", 2, 1, "<<0:1 wait"),
        ("task (n+1) mod 3 receives a 4 byte message from tasks n such that n < 2", 4, 2, "<1:4"),
        ("task (n+1) mod 3 receives a 4 byte message from tasks n such that n < 2", 4, 0, ""),
        ("tasks t such that t is even send a t byte message to task t+1", 4, 3, "<2:2"),
        ("task 0 sends a 1 byte message to all other tasks", 4, 0, ">1:1 >2:1 >3:1"),
        ("tasks t such that t > 0 send a 1 byte message to task 0", 4, 0, "<1:1 <2:1 <3:1"),
        ("all tasks t send a 4 byte message to task tree_parent(t)", 3, 0, "<1:4 <2:4"),
        ("all tasks t send a 4 byte message to task tree_parent(t)", 3, 2, ">0:4"),
        ("task 0 multicasts a 5 word message to all other tasks", 3, 2, "bcast:0:20"),
        ("task 2 multicasts a 5 word message to tasks t such that t < 2 /\\ t <> 0", 4, 1, "bcast:2:20[1, 2]"),
        ("task 2 multicasts a 5 word message to tasks t such that t < 2", 4, 3, ""),
        ("all tasks reduce 3 doublewords to task 1", 3, 0, "reduce:1:24"),
        ("all tasks reduce an integer to all tasks", 3, 0, "allreduce:0:4"),
        ("all tasks reduce 7 integers", 3, 0, "allreduce:0:28"),
        ("tasks t such that t > 1 reduce 7 bytes", 4, 3, "allreduce:0:7[2, 3]"),
        ("tasks t such that t > 1 reduce 7 bytes to tasks u such that u < 2", 4, 0, "reduce:0:7[0, 2, 3] bcast:0:7[0, 1]"),
        ("all tasks synchronize then task 1 synchronizes", 3, 1, "barrier:0:0"),
        ("tasks t such that t < 2 synchronize", 3, 1, "barrier:0:0[0, 1]"),
        ("task 1 computes for 2 seconds then all tasks sleep for 3 microseconds", 2, 1, "compute:2000000000000 compute:3000000"),
        ("for 2 repetitions {task 0 sends a 1 byte message to task 1 then task 1 sends a 2 byte message to task 0}", 2, 0, ">1:1 <1:2 >1:1 <1:2"),
        ("for 1 repetition plus 2 warmup repetitions and a synchronization all tasks compute for 1 nanosecond", 2, 0,
         "compute:1000 compute:1000 barrier:0:0 compute:1000"),
        ("for each size in {0}, {1, 2, 4, ..., 8}, {5, ..., 3} task 0 sends a size byte message to task 1", 2, 0, ">1:0 >1:1 >1:2 >1:4 >1:8 >1:5 >1:4 >1:3"),
        ("let n be 3 and m be n*n while if m is odd then task 0 sends an m byte message to task 1 otherwise all tasks synchronize", 2, 0, ">1:9"),
        ("if num_tasks = 1 \\/ (2 divides num_tasks /\\ (num_tasks+1) mod 3 = 0) then all tasks synchronize", 2, 0, "barrier:0:0"),
        ("if num_tasks is in {1, 3, ..., 9} then all tasks synchronize otherwise all tasks compute for 1 nanosecond", 4, 0, "compute:1000"),
        ("if num_tasks is not in [2, 3] then all tasks synchronize", 4, 0, "barrier:0:0"),
        ("let g be tasks t such that t > 0 while task group g sends a t byte message to task 0", 3, 0, "<1:1 <2:2"),
        ("let k be 1 and g be task k and k be 2 while task 0 sends a k byte message to task group g", 3, 0, ">1:2"),
        ("let g be all tasks t while {task group g computes for t+1 nanoseconds then task group g synchronizes}", 2, 1,
         "compute:2000 barrier:0:0"),
        ("let g be task 2 while task group g receives a 4 byte message from task 0", 3, 2, "<0:4"),
        ("tasks {0, 2, ..., 6} send a 1 byte message to task 1", 4, 1, "<0:1 <2:1"),
        ("all tasks compute for 2*my task nanoseconds then all tasks write 4K at my task*4 kilobytes", 4, 3,
         "compute:6000 write:0@12288:4096"),
        ("task 0 touches 10 words of a 1 kilobyte memory region with random stride", 1, 0, ""),
        ("all tasks OPEN \"in.dat\" then all tasks t READ 4K from \"in.dat\" at t*4 kilobytes then all tasks CLOSE \"in.dat\"", 2, 1,
         "open:1 read:1@4096:4096 close:1"),
        ("task 0 writes 3 pages to the file \"a\" then task 0 writes 1 to file \"b\" then task 0 syncs its file \"b\"", 1, 0,
         "write:1@0:12288 write:2@0:1 sync:2"),
        ("all tasks read 8M", 1, 0, "read:0@0:8388608"),
        ("all tasks touch all message buffers then all tasks are assigned to processor 0 then all tasks touch a 1 megabyte memory region 2 times with stride 8 words", 1, 0, ""),
        ("all tasks backend execute \"MPI_Barrier(MPI_COMM_WORLD);\" then task 0 backend executes \"MPI_Bcast(b, \" and 3*2 and \", MPI_DOUBLE, 1, c)\"", 2, 0,
         "barrier:0:0 bcast:1:48"),
    ] {
        assert_eq!(words(&bound(text, tasks), task), expected, "{text}");
    }
}

#[test]
fn expressions_have_values() {
    for (text, value) in [
        ("2+3*4**2", 50),
        ("7/2 - -7/2", 3 + 4),
        ("(-7) mod 3", 2),
        ("2**3**2", 512),
        ("1<<10 >> 3 & 255", 128),
        ("5 | 2 xor 1", 6),
        ("not 0", -1),
        ("10 if num_tasks > 3 otherwise 20 if num_tasks = 3 otherwise 30", 20),
        ("abs(-3) + min(4, 2, 8) + max(1, 7)", 12),
        ("bits(255) + bits(256)", 17),
        ("factor10(4975) + sqrt(17) + cbrt(28) + log10(1001) + root(4, 80)", 4000 + 4 + 3 + 3 + 2),
        ("floor(7/2) + ceiling(real(7)/2) + round(real(7)/2)", 3 + 4 + 4),
        ("real(7/2*2)", 7),
        (
            "tree_child(1, 0) + tree_child(0, 2, 3) + knomial_child(1, 0) + knomial_children(0, 2, 8)",
            3 + 3 - 1 + 3,
        ),
        (
            "mesh_coordinate((4, 3), 6, 1) + mesh_distance((4*, 3), 0, 3) + mesh_neighbor((4, 3), 0, (1, 1))",
            1 + 1 + 5,
        ),
        ("1K + 1E3", 2024),
    ] {
        let text = format!(
            "let x be {text} while task 0 sends an abs(x) byte message to task (1 if x > 0 otherwise 2)"
        );
        let expected = if value > 0 { format!(">1:{value}") } else { format!(">2:{}", -value) };
        assert_eq!(words(&bound(&text, 3), 0), expected, "{text}");
    }
}

#[test]
fn random_numbers_are_the_same_on_every_task() {
    let text = "for 50 repetitions let src be a random task and dst be a random task other than src while \
                task src sends a random_uniform(1, 100) byte message to task dst";
    let bound = bound(text, 5);
    let sent: Vec<(u32, u64)> = (0..5).flat_map(|task| parts(&words(&bound, task), '>')).collect();
    let received: Vec<(u32, u64)> = (0..5).flat_map(|task| parts(&words(&bound, task), '<')).collect();
    assert_eq!((sent.len(), received.len()), (50, 50));
    assert_eq!(
        sent.iter().map(|(_, bytes)| bytes).sum::<u64>(),
        received.iter().map(|(_, bytes)| bytes).sum::<u64>()
    );
    let sizes: std::collections::HashSet<_> = sent.iter().map(|(_, bytes)| bytes).collect();
    assert!(sizes.len() > 20 && sizes.iter().all(|bytes| (1..100).contains(*bytes)));
}

fn parts(words: &str, sign: char) -> Vec<(u32, u64)> {
    let part = |word: &str| {
        let (other, bytes) = word.strip_prefix(sign)?.split_once(':')?;
        Some((other.parse().unwrap(), bytes.parse().unwrap()))
    };
    words.split(' ').filter_map(part).collect()
}

#[test]
fn what_is_logged_is_what_was_seen() {
    let text = "task 0 resets its counters then task 0 outputs 1/elapsed_usecs then \
                for 2 repetitions plus 1 warmup repetition task 0 sends an 8 byte message to task 1 then \
                task 0 logs msgs_sent as \"messages\" and the mean of elapsed_usecs/2 as \"half\" then \
                task 0 outputs \"sent \" and bytes_sent and \" B\"";
    let bound = bound(text, 2);
    let mut performer = bound.task(0);
    for count in 0.. {
        let seen = Seen { now: Picos(count * 1_000_000), sent: (count, count * 8), received: (0, 0) };
        if performer.next(&seen).unwrap().is_none() {
            break;
        }
    }
    let log = bound.logged();
    assert_eq!(log.rows(), [(0, "messages".into(), 3.0), (0, "half".into(), 1.5)]);
    assert_eq!(log.outputs, [(0, "inf".into()), (0, "sent 24 B".into())]);
}

/// What a task does in words, while every operation takes a microsecond.
fn clocked(performer: &mut impl Behaviour) -> (u64, Vec<Operation>) {
    let mut operations = Vec::new();
    for now in 0.. {
        let seen = Seen { now: Picos(now * 1_000_000), ..Seen::default() };
        match performer.next(&seen).unwrap() {
            Some(operation) => operations.push(operation),
            None => return (now, operations),
        }
    }
    unreachable!("the clock has an end")
}

#[test]
fn a_loop_over_a_time_repeats_equally_often_on_every_task() {
    // A repetition takes 4 µs on task 0: barrier, word, two computations; the first word is told at 1 µs, the others at 5, 9 and
    // 13 µs, and 12 µs after the first the time is over.
    let text =
        "for 12 microseconds all tasks t compute for 1 nanosecond then task 0 computes for 1 nanosecond";
    let text = text.replacen("all tasks t compute", "{all tasks t compute", 1) + "}";
    let bound = bound(&text, 3);
    let (ends, operations) = clocked(&mut bound.task(0));
    assert_eq!((bound.laps(), ends, operations.len()), (vec![3], 14, 3 * 4 + 2));
    for task in 1..3 {
        let (_, operations) = clocked(&mut bound.task(task));
        assert_eq!(operations.len(), 3 * 3 + 2, "barrier, word, computation; and who learns that it is over");
        assert_eq!(operations[1].kind(), ("bcast", 8));
    }
    // Without a run it counts once, or as often as is said.
    assert_eq!(clocked(&mut bound.replayed(1, Arc::from([]))).1.len(), 3 + 2);
    assert_eq!(clocked(&mut bound.replayed(1, Arc::from([5]))).1.len(), 5 * 3 + 2);
    assert_eq!(bound.laps(), [3], "counting changes nothing");
}

#[test]
fn loops_over_a_time_stand_behind_and_within_each_other() {
    // Outer words at 1, 8 and 15 µs; inner ones at 3 and 6 µs, so one repetition, and again at 10 and 13 µs.
    let text = "for 9 microseconds for 2 microseconds all tasks compute for 1 nanosecond then \
                for 0 seconds all tasks compute for 1 nanosecond";
    let bound = bound(text, 2);
    clocked(&mut bound.task(0));
    assert_eq!(bound.laps(), [2, 1, 1, 0]);
    let others = clocked(&mut bound.task(1)).1;
    assert_eq!(others.iter().filter(|operation| operation.kind().0 == "compute").count(), 2);
    assert_eq!(others.len(), 2 + 2 * (3 + 4) + 2);
}

#[test]
fn warmup_takes_its_own_time_and_logs_nothing() {
    // A repetition takes 3 µs: 2 warm-up repetitions begin within 4 µs, and 3 within 7 µs.
    let text = "for 7 microseconds plus 4 warmup microseconds and a synchronization \
                {all tasks compute for 1 nanosecond then task 0 outputs \"lap\"}";
    let bound = bound(text, 2);
    let operations = clocked(&mut bound.task(0)).1;
    assert_eq!(bound.laps(), [2, 3]);
    assert_eq!(operations.len(), (2 * 3 + 2) + 1 + (3 * 3 + 2));
    assert_eq!(bound.logged().outputs.len(), 3);
}

#[test]
fn aggregates_of_one_value_stand_side_by_side() {
    let text = "for each x in {2, 4, 9} task 0 logs the mean and the maximum of x as \"x\" and the final x as \"last\"";
    let bound = bound(text, 1);
    while bound.task(0).next(&Seen::default()).unwrap().is_some() {}
    let rows = [(0, "x (mean)".into(), 5.0), (0, "x (maximum)".into(), 9.0), (0, "last".into(), 9.0)];
    assert_eq!(bound.logged().rows(), rows);
}

/// A program that is wrong: line, column, the word there, and parts of what is said.
const WRONG: &[(&str, usize, usize, &str, &str)] = &[
    ("task 0 sned a 4 byte message to task 1", 1, 8, "sned", "did you mean `sends`?"),
    ("task 0 sends a 4 byte mesage to task 1", 1, 23, "mesage", "did you mean `messages`?"),
    ("task 0 sends a 4 byte message task 1", 1, 31, "task", "expected"),
    ("task 0 sends a 4 message to task 1", 1, 18, "message", "expected a unit of data"),
    ("task 0 sends a 4 byte message to", 1, 33, "", "the end of the program does not fit here"),
    ("Task 0 computes 5 seconds", 1, 17, "5", "expected `aggregates` or `for`"),
    (
        "Task 0 computes for 5 second\nTask 1 computes for 5 byte",
        2,
        23,
        "byte",
        "expected `nanoseconds`, `microseconds`",
    ),
    (
        "all task sends a 1 byte message to task 0 thn all tasks synchronize",
        1,
        43,
        "thn",
        "did you mean `then`?",
    ),
    ("for 3 all tasks synchronize", 1, 7, "all", "`repetitions`"),
    ("for 3 repetitions {\n  all tasks synchronize\n", 3, 1, "", "expected `then` or `}`"),
    (
        "for 3 repetitions {\n  for 2 repetitions {all tasks synchronize}\n",
        3,
        1,
        "",
        "the block began at wrong.ncptl:1:19",
    ),
    ("for each x {1, 2} all tasks synchronize", 1, 12, "{", "expected `in`"),
    ("for each x in {1, 2, ...} all tasks synchronize", 1, 25, "}", "expected `,`"),
    (
        "for each for in {1} all tasks synchronize",
        1,
        10,
        "for",
        "`for` is a word of the language, not a name",
    ),
    ("let n be 4 task 0 computes for n seconds", 1, 12, "task", "expected `and` or `while`"),
    ("if 3 then all tasks synchronize", 1, 6, "then", "expected a comparison"),
    ("if num_tasks > 3 all tasks synchronize", 1, 18, "all", "`then`"),
    ("assert that 3 with 1 = 1", 1, 13, "3", "expected what is asserted in quotation marks"),
    ("task 0 outputs \"a\n", 1, 16, "\"", "this string is not closed"),
    ("task 0 computes for 5q seconds", 1, 21, "5q", "is no number"),
    ("task 0 computes for 1.5 seconds", 1, 21, "1.5", "a number with a fraction"),
    ("task 0 computes for 99999999999999999999 seconds", 1, 21, "99999999999999999999", "is too large"),
    ("task 0 computes for 9E30 seconds", 1, 21, "9E30", "is too large"),
    ("task 0 computes for 5 ; seconds", 1, 23, ";", "has no meaning here"),
    ("task 0 computes for (5 seconds", 1, 24, "seconds", "expected `)`"),
    ("task 0 computes for reps seconds", 1, 21, "reps", "there is no variable `reps`"),
    (
        "reps is \"n\" and comes from \"--reps\" with default 3. for rep repetitions {}",
        1,
        57,
        "rep",
        "did you mean `reps`?",
    ),
    ("reps is \"n\" and comes from \"reps\" with default 3.", 1, 28, "\"reps\"", "is no option"),
    ("reps is \"n\" comes from \"--reps\".", 1, 32, ".", "expected `or` or `with`"),
    (
        "a1 is \"n\" comes from \"-r\" with default 3. a2 is \"n\" comes from \"-r\" with default 3.",
        1,
        64,
        "\"-r\"",
        "given to two",
    ),
    (
        "a1 is \"n\" comes from \"-a\" with default 3. a1 is \"n\" comes from \"-b\" with default 3.",
        1,
        43,
        "a1",
        "declared twice",
    ),
    ("num_tasks is \"n\" comes from \"-a\" with default 3.", 1, 1, "num_tasks", "declared twice"),
    (
        "all tasks synchronize. Require language version \"1.5\".",
        1,
        24,
        "Require",
        "a declaration behind a statement",
    ),
    ("Require language version \"2.0\".", 1, 26, "\"2.0\"", "accepted are \"1.0\" to \"1.5\""),
    ("Require langage version \"1.5\".", 1, 9, "langage", "did you mean `language`?"),
    ("task 0 computes for sqr(4) seconds", 1, 21, "sqr", "did you mean `sqrt`?"),
    ("task 0 computes for sqrt(4, 5) seconds", 1, 21, "sqrt(4, 5)", "accepted are 1"),
    (
        "task 0 computes for mesh_neighbor((3, 3), 1, (1)) seconds",
        1,
        46,
        "(1)",
        "one offset for each dimension",
    ),
    ("task 0 computes for mesh_neighbor(3, 1, 1) seconds", 1, 35, "3", "expected `(`"),
    ("for elapsed_usecs repetitions {}", 1, 5, "elapsed_usecs", "known only while the program runs"),
    ("for 10 seconds repetitions all tasks synchronize", 1, 16, "repetitions", "expected `plus`"),
    (
        "for 5 seconds plus 3 warmup repetitions all tasks synchronize",
        1,
        29,
        "repetitions",
        "expected `nanoseconds`",
    ),
    ("for 5 ms all tasks synchronize", 1, 7, "ms", "write `milliseconds`"),
    ("task 0 computes for 5 secs", 1, 23, "secs", "write `seconds`"),
    ("task 0 sends a 4 KB message to task 1", 1, 18, "KB", "write `kilobytes`"),
    ("task 0 computes for 7 % 3 seconds", 1, 23, "%", "the rest of a division is `mod`"),
    ("if num_tasks != 3 then all tasks synchronize", 1, 14, "!", "different is `<>`"),
    ("all tasks synchronize; task 0 outputs 1", 1, 22, ";", "behind `then`"),
    ("let x = 3 while all tasks synchronize", 1, 7, "=", "`let` binds with `be`"),
    ("for i in {1, 2} all tasks synchronize", 1, 7, "in", "`for each v in {1, 2, ..., 9}`"),
    ("repeat 3 times all tasks synchronize", 1, 1, "repeat", "a loop is `for N repetitions`"),
    ("every task synchronizes", 1, 1, "every", "`all tasks`"),
    ("task 0 and task 1 synchronize", 1, 8, "and", "several tasks are `tasks {0, 1}`"),
    ("tasks 0, 1 synchronize", 1, 8, ",", "several tasks are `tasks {0, 1}`"),
    ("all tasks t > 0 synchronize", 1, 13, ">", "`tasks t such that t > 0`"),
    ("task 0 sends 4 bytes to task 1", 1, 22, "to", "say what is sent: `a 4 byte message`"),
    ("task 0 sends a 4 byte message using tag 3 to task 1", 1, 31, "using", "messages have no tags"),
    ("task 0 sends a 4 byte message to rank 1", 1, 34, "rank", "here they are called tasks"),
    (
        "task group friends synchronizes",
        1,
        12,
        "friends",
        "give tasks a name: let friends be all tasks t while",
    ),
    ("let near be all tasks while task group nera synchronizes", 1, 40, "nera", "did you mean `near`?"),
    ("task 0 outputs my tsk", 1, 19, "tsk", "did you mean `task`?"),
    (
        "task 0 sends a my task byte message to task 1",
        1,
        16,
        "my task",
        "elsewhere name the tasks: `all tasks t`",
    ),
    ("if my task = 0 then all tasks synchronize", 1, 4, "my task", "is another one on every task"),
    ("task 0 logs the mean and elapsed_usecs as \"t\"", 1, 26, "elapsed_usecs", "`median`"),
    ("let g be all tasks while task g synchronizes", 1, 31, "g", "`g` is a group: `task group g`"),
    ("let g be all other tasks while task group g synchronizes", 1, 5, "g", "other tasks than nobody"),
    (
        "let g be tasks t such that t = random_uniform(0, 3) while task group g synchronizes",
        1,
        5,
        "g",
        "random numbers decide who is in `g`",
    ),
    (
        "if num_tasks > 3 and num_tasks < 5 then all tasks synchronize",
        1,
        18,
        "and",
        "conditions are joined by `/\\` (and) and `\\/` (or)",
    ),
    ("if num_tasks == 3 then all tasks synchronize", 1, 15, "=", "equal is one `=`"),
    ("all other tasks synchronize", 1, 1, "all other tasks synchronize", "nobody was named before"),
    ("task 0 backend executes \"printf(1);\"", 1, 25, "\"printf(1);\"", "expected a call of MPI_Barrier"),
    (
        "task 0 asynchronously computes for 1 second",
        1,
        23,
        "computes",
        "expected `sends`, `receives` or `multicasts`",
    ),
    ("task 0 reads", 1, 13, "", "expected an expression"),
    ("task 0 writes 5 pags", 1, 17, "pags", "does not fit here"),
    ("all tasks synchronize }", 1, 23, "}", "expected `then`"),
];

#[test]
fn what_is_wrong_is_pointed_at() {
    assert!(WRONG.len() >= 40);
    for (text, line, column, word, said) in WRONG {
        let source = Text { name: "wrong.ncptl".into(), text: (*text).into() };
        let found = Program::read(source.clone()).expect_err(text);
        let first = &found[0];
        let shown = first.shown(&source, "error");
        assert_eq!(source.place(first.span.start), (*line, *column), "{text}\n{shown}");
        assert_eq!(source.words(first.span), *word, "{text}\n{shown}");
        assert!(shown.contains(said), "{text}\n{shown}");
        assert!(shown.contains(&format!("--> wrong.ncptl:{line}:{column}")), "{shown}");
    }
}

#[test]
fn all_names_that_are_missing_are_told_at_once() {
    let text = "task alpha sends a beta byte message to task gamma";
    let found = Program::read(Text { name: "test".into(), text: text.into() }).unwrap_err();
    assert_eq!(found.len(), 3);
}

/// Programs that go wrong only when they run: tasks, the task that finds out, the word, what is said.
const FAILING: &[(&str, u32, u32, &str, &str)] = &[
    ("task 0 computes for 4/(num_tasks-2) seconds", 2, 0, "(num_tasks-2)", "division by zero"),
    ("task 0 computes for 4 mod 0 seconds", 1, 0, "0", "division by zero"),
    ("task 0 sends a 1 byte message to task 7", 3, 1, "7", "there is no task 7; accepted are 0 to 2"),
    ("task num_tasks computes for 1 second", 3, 0, "num_tasks", "there is no task 3"),
    ("task 0 sends a (0-5) byte message to task 1", 2, 0, "(0-5)", "a size is -5; accepted are 0 and more"),
    ("task 0 sends -1 0 byte messages to task 1", 2, 0, "-1", "a number of messages is -1"),
    (
        "for num_tasks-3 repetitions all tasks synchronize",
        2,
        0,
        "num_tasks-3",
        "a number of repetitions is -1",
    ),
    ("task 0 computes for 0-1 seconds", 2, 0, "0-1", "a time is -1"),
    ("for 0-1 seconds all tasks synchronize", 2, 1, "0-1", "a time is -1"),
    ("for 1 second task 0 outputs 1", 1, 0, "1 second", "takes no time, so it would never end"),
    (
        "assert that \"four tasks\" with num_tasks = 4",
        3,
        2,
        "\"four tasks\"",
        "the assertion does not hold: four tasks; with 3 tasks",
    ),
    (
        "all tasks t send a 1 byte message to task t",
        2,
        0,
        "all tasks t send a 1 byte message to task t",
        "task 0 sends to itself",
    ),
    ("task 0 computes for 2**80 seconds", 1, 0, "2**80", "a number that is too large"),
    ("task 0 computes for 2**(0-1) seconds", 1, 0, "(0-1)", "a power of -1"),
    ("task 0 computes for 1<<70 seconds", 1, 0, "70", "a shift by 70 bits; accepted are 0 to 63"),
    ("task 0 computes for 1E9 days", 1, 0, "1E9", "too large"),
    ("task 0 writes 1E18", 1, 0, "1E18", "more than 1 PiB"),
    ("for each x in {1, 2, 5, ..., 9} {}", 1, 0, "{1, 2, 5, ..., 9}", "do not go on evenly"),
    ("for each x in {5, 6, ..., 1} {}", 1, 0, "{5, 6, ..., 1}", "goes away from its last number"),
    ("task 0 computes for mesh_neighbor((0, 3), 1, (1, 1)) seconds", 1, 0, "0", "an extent of 0"),
    ("task 0 computes for mesh_coordinate((2, 3), 1, 2) seconds", 1, 0, "2", "accepted are 0 to 1"),
    (
        "task 0 computes for knomial_parent(3, 1) seconds",
        1,
        0,
        "1",
        "a tree of arity 1; accepted are 2 and more",
    ),
    (
        "let t be a random task other than 0 while task t computes for 1 second",
        1,
        0,
        "a random task other than 0",
        "no such task",
    ),
    ("task 0 computes for random_uniform(3, 3) seconds", 1, 0, "random_uniform(3, 3)", "no number in [3, 3)"),
    (
        "task 0 backend executes \"MPI_Bcast(b, n, MPI_INT, 0, c)\"",
        1,
        0,
        "task 0 backend executes \"MPI_Bcast(b, n, MPI_INT, 0, c)\"",
        "without a count",
    ),
    (
        "task 0 backend executes \"MPI_Bcast(b, 1, MPI_INT, 9, c)\"",
        1,
        0,
        "task 0 backend executes \"MPI_Bcast(b, 1, MPI_INT, 9, c)\"",
        "with the root 9; accepted are 0 to 0",
    ),
];

#[test]
fn what_goes_wrong_while_a_program_runs_is_pointed_at() {
    for (text, tasks, task, word, said) in FAILING {
        let bound = bound(text, *tasks);
        let mut performer = bound.task(*task);
        let error = loop {
            match performer.next(&Seen::default()) {
                Ok(Some(_)) => {}
                Ok(None) => panic!("{text}: nothing went wrong"),
                Err(error) => break error.message,
            }
        };
        let (message, _) = error.split_once('\n').unwrap();
        let label = error.lines().nth(4).unwrap();
        let both = format!("{}; {}", message, label.trim_start_matches([' ', '|', '^']));
        assert!(both.contains(said), "{text}\n{error}");
        assert!(error.lines().nth(4).unwrap().contains(&"^".repeat(word.chars().count())), "{text}\n{error}");
        let column = text.find(word).unwrap() + 1;
        let columns: Vec<usize> = text.match_indices(word).map(|(place, _)| place + 1).collect();
        let told: usize = error.lines().nth(1).unwrap().rsplit(':').next().unwrap().parse().unwrap();
        assert!(columns.contains(&told), "{text}: {column}\n{error}");
    }
}

#[test]
fn parameters_are_given_by_name_or_option() {
    let text = "n is \"count\" and comes from \"--count\" or \"-c\" with default 2*3. m is \"x\" and comes from \"-m\" with default n+1.";
    let program = Arc::new(Program::parse("test", text).unwrap());
    let values = |given: &[(&str, &str)]| {
        let given: Vec<_> = given.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        program
            .bind(2, &given, 1)
            .map(|bound| bound.values().iter().map(|(_, value)| *value).collect::<Vec<_>>())
    };
    assert_eq!(values(&[]).unwrap(), [6, 7]);
    assert_eq!(values(&[("--count", "1K")]).unwrap(), [1024, 1025]);
    assert_eq!(values(&[("N", "-4"), ("-m", "5E2")]).unwrap(), [-4, 500]);
    for (given, said) in [
        (&[("--cuont", "1")][..], "has no parameter --cuont; did you mean --count?"),
        (&[("zzz", "1")], "accepted are n, --count, -c, m, -m"),
        (&[("n", "many")], "n is \"many\"; accepted are whole numbers"),
        (&[("n", "1"), ("-c", "2")], "-c is given twice"),
    ] {
        let error = values(given).unwrap_err().message;
        assert!(error.contains(said), "{error}");
    }
    assert!(program.bind(0, &[], 1).unwrap_err().message.contains("0 tasks; accepted are 1 to"));
}

#[test]
fn nesting_has_a_limit() {
    for text in [
        format!("task 0 computes for {}1{} seconds", "(".repeat(5000), ")".repeat(5000)),
        format!("task 0 computes for {}1 seconds", "-".repeat(5000)),
        format!("{}all tasks synchronize{}", "{".repeat(5000), "}".repeat(5000)),
        format!("if {}1=1{} then {{}}", "(".repeat(5000), ")".repeat(5000)),
    ] {
        assert!(Program::parse("deep", &text).unwrap_err().message.contains("levels within each other"));
    }
}

#[test]
fn what_is_long_is_not_deep() {
    let many = 200_000;
    let long = |operand: &str, operator: &str| vec![operand; many].join(operator);
    let groups: Vec<_> = (0..2000).map(|one| format!("g{} be task group g{one}", one + 1)).collect();
    for (text, expected) in [
        (format!("task 0 computes for {} nanoseconds", long("1", "+")), format!("compute:{many}000")),
        (format!("task 0 computes for {} nanoseconds", long("1", " * ")), "compute:1000".into()),
        (format!("task 0 computes for {} nanoseconds", long("3", " | ")), "compute:3000".into()),
        (format!("task 0 outputs {} + real(1)", long("1", " - ")), String::new()),
        (format!("if {} then all tasks synchronize", long("1 = 2", " \\/ ")), String::new()),
        (format!("if {} then task 0 reads 1", long("1 < 2", " /\\ ")), "read:0@0:1".into()),
        (
            format!(
                "let g0 be tasks t such that t = 0 and {} while task group g2000 reads 1",
                groups.join(" and ")
            ),
            "read:0@0:1".into(),
        ),
        (long("task 0 reads 0", " then "), vec!["read:0@0:0"; many].join(" ")),
        (format!("let {} while task 0 reads x", long("x be 1", " and ")), "read:0@0:1".into()),
    ] {
        let (begin, _) = text.split_at(60);
        assert!(words(&bound(&text, 1), 0) == expected, "{begin}");
    }
}
