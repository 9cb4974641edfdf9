//! The programs that are shipped do what the ready-made applications do, operation by operation.

#![allow(clippy::unwrap_used)] // a test that cannot go on shall fail

use std::path::Path;
use std::sync::Arc;
use thalweg_simulator::workload::applications::{Application, RANKS};
use thalweg_simulator::workload::language::{Bound, Program};
use thalweg_simulator::workload::operation::{
    Behaviour, Collective, Group, Operation, Program as Behaving, Seen, Source,
};

fn program(name: &str) -> Arc<Program> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/programs").join(name);
    Arc::new(Program::parse(name, &std::fs::read_to_string(path).unwrap()).unwrap())
}

fn bound(name: &str, tasks: u32, given: &[(&str, &str)]) -> Arc<Bound> {
    let given: Vec<_> = given.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
    program(name).bind(tasks, &given, 1).unwrap()
}

/// The next operation, without tags and requests: the language has no tags, and numbers requests in its own way.
fn next(program: &mut dyn Behaviour) -> Option<Operation> {
    let operation = program.next(&Seen::default()).unwrap()?;
    Some(match operation {
        Operation::Isend { to, bytes, .. } => Operation::Isend { to, bytes, tag: 0, request: 0 },
        Operation::Irecv { from, bytes, .. } => Operation::Irecv { from, bytes, tag: None, request: 0 },
        other => other,
    })
}

fn all(program: &mut dyn Behaviour) -> Vec<Operation> {
    std::iter::from_fn(|| next(program)).collect()
}

fn same(name: &str, given: &[(&str, &str)], application: Application) {
    let bound = bound(name, RANKS, given);
    for rank in 0..RANKS {
        let mut ready: Behaving = application.program(rank);
        let mut spoken = bound.task(rank);
        for count in 0u64.. {
            let (one, other) = (next(&mut spoken), next(ready.as_mut()));
            assert_eq!(one, other, "{name}: operation {count} of rank {rank}");
            if one.is_none() {
                break;
            }
        }
    }
}

#[test]
fn milc_is_the_ready_made_one() {
    same("milc.ncptl", &[("iterations", "3")], Application::Milc { iterations: 3 });
}

#[test]
fn nekbone_is_the_ready_made_one() {
    same("nekbone.ncptl", &[], Application::Nekbone);
}

#[test]
fn checkpoint_is_the_ready_made_one() {
    same("checkpoint.ncptl", &[], Application::Checkpoint);
}

#[test]
fn cosmoflow_is_the_ready_made_one() {
    same("cosmoflow.ncptl", &[], Application::CosmoFlow { reads: true });
    same("cosmoflow.ncptl", &[("--reads", "0")], Application::CosmoFlow { reads: false });
}

#[test]
fn the_papers_figure_6_is_accepted_as_it_is_printed() {
    let printed = program("figure6.ncptl");
    assert_eq!(printed.warnings().len(), 1, "its last string is not closed");
    let given = [("reps", "2"), ("--msgsize", "100"), ("-f", "1K")];
    let bound = bound("figure6.ncptl", 4, &given);
    assert_eq!(bound.values().iter().map(|(_, value)| *value).collect::<Vec<_>>(), [100, 2, 1024, 129]);
    let multicast =
        Operation::Collective { kind: Collective::Bcast, root: 0, bytes: 100 * 4 * 4, group: Group::All };
    let step = [
        Operation::read(1024),
        Operation::Compute { time: thalweg_simulator::engine::Picos(129_000_000_000) },
        Operation::allreduce(400),
    ];
    for task in 0..4 {
        let mut expected = vec![multicast.clone(), multicast.clone()];
        expected.extend(step.clone());
        expected.extend(step.clone());
        assert_eq!(all(&mut bound.task(task)), expected);
    }
    // By default: 14,413 K words for each of 300 tasks, twice; 8 MiB read and 14,413 K words combined a hundred times.
    let defaults = self::bound("figure6.ncptl", 300, &[]);
    let operations = all(&mut defaults.task(7));
    assert_eq!(operations.len(), 2 + 100 * 3);
    assert_eq!(operations[0].kind(), ("bcast", 14_413 * 1024 * 300 * 4));
    assert_eq!(operations[2], Operation::read(8 << 20));
    assert_eq!(operations[4], Operation::allreduce(14_413 * 1024 * 4));
    assert_eq!(defaults.logged().rows()[..], []);
}

#[test]
fn a_program_is_not_unrolled() {
    let text = "for 1T repetitions { for each i in {0, ..., 1T} task 0 sends 1G 1 byte messages to task 1 }";
    let program = Arc::new(Program::parse("long", text).unwrap());
    let bound = program.bind(3, &[], 1).unwrap();
    let mut sender = bound.task(0);
    for _ in 0..1000 {
        assert_eq!(next(&mut sender), Some(Operation::Send { to: 1, bytes: 1, tag: 0 }));
    }
    assert!(matches!(
        next(&mut bound.task(1)),
        Some(Operation::Recv { from: Source::Rank(0), bytes: 1, .. })
    ));
}
