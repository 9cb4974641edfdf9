use thalweg_simulator::mpi::Protocol;
use thalweg_simulator::network::{routing::Routing, Parameters};
use thalweg_simulator::scenario::{parse_nodes, Machine, Settings};
use thalweg_simulator::workload::applications::Application;

fn main() {
    let dir = std::env::args().nth(1).unwrap();
    let only: Vec<String> = std::env::args().skip(2).collect();
    for line in std::fs::read_to_string(format!("{dir}/single-runs.tsv")).unwrap().lines().skip(1) {
        let f: Vec<&str> = line.split('\t').collect();
        let p: Vec<&str> = f[0].split('-').collect();
        if !only.is_empty() && !only.iter().any(|o| f[0].contains(o.as_str())) {
            continue;
        }
        let (place, routing, app) = (p[0], p[1], p[2]);
        let routing = if routing == "min" { Routing::Minimal } else { Routing::Progressive };
        let (app, set) = match app {
            "checkpoint" => (Application::Checkpoint, 2),
            "cosmo" => (Application::CosmoFlow { reads: false }, 3),
            "milc" => {
                (Application::Milc { iterations: std::env::var("IT").map_or(100, |v| v.parse().unwrap()) }, 1)
            }
            _ => (Application::Nekbone, 1),
        };
        let nodes =
            parse_nodes(&std::fs::read_to_string(format!("{dir}/{place}-1d-1056-300p{set}.conf")).unwrap())
                .unwrap()
                .remove(0);
        let programs = (0..300).map(|rank| app.program(rank)).collect();
        let settings =
            Settings { parameters: Parameters::artifact(routing), protocol: Protocol::ARTIFACT, seed: 1 };
        let mut machine = Machine::new(settings, vec![(nodes, programs)]).unwrap();
        let begin = std::time::Instant::now();
        let result = machine.run(|_, _| true).unwrap();
        let wall = begin.elapsed().as_secs_f64();
        let c = machine.network().counters();
        if std::env::var("SERVERS").is_ok() { for (i, s) in machine.servers().iter().enumerate() { if s.device.requests.0 > 0 { print!("{i}:{:?} ", s.device.requests); } } println!(); }
        let r = |i: usize| f[i].parse::<f64>().unwrap();
        let dev = |m: f64, r: f64| format!("{m:.3} ({:+.1} %)", (m / r - 1.0) * 100.0);
        println!(
            "{}: elapsed {} hops {} latency {} max {} chunks {} nonmin {} vs {} | {:.1} s, {:.2} M/s",
            f[0],
            dev(result[0].elapsed.millis(), r(13)),
            dev(c.mean_hops(), r(4)),
            dev(c.packet_latency.mean_nanos() * 1e-3, r(5)),
            dev(c.packet_latency.max().micros(), r(6)),
            dev(c.delivered as f64, r(7)),
            c.non_minimal,
            f[9],
            wall,
            c.delivered as f64 / wall * 1e-6
        );
    }
}
