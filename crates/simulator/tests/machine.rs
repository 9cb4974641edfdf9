//! What ranks on a machine promise: programs end, deadlocks are named, storage serves everyone.

#![allow(clippy::unwrap_used)] // a test that cannot go on shall fail

use thalweg_simulator::engine::Picos;
use thalweg_simulator::mpi::Protocol;
use thalweg_simulator::network::routing::Routing;
use thalweg_simulator::network::topology::{Dragonfly, FatTree, Topology, Torus};
use thalweg_simulator::network::{Fidelity, Findings, Parameters};
use thalweg_simulator::scenario::{ApplicationResult, Layout, Machine, Settings};
use thalweg_simulator::storage::{Arrangement, Storage};
use thalweg_simulator::workload::operation::{Operation, Program, Source};

fn settings() -> Settings {
    let parameters =
        Parameters { dither: (Picos::ZERO, Picos::ZERO), ..Parameters::artifact(Routing::Minimal) };
    let topology = Dragonfly::paper().into();
    Settings {
        fidelity: Fidelity::Packet,
        topology,
        parameters,
        protocol: Protocol::artifact(),
        storage: Storage::artifact(),
        seed: 1,
        threads: 1,
    }
}

fn machine(programs: Vec<Vec<Operation>>) -> Machine {
    let nodes = (0..programs.len() as u32).collect();
    let programs = programs.into_iter().map(|program| Box::new(program.into_iter()) as Program).collect();
    Machine::new(settings(), vec![(nodes, programs)]).unwrap()
}

#[test]
fn a_blocking_send_ends_when_its_last_packet_leaves_and_a_receive_when_it_is_there() {
    let send = Operation::Send { to: 1, bytes: 4096, tag: 3 };
    let receive = Operation::Recv { from: Source::Any, bytes: 4096, tag: None };
    let mut machine = machine(vec![vec![send], vec![receive]]);
    let result = machine.run(|_, _| true).unwrap().remove(0);
    // 3,510 ns and 0.55 ns a byte to the interface, 10 ns within it.
    let leaves = 3_510_000 + 4096 * 550 + 10_000;
    // Within a router: the packet's time on the terminal link four times, and the router's 100 ns.
    let arrives = leaves + 4 * 238_419 + 100_000;
    assert_eq!(result.ranks[0], [Picos(leaves), Picos::ZERO, Picos::ZERO]);
    assert_eq!(result.ranks[1], [Picos(arrives), Picos::ZERO, Picos::ZERO]);
    assert_eq!((result.elapsed, result.sent), (Picos(arrives), (1, 4096)));
}

fn rendezvous(programs: Vec<Vec<Operation>>) -> Machine {
    let nodes = (0..programs.len() as u32).collect();
    let programs = programs.into_iter().map(|program| Box::new(program.into_iter()) as Program).collect();
    Machine::new(Settings { protocol: Protocol::right(), ..settings() }, vec![(nodes, programs)]).unwrap()
}

#[test]
fn a_large_message_waits_for_its_receive() {
    let send = Operation::Send { to: 1, bytes: 8192, tag: 3 };
    let receive = Operation::Recv { from: Source::Rank(0), bytes: 8192, tag: Some(3) };
    let late = vec![Operation::Compute { time: Picos(50_000_000) }, receive.clone()];
    // Within a router a packet of 64 bytes takes 11.1 ns on each of two links, where a chunk's time is charged as delay.
    let (overhead, copy) = (3_510_000, 550);
    for (receiver, from) in [(vec![receive], None), (late, Some(50_000_000))] {
        let mut machine = rendezvous(vec![vec![send.clone()], receiver]);
        let result = machine.run(|_, _| true).unwrap().remove(0);
        // Call, answer and data, and the bytes of the data alone are the application's.
        assert_eq!((result.sent, machine.findings().counters.delivered), ((1, 8192), 1 + 1 + 2));
        let handshake = 2 * (overhead + 64 * copy);
        let least = from.map_or(handshake, |from| from + handshake / 2) + overhead;
        let most = least + 3 * 1_100_000;
        let elapsed = result.elapsed.0;
        assert!((least..most).contains(&elapsed), "{elapsed} {least}");
        assert!(result.ranks[0][0].0 > least, "the sender waits for the answer");
    }
    // One byte less, and the sender is done before the receiver asks.
    let eager = Operation::Send { to: 1, bytes: 8191, tag: 3 };
    let result = rendezvous(vec![vec![eager], vec![]]).run(|_, _| true).unwrap().remove(0);
    assert!(result.ranks[0][0] < Picos(10_000_000));
}

#[test]
fn blocking_sends_of_large_messages_wait_for_each_other_and_exchanges_do_not() {
    let to = |to| Operation::Send { to, bytes: 10_000, tag: 0 };
    let from = |from| Operation::Recv { from: Source::Rank(from), bytes: 10_000, tag: None };
    let error =
        rendezvous(vec![vec![to(1), from(1)], vec![to(0), from(0)]]).run(|_, _| true).unwrap_err().message;
    assert!(error.contains("rank 0 of application 0 waits for rank 1 to receive its message"), "{error}");
    assert!(
        error.contains("in a circle of application 0: rank 0 waits for rank 1, which waits for rank 0"),
        "{error}"
    );
    let exchange = |other| {
        vec![
            Operation::Isend { to: other, bytes: 10_000, tag: 0, request: 1 },
            Operation::Irecv { from: Source::Any, bytes: 10_000, tag: None, request: 2 },
            Operation::WaitAll,
        ]
    };
    let mut machine = rendezvous(vec![exchange(1), exchange(0)]);
    assert_eq!(machine.run(|_, _| true).unwrap()[0].sent, (2, 20_000));
    let collectives = vec![Operation::allreduce(100_000), Operation::allreduce(1_000_000)];
    for ranks in [2, 5, 8] {
        rendezvous(vec![collectives.clone(); ranks]).run(|_, _| true).unwrap();
    }
}

#[test]
fn waiting_for_all_waits_for_sends_and_receives() {
    let exchange = |other| {
        vec![
            Operation::Irecv { from: Source::Rank(other), bytes: 100_000, tag: Some(1), request: 0 },
            Operation::Isend { to: other, bytes: 100_000, tag: 1, request: 1 },
            Operation::Compute { time: Picos(1_000_000) },
            Operation::WaitAll,
            Operation::Wait { request: 0 },
        ]
    };
    let mut machine = machine(vec![exchange(1), exchange(0)]);
    let result = machine.run(|_, _| true).unwrap().remove(0);
    assert_eq!(result.ranks[0], result.ranks[1]);
    let [communication, io, compute] = result.ranks[0];
    assert_eq!((io, compute), (Picos::ZERO, Picos(1_000_000)));
    assert_eq!(communication + compute, result.elapsed);
}

#[test]
fn collectives_end_on_every_rank() {
    let program = vec![Operation::barrier(), Operation::allreduce(8), Operation::allreduce(200_000)];
    for ranks in [1, 2, 5, 8, 13] {
        let mut machine = machine(vec![program.clone(); ranks]);
        assert_eq!(machine.run(|_, _| true).unwrap()[0].ranks.len(), ranks);
    }
}

#[test]
fn a_write_takes_what_its_units_take_on_the_device() {
    let mut machine = machine(vec![vec![Operation::write(2_500_000)]]);
    let result = machine.run(|_, _| true).unwrap().remove(0);
    assert_eq!(
        machine.servers().next().unwrap().device.requests,
        (3, 0),
        "units of 10⁶ bytes, one behind the other"
    );
    assert_eq!(result.ranks[0][1], result.elapsed);
    // The device works while data still come: at least its own time, and not much more than both one after the other.
    let device = machine.servers().next().unwrap().device.busy;
    assert!(result.elapsed > device && result.elapsed < device + Picos(300_000_000), "{}", result.elapsed);
}

#[test]
fn a_read_moves_its_data_to_the_client() {
    let mut machine = machine(vec![vec![Operation::read(1_000_000)]]);
    machine.run(|_, _| true).unwrap();
    // The request, 245 packets of data, and the word that all was sent.
    assert_eq!(machine.findings().counters.delivered, 247);
}

#[test]
fn who_waits_for_what_never_comes_is_named() {
    let receive = |from| vec![Operation::Recv { from: Source::Rank(from), bytes: 1, tag: Some(7) }];
    let error = machine(vec![receive(1), receive(0)]).run(|_, _| true).unwrap_err();
    assert_eq!(
        error.message,
        "simulation: deadlock: 2 ranks wait for what never comes: \
         rank 0 of application 0 waits for a message from rank 1 with tag 7; \
         rank 1 of application 0 waits for a message from rank 0 with tag 7; \
         in a circle of application 0: rank 0 waits for rank 1, which waits for rank 0"
    );
    let error =
        machine(vec![vec![Operation::Send { to: 4, bytes: 1, tag: 0 }]]).run(|_, _| true).unwrap_err();
    assert_eq!(
        error.message,
        "simulation: send: rank 0 of application 0 sends to rank 4; accepted are the other ranks below 1"
    );
}

#[test]
fn ranks_do_not_share_nodes() {
    let program = || -> Program { Box::new(std::iter::empty()) };
    let refused = |nodes: Vec<u32>| {
        let programs = nodes.iter().map(|_| program()).collect();
        Machine::new(settings(), vec![(nodes, programs)]).err().map(|error| error.message)
    };
    assert_eq!(refused(vec![3, 3]).as_deref(), Some("scenario: placement: node 3 is given to two ranks"));
    assert_eq!(
        refused(vec![990]).as_deref(),
        Some("scenario: placement: there is no compute node 990; there are 990")
    );
}

#[test]
fn a_run_can_be_stopped() {
    let spin = (0..2_000_000).map(|_| Operation::Compute { time: Picos(1) });
    let again = spin.clone();
    let programs: Vec<Program> = vec![
        Box::new(spin),
        Box::new(again),
        Box::new((0..2_000_000).map(|_| Operation::Compute { time: Picos(2) })),
    ];
    let mut machine = Machine::new(settings(), vec![(vec![0, 1, 2], programs)]).unwrap();
    let error = machine.run(|_, _| false).unwrap_err();
    assert!(error.message.starts_with("simulation: stopped at "), "{}", error.message);
}

fn storing(arrangement: Arrangement, program: Vec<Operation>, ranks: u32) -> (Machine, Picos) {
    let settings = Settings { storage: Storage::paper(arrangement), ..settings() };
    let programs = (0..ranks).map(|_| Box::new(program.clone().into_iter()) as Program).collect();
    let mut machine = Machine::new(settings, vec![((0..ranks).collect(), programs)]).unwrap();
    let result = machine.run(|_, _| true).unwrap().remove(0);
    assert!(result.ranks.iter().all(|[communication, _, compute]| communication.0 + compute.0 == 0));
    (machine, result.elapsed)
}

#[test]
fn a_device_in_the_node_takes_its_own_time_and_no_network() {
    // One page: W_page. Then 16 pages: 15 R_ch and R_page.
    let program = vec![Operation::write(4096), Operation::read(65_536), Operation::Sync { file: 0 }];
    let (machine, elapsed) = storing(Arrangement::NodeLocal, program, 3);
    assert_eq!(elapsed, Picos(71_000_000 + 15 * 9_600_000 + 118_000_000));
    assert_eq!(machine.findings().counters.delivered, 0);
}

#[test]
fn files_are_opened_and_closed_by_a_question_and_an_answer() {
    let program = vec![Operation::Open { file: 1 }, Operation::Close { file: 1 }];
    for arrangement in [Arrangement::ComputeSide, Arrangement::StorageSide] {
        let (machine, elapsed) = storing(arrangement, program.clone(), 1);
        assert_eq!(machine.findings().counters.delivered, 4);
        assert!(elapsed > Picos::ZERO);
    }
}

#[test]
fn storage_behind_the_network_has_flash_for_small_requests_and_disks_for_large_ones() {
    for (bytes, small, large) in [(65_535, 1, 0), (65_536, 0, 1), (2_500_000, 0, 3)] {
        for operation in [Operation::write(bytes), Operation::read(bytes)] {
            let (machine, elapsed) = storing(Arrangement::StorageSide, vec![operation], 1);
            let server = machine.servers().next().unwrap();
            let flash = &server.small.as_ref().unwrap().1;
            assert_eq!((flash.requests.0, server.device.requests.0), (small, large));
            assert!(elapsed > flash.busy + server.device.busy);
        }
    }
    // All ranks of a hundred are served, wherever they lie: 66 servers, some of them twice.
    let (machine, _) =
        storing(Arrangement::StorageSide, vec![Operation::read(4096), Operation::write(70_000)], 100);
    let served: u64 = machine.servers().map(|server| server.device.requests.0).sum();
    assert_eq!(served, 100);
    assert!(machine.servers().all(|server| (1..=2).contains(&server.device.requests.0)));
}

#[test]
fn reads_behind_the_network_do_not_depend_on_threads() {
    let run = |threads| {
        let storage = Storage::paper(Arrangement::StorageSide);
        let settings =
            Settings { storage, threads, parameters: Parameters::right(Routing::Minimal), ..settings() };
        let program = [Operation::read(300_000), Operation::write(5_000), Operation::allreduce(20_000)];
        let programs = (0..80).map(|_| Box::new(program.clone().into_iter()) as Program).collect();
        let nodes = (0..80).map(|rank| rank * 12).collect();
        Machine::new(settings, vec![(nodes, programs)]).unwrap().run(|_, _| true).unwrap().remove(0)
    };
    assert_eq!(run(1), run(2));
}

const ARRANGEMENTS: [Arrangement; 3] =
    [Arrangement::ComputeSide, Arrangement::StorageSide, Arrangement::NodeLocal];

/// Ranks all over a machine that send to each other, compute, combine, and write to their storage.
fn mixed(
    topology: &Topology,
    routing: Routing,
    arrangement: Arrangement,
    threads: usize,
) -> (Vec<ApplicationResult>, Findings) {
    let nodes = Layout::of(topology, arrangement).nodes();
    let program = |rank: u32, ranks: u32| -> Program {
        let (onward, back) = ((rank + 5) % ranks, (rank + ranks - 5) % ranks);
        let step = [
            Operation::Irecv { from: Source::Rank(back), bytes: 30_000, tag: Some(1), request: 0 },
            Operation::Isend { to: onward, bytes: 30_000, tag: 1, request: 1 },
            Operation::Compute { time: Picos(u64::from(rank) * 1_000) },
            Operation::WaitAll,
            Operation::allreduce(10_000),
            Operation::barrier(),
            Operation::write(50_000),
            Operation::read(20_000),
        ];
        Box::new((0..2).flat_map(move |_| step.clone()))
    };
    let ranks = nodes / 2;
    // Two applications, on the even and on the odd nodes.
    let applications = (0..2).map(|odd| {
        let nodes = (0..ranks).map(|rank| 2 * rank + odd).collect();
        (nodes, (0..ranks).map(|rank| program(rank, ranks)).collect())
    });
    let settings = Settings {
        fidelity: Fidelity::Packet,
        topology: topology.clone(),
        parameters: Parameters::right(routing),
        protocol: Protocol::right(),
        storage: Storage::paper(arrangement),
        seed: 3,
        threads,
    };
    let mut machine = Machine::new(settings, applications.collect()).unwrap();
    let results = machine.run(|_, _| true).unwrap();
    (results, Findings { threads: 0, ..machine.findings() })
}

#[test]
fn applications_with_storage_find_the_same_on_any_number_of_threads() {
    let machines: [Topology; 3] = [
        Dragonfly::new(5, 4, 4, 1).unwrap().into(),
        FatTree::new(&[4, 2, 3], &[2, 2]).unwrap().into(),
        Torus::new(&[3, 2, 4], 2).unwrap().into(),
    ];
    for machine in machines {
        for (routing, arrangement) in Routing::of(&machine).iter().zip(ARRANGEMENTS.into_iter().cycle()) {
            let found = |threads| mixed(&machine, *routing, arrangement, threads);
            let one = found(1);
            assert!(one.0.iter().all(|result| result.ranks.iter().all(|[_, io, _]| *io > Picos::ZERO)));
            for threads in [2, 4] {
                assert!(found(threads) == one, "{routing:?}, {arrangement:?} on {threads} threads");
            }
        }
    }
}

#[test]
fn messages_of_a_rank_are_received_in_the_order_of_sending() {
    // The small ones are ready for the network before the large one is.
    let sizes = [8000, 8, 400_000, 16];
    for protocol in [Protocol::artifact(), Protocol::right()] {
        let sends =
            (0..).zip(sizes).map(|(request, bytes)| Operation::Isend { to: 1, bytes, tag: 0, request });
        let sender = sends.chain([Operation::WaitAll]).collect::<Vec<_>>();
        let receive = |bytes| Operation::Recv { from: Source::Rank(0), bytes, tag: Some(0) };
        let program = |operations: Vec<Operation>| Box::new(operations.into_iter()) as Program;
        let run = |receiver: Vec<Operation>| {
            let programs = vec![program(sender.clone()), program(receiver)];
            let settings = Settings { protocol, ..settings() };
            Machine::new(settings, vec![(vec![0, 500], programs)]).unwrap().run(|_, _| true)
        };
        run(sizes.map(receive).to_vec()).unwrap();
        let error = run(vec![receive(8000), receive(7)]).unwrap_err().message;
        assert!(
            error.contains("rank 1 receives 7 bytes, and the message of rank 0 that it gets has 8"),
            "{error}"
        );
    }
}

#[test]
fn simulated_time_has_an_end() {
    let longest = Operation::Compute { time: Picos::LATEST };
    let mut machine = machine(vec![vec![longest, Operation::Compute { time: Picos(1) }]]);
    let error = machine.run(|_, _| true).unwrap_err().message;
    assert!(
        error.starts_with(
            "simulation: time: simulated time has come to its end at 53 days, and something happens 53.38 days after"
        ),
        "{error}"
    );
}

#[test]
fn storage_needs_groups_that_hold_burst_buffers_or_nodes_that_store() {
    let run = |arrangement| {
        let storage = Storage::paper(arrangement);
        let settings = Settings { topology: Torus::new(&[8], 1).unwrap().into(), storage, ..settings() };
        let program = || Box::new([Operation::write(1)].into_iter()) as Program;
        Machine::new(settings, vec![(vec![7], vec![program()])]).unwrap().run(|_, _| true)
    };
    for arrangement in [Arrangement::ComputeSide, Arrangement::StorageSide] {
        let error = run(arrangement).unwrap_err().message;
        assert!(error.contains("no group of this machine has room for a burst buffer"), "{error}");
    }
    run(Arrangement::NodeLocal).unwrap();
}
