use thalweg_simulator::engine::Picos;
use thalweg_simulator::network::{routing::Routing, topology::Dragonfly, Network, Parameters};
use thalweg_simulator::workload::synthetic::{run, Gaps, Pattern, Synthetic};

fn main() {
    let messages: u64 = std::env::args().nth(1).map_or(60, |n| n.parse().unwrap());
    let only: Option<usize> = std::env::args().nth(2).map(|n| n.parse().unwrap());
    let ur = Pattern::UniformRandom;
    let rows = [
        (Routing::Minimal, ur, 4096, 2000.0, 6.103, 3.697),
        (Routing::Progressive, ur, 4096, 2000.0, 7.544, 4.425),
        (Routing::Valiant, ur, 4096, 2000.0, 12.245, 5.547),
        (Routing::Minimal, ur, 4096, 1200.0, 6.96, 0.0),
        (Routing::Progressive, ur, 4096, 1200.0, 8.99, 0.0),
        (Routing::Valiant, ur, 4096, 1200.0, 38.9, 0.0),
        (Routing::Minimal, Pattern::NextGroup, 4096, 20000.0, 177.9, 0.0),
        (Routing::Progressive, Pattern::NextGroup, 4096, 20000.0, 7.68, 0.0),
        (Routing::Minimal, ur, 65536, 32000.0, 19.1, 3.697),
        (Routing::Progressive, ur, 65536, 32000.0, 16.4, 4.670),
    ];
    for (index, (routing, pattern, bytes, gap, latency, hops)) in rows.into_iter().enumerate() {
        if only.is_some_and(|only| only != index) {
            continue;
        }
        let mut network = Network::new(Dragonfly::paper(), Parameters::artifact(routing), 1, 1).unwrap();
        let traffic =
            Synthetic { pattern, bytes, mean_gap: Picos::from_nanos(gap), gaps: Gaps::Even, messages };
        let begin = std::time::Instant::now();
        run(traffic, &mut network, 1).unwrap();
        let wall = begin.elapsed().as_secs_f64();
        let c = network.counters();
        println!(
            "{routing:?} {pattern:?} {bytes} {gap}: latency {:.3} (ref {latency}, {:+.1} %) hops {:.3} (ref {hops}) {:.2} M packets/s, {:.2} events/packet {:.1} ns/event",
            c.packet_latency.mean_nanos() * 1e-3, (c.packet_latency.mean_nanos() * 1e-3 / latency - 1.0) * 100.0,
            c.mean_hops(), c.delivered as f64 / wall * 1e-6, c.events as f64 / c.delivered as f64, wall * 1e9 / c.events as f64,
        );
    }
}
