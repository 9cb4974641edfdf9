//! What the network promises, with the hand calculations that the promises are checked by.

#![allow(clippy::unwrap_used)] // a test that cannot go on shall fail

use proptest::prelude::*;
use thalweg_simulator::engine::Picos;
use thalweg_simulator::network::routing::{Detour, Routing};
use thalweg_simulator::network::topology::{Dragonfly, FatTree, Topology, Torus};
use thalweg_simulator::network::{Fidelity, Flows, LinkKind, Network, Notice, Order, Parameters, Wants};
use thalweg_simulator::scenario::{run, Model, Outcome, Scenario, Work};
use thalweg_simulator::workload::synthetic::{Gaps, Pattern, Synthetic};

/// 4096 bytes at 16, 5.25 and 4.7 GiB/s, in picoseconds.
const TERMINAL: u64 = 238_419;
const LOCAL: u64 = 726_609;
const GLOBAL: u64 = 811_638;
/// A router's delay, and that of a credit: 8 bytes at 5.25 GiB/s.
const ROUTER: u64 = 100_000;
const CREDIT: u64 = 1_419;
/// What an interface needs for a message.
const INTERFACE: u64 = 10_000;

/// The artifact's parameters without anything random, so that times can be calculated.
fn exact(routing: Routing) -> Parameters {
    Parameters { dither: (Picos::ZERO, Picos::ZERO), ..Parameters::artifact(routing) }
}

fn paper_machine() -> Network<u32> {
    Network::new(Dragonfly::paper(), exact(Routing::Minimal), 1, 1).unwrap()
}

/// Sends one message, runs until all is quiet, and returns when it arrived.
fn arrival(network: &mut Network<u32>, from: u32, to: u32, bytes: u64) -> u64 {
    let wants = Wants { delivered: true, ..Wants::default() };
    network.send_at(Picos::ZERO, Order { from, to, bytes, application: 0, content: 7, wants });
    let mut arrived = None;
    while network.step() {
        while let Some(notice) = network.notices().pop() {
            assert!(matches!(notice, Notice::Delivered(order) if order.content == 7));
            assert!(arrived.replace(network.now().0).is_none(), "a message arrives once");
        }
    }
    network.check_idle().unwrap();
    arrived.unwrap()
}

#[test]
fn an_unloaded_packet_takes_what_the_links_on_its_way_take() {
    // Each link costs the packet's time on it twice (sending, then a delay that defaults to the same), each router 100 ns.
    let first = INTERFACE + 2 * TERMINAL;
    let last = ROUTER + 2 * TERMINAL;
    let local = ROUTER + 2 * LOCAL;
    let global = ROUTER + 2 * GLOBAL;
    // Router 0 of group 0 has the links to groups 1 to 4, whose ends are at router 7; router 7 those to groups 29 to 32.
    for (to, links, hops) in [
        (1, first + last, 1),
        (4, first + local + last, 2),
        (32 + 7 * 4, first + global + last, 2),
        (32, first + global + local + last, 3),
        (29 * 32, first + local + global + last, 3),
        (29 * 32 + 4, first + local + global + local + last, 4),
    ] {
        let mut network = paper_machine();
        assert_eq!(arrival(&mut network, 0, to, 4096), links, "to terminal {to}");
        assert_eq!(network.counters().hops, hops);
    }
    // The reference: 1,053.7 ns within a router, 1,553.2 more for each local hop, 1,723.3 for each global one.
    assert_eq!([first + last - INTERFACE, local, global].map(|t| (t + 50) / 100), [10_537, 15_532, 17_233]);
}

#[test]
fn an_empty_message_costs_what_a_credit_costs() {
    let mut network = paper_machine();
    let byte = |gib_per_s: f64| (8.0 / (gib_per_s * (1u64 << 30) as f64) * 1e12).round() as u64;
    let expected =
        INTERFACE + byte(16.0) + TERMINAL + byte(5.25) + ROUTER + LOCAL + byte(16.0) + ROUTER + TERMINAL;
    assert_eq!(arrival(&mut network, 0, 4, 0), expected);
}

#[test]
fn packets_of_a_message_follow_each_other_at_the_pace_of_the_slowest_link() {
    // The local link is the slowest of terminal → router → router → terminal: after the first packet one comes every 726.6 ns.
    let one = arrival(&mut paper_machine(), 0, 4, 4096);
    for packets in [2, 5, 40] {
        assert_eq!(arrival(&mut paper_machine(), 0, 4, packets * 4096), one + (packets - 1) * LOCAL);
    }
}

#[test]
fn a_link_is_saturated_from_the_first_packet_that_waits_to_the_credit_that_lets_it_in() {
    let one_packet = |mut parameters: Parameters| {
        parameters.local.buffer_bytes = 4096;
        parameters
    };
    let mut network = Network::new(Dragonfly::paper(), one_packet(exact(Routing::Minimal)), 1, 1).unwrap();
    arrival(&mut network, 0, 4, 2 * 4096);
    let link =
        network.links().find(|link| link.kind == LinkKind::Local && (link.from, link.to) == (0, 1)).unwrap();
    // The second packet comes one packet's time after the first, which the far router accepts when it has arrived there.
    assert_eq!(link.saturated.0, 2 * LOCAL + ROUTER + CREDIT - TERMINAL);
    assert_eq!(link.bytes, [2 * 4096]);
    assert_eq!(network.links().filter(|link| link.saturated > Picos::ZERO).count(), 1);
}

#[test]
fn when_a_link_is_free_the_lowest_virtual_channel_goes_first() {
    // All to terminal 36, at router 9 of group 1: packets from its own router come on channel 0, from the group on channel 1,
    // from other groups on channel 3. That from terminal 0 goes by routers 0, 15 and 9; that from terminal 32 by 8 and 9.
    let far = 2 * GLOBAL + 2 * LOCAL + 2 * ROUTER;
    let near = 2 * GLOBAL + ROUTER;
    let mut network = paper_machine();
    let wants = Wants { delivered: true, ..Wants::default() };
    // At router 9 they arrive 1 ps before, at, and 2 ps after the moment of the one that comes from far.
    for (from, at) in [(0, 0), (37, far - 1), (32, near + 2)] {
        network.send_at(Picos(at), Order { from, to: 36, bytes: 4096, application: 0, content: from, wants });
    }
    let mut arrived = 0;
    while network.step() {
        while let Some(notice) = network.notices().pop() {
            if matches!(notice, Notice::Delivered(order) if order.from == 0) {
                arrived = network.now().0;
            }
        }
    }
    // The first has the link; the last overtakes the one from far, which waits for both.
    assert_eq!(arrived, arrival(&mut paper_machine(), 0, 36, 4096) + 2 * TERMINAL - 1);
}

/// What synthetic traffic finds.
fn found(
    topology: impl Into<Topology>,
    parameters: Parameters,
    traffic: Synthetic,
    seed: u64,
    threads: usize,
) -> thalweg_foundation::Result<Outcome> {
    let (topology, work) = (topology.into(), Work::Synthetic(traffic));
    let (protocol, storage) = (Model::Artifact.protocol(), Model::Artifact.storage());
    let fidelity = Fidelity::Packet;
    run(&Scenario { fidelity, topology, parameters, protocol, storage, seed, threads, work }, |_, _| true)
}

#[test]
fn golden_runs_stay_as_they_are() {
    let traffic = Synthetic {
        pattern: Pattern::UniformRandom,
        bytes: 10_000,
        mean_gap: Picos(6_000_000),
        gaps: Gaps::Even,
        messages: 4,
    };
    let runs = [Routing::Minimal, Routing::Valiant, Routing::Ugal, Routing::Progressive].map(|routing| {
        let found =
            found(Dragonfly::paper(), Parameters::artifact(routing), traffic, 2026, 1).unwrap().network;
        let counters = found.counters;
        assert_eq!(counters.delivered, 1056 * 4 * 3);
        (found.end.0, counters.hops, counters.non_minimal, counters.packet_latency.max().0)
    });
    assert_eq!(runs, GOLDEN);
}

/// End in ps, routers passed, packets off the shortest path, longest latency in ps; only a change of the model may change them.
const GOLDEN: [(u64, u64, u64, u64); 4] = [
    (38461729, 46902, 0, 16001449),
    (42145954, 70306, 12303, 27277239),
    (37462632, 54229, 4016, 20332615),
    (37861027, 57348, 5677, 16869376),
];

fn dragonflies() -> impl Strategy<Value = Topology> {
    (1u32..6, 1u32..5, 1u32..4, 1u32..3).prop_filter_map("wired", |(groups, routers, terminals, multiple)| {
        // As many global links as give every pair of groups the same number.
        let links =
            (0..20).find(|links| groups == 1 || links * routers == (groups - 1) * multiple * routers)?;
        Some(Dragonfly::new(groups, routers, terminals, links).ok()?.into())
    })
}

fn trees() -> impl Strategy<Value = Topology> {
    prop::collection::vec((1u32..4, 1u32..4), 1..4).prop_filter_map("grown", |levels| {
        let (down, up): (Vec<_>, Vec<_>) = levels.into_iter().unzip();
        Some(FatTree::new(&down, &up[1..]).ok()?.into())
    })
}

fn tori() -> impl Strategy<Value = Topology> {
    (prop::collection::vec(1u32..6, 1..4), 1u32..3)
        .prop_filter_map("closed", |(extents, terminals)| Some(Torus::new(&extents, terminals).ok()?.into()))
}

prop_compose! {
    /// Small machines of every kind with what can be chosen about them.
    fn machines()(
        topology in prop_oneof![dragonflies(), trees(), tori()].prop_filter("two", |found| found.terminal_count() > 1),
        routing in any::<prop::sample::Index>(),
        detour in prop::sample::select(vec![Detour::Group, Detour::Router]),
        packets_in_a_buffer in 1u32..4,
        delay in prop::sample::select(vec![0u64, 1_419, 20_000, 800_000]),
        credit_delay in prop::sample::select(vec![0u64, 1_419, 20_000, 800_000]),
    ) -> (Topology, Parameters) {
        let routings = Routing::of(&topology);
        let mut parameters = Parameters { detour, ..Parameters::right(routings[routing.index(routings.len())]) };
        for link in [&mut parameters.terminal, &mut parameters.local, &mut parameters.global] {
            link.buffer_bytes = packets_in_a_buffer * 4096;
            (link.delay, link.credit_delay) = (Picos(delay), Picos(credit_delay));
        }
        (topology, parameters)
    }
}

#[test]
fn a_message_alone_flows_as_long_as_its_packets_take() {
    for parameters in [exact(Routing::Minimal), Parameters::right(Routing::Minimal)] {
        let parameters = Parameters { dither: (Picos::ZERO, Picos::ZERO), ..parameters };
        // Within a router, a group, and between groups; an empty message, one packet, several, and a last one that is short.
        for (to, bytes) in [1, 4, 33, 29 * 32 + 4]
            .into_iter()
            .flat_map(|to| [0, 4096, 4097, 8193, 10_000, 16_384, 16_400, 409_600, 411_000].map(|n| (to, n)))
        {
            let mut network = Network::new(Dragonfly::paper(), parameters, 1, 1).unwrap();
            let packets = arrival(&mut network, 0, to, bytes);
            let mut flows = Flows::new(Dragonfly::paper(), parameters, 1, 1).unwrap();
            let wants = Wants { delivered: true, ..Wants::default() };
            flows.send_at(Picos::ZERO, Order { from: 0, to, bytes, application: 0, content: (), wants });
            while flows.step_before(Picos::NEVER) {}
            flows.check_idle().unwrap();
            let flowed = flows.now().0;
            assert!(
                flowed.abs_diff(packets) <= 4 + bytes / 4096,
                "{bytes} bytes to {to}: {flowed} {packets}"
            );
        }
    }
}

#[test]
fn flows_share_a_link_evenly() {
    // Four terminals of one router each send 4 MiB to another router's terminal: they share the local link.
    let mut flows = Flows::new(Dragonfly::paper(), exact(Routing::Minimal), 1, 1).unwrap();
    let bytes = 4 << 20;
    for from in 0..4 {
        let wants = Wants { delivered: true, ..Wants::default() };
        flows.send_at(Picos::ZERO, Order { from, to: 4 + from, bytes, application: 0, content: from, wants });
    }
    while flows.step_before(Picos::NEVER) {}
    let expected = 4.0 * bytes as f64 / (5.25 * (1u64 << 30) as f64) * 1e12;
    assert!((flows.now().0 as f64 / expected - 1.0).abs() < 0.002, "{} {expected}", flows.now());
    let local =
        flows.links().find(|link| (link.from, link.to, link.kind) == (0, 1, LinkKind::Local)).unwrap();
    assert_eq!(local.bytes, [4 * bytes]);
    assert!(local.saturated.0 as f64 > 0.9 * expected);

    // A second later another one flows: between them the link carries nothing, and is not full.
    let wants = Wants { delivered: true, ..Wants::default() };
    let later = flows.now() + Picos(1_000_000_000_000);
    flows.send_at(later, Order { from: 0, to: 4, bytes, application: 0, content: 0, wants });
    while flows.step_before(Picos::NEVER) {}
    let again =
        flows.links().find(|link| (link.from, link.to, link.kind) == (0, 1, LinkKind::Local)).unwrap();
    assert!(again.saturated.0 as f64 <= 1.3 * expected, "{}", again.saturated);
}

#[test]
fn flows_end_when_their_last_message_arrives() {
    // When the short one has ended, the long ones end earlier than was planned before.
    let mut flows = Flows::new(Dragonfly::paper(), exact(Routing::Minimal), 1, 1).unwrap();
    for (from, bytes) in [(1, 1 << 20), (2, 4 << 20), (3, 4 << 20)] {
        let wants = Wants { delivered: true, ..Wants::default() };
        flows.send_at(Picos::ZERO, Order { from, to: 0, bytes, application: 0, content: from, wants });
    }
    let mut last = Picos::ZERO;
    while flows.step_before(Picos::NEVER) {
        let delivered = flows.notices().drain(..).any(|notice| matches!(notice, Notice::Delivered(_)));
        last = if delivered { flows.now() } else { last };
    }
    assert_eq!(flows.now(), last);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn all_that_flows_arrives_once_whatever_the_network(
        (topology, parameters) in machines(),
        pattern in prop::sample::select(Pattern::NAMES.map(|(_, pattern)| pattern).to_vec()),
        bytes in prop::sample::select(vec![0u64, 1, 4097, 70_000, 1_000_000]),
        mean_gap in 0u64..40_000_000,
        seed in any::<u64>(),
    ) {
        let traffic = Synthetic { pattern, bytes, mean_gap: Picos(mean_gap), gaps: Gaps::Exponential, messages: 4 };
        prop_assume!(traffic.check(&topology).is_ok());
        let sent = u64::from(topology.terminal_count()) * 4;
        let (work, fidelity) = (Work::Synthetic(traffic), Fidelity::Flow);
        let (protocol, storage) = (Model::Right.protocol(), Model::Right.storage());
        let scenario = Scenario { fidelity, topology, parameters, protocol, storage, seed, threads: 2, work };
        let outcome = run(&scenario, |_, _| true);
        let found = outcome.unwrap().network;
        prop_assert_eq!(found.threads, 1);
        prop_assert!(found.end >= found.counters.message_latency[0].max());
        prop_assert_eq!(found.counters.message_latency[0].count(), sent);
        prop_assert_eq!(found.counters.delivered, sent * bytes.div_ceil(4096).max(1));
        let terminal = found.links.iter().filter(|link| link.kind == LinkKind::Terminal).map(|link| link.bytes[0]);
        prop_assert_eq!(terminal.sum::<u64>(), sent * bytes);
    }

    #[test]
    fn everything_that_is_sent_arrives_once_whatever_the_network(
        (topology, parameters) in machines(),
        pattern in prop::sample::select(Pattern::NAMES.map(|(_, pattern)| pattern).to_vec()),
        gaps in prop::sample::select(vec![Gaps::Even, Gaps::Exponential]),
        bytes in prop::sample::select(vec![0u64, 1, 4095, 4096, 4097, 70_000]),
        mean_gap in 0u64..40_000_000,
        threads in prop::sample::select(vec![1usize, 1, 1, 2, 3]),
        seed in any::<u64>(),
    ) {
        let messages = 5;
        let terminals = u64::from(topology.terminal_count());
        let traffic = Synthetic { pattern, bytes, mean_gap: Picos(mean_gap), gaps, messages };
        // Checks at the end that every packet arrived and every credit came back: so nothing was deadlocked.
        let run = |threads| found(topology.clone(), parameters, traffic, seed, threads);
        if topology.groups() == 1 && matches!(pattern, Pattern::NextGroup | Pattern::Tornado) {
            prop_assert!(run(1).unwrap_err().message.contains("needs more than one group"));
            return Ok(());
        }
        let outcome = run(1).unwrap();
        let counters = &outcome.network.counters;
        prop_assert_eq!(counters.message_latency[0].count(), terminals * messages);
        prop_assert_eq!(counters.delivered, terminals * messages * bytes.div_ceil(4096).max(1));
        let bytes_on = |kind| -> u64 {
            let links = outcome.network.links.iter().filter(|link| link.kind == kind);
            links.map(|link| link.bytes[0]).sum()
        };
        prop_assert_eq!(bytes_on(LinkKind::Terminal), terminals * messages * bytes);
        let kinds = [LinkKind::Terminal, LinkKind::Local, LinkKind::Global].map(bytes_on);
        let timeline = outcome.network.timeline.bytes();
        prop_assert_eq!([0, 1, 2].map(|kind| timeline.iter().map(|bytes| bytes[kind]).sum::<u64>()), kinds);
        if matches!(topology, Topology::Dragonfly(_)) {
            prop_assert!(counters.hops <= counters.delivered * 7, "at most three routers in the group between");
        }
        let mut other = run(threads).unwrap();
        prop_assert!(other.network.threads <= threads);
        other.network.threads = 1;
        prop_assert_eq!(outcome, other, "every run, on any number of threads, gives the same outcome");
    }
}
