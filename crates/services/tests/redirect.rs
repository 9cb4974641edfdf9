//! What components of a coupling can rely on: whom they wait for, and what they hear when that one fails.
#![allow(clippy::unwrap_used)]

use thalweg_foundation::array::Region;
use thalweg_foundation::base::{Name, PeerId};
use thalweg_foundation::{Bytes, Kind, Nanos};
use thalweg_services::redirect::core::{Config, Input, Output, Redirect};
use thalweg_services::redirect::message::{Access, Hole, Reply, Request, Wrote};
use thalweg_services::redirect::{Mode, Rule};

const DEADLINE: Nanos = Nanos(5_000_000_000);
const NEW: Access = Access::Create { exclusive: false, truncate: true };
const PATH: &str = "/run/step.nc";

fn name(text: &str) -> Name {
    Name::new("test", text).unwrap()
}

/// A service with processes, at a time that stands still until it is moved.
struct Bench {
    core: Redirect,
    now: Nanos,
    next_id: u64,
    turns: Vec<Name>,
    mode: Mode,
    out: Vec<Output>,
}

impl Bench {
    fn new(turns: &[&str]) -> Bench {
        Bench {
            core: Redirect::new(Config::default()),
            now: Nanos(0),
            next_id: 0,
            turns: turns.iter().map(|turn| name(turn)).collect(),
            mode: Mode::Memory,
            out: Vec::new(),
        }
    }

    fn join(&mut self, peer: u64, component: &str) -> PeerId {
        let peer = PeerId(peer);
        let pid = peer.0 as u32;
        let joined = Input::Joined { peer, coupling: name("run"), component: name(component), pid };
        self.core.step(self.now, joined, &mut self.out);
        peer
    }

    fn rule(&self) -> Rule {
        Rule { mode: self.mode, turns: self.turns.clone(), deadline: DEADLINE }
    }

    fn ask(&mut self, from: PeerId, body: Request) -> u64 {
        self.next_id += 1;
        let id = self.next_id;
        self.core.step(self.now, Input::Request { from, id, body }, &mut self.out);
        id
    }

    fn open(&mut self, from: PeerId, access: Access) -> u64 {
        let (path, rule) = (PATH.to_string(), self.rule());
        self.ask(from, Request::Open { path, rule, access, glance: false, at_once: false, warm: true })
    }

    /// The answer to a request, if there is one by now.
    fn answer(&self, id: u64) -> Option<&Reply> {
        self.out.iter().find_map(|output| match output {
            Output::Send { id: of, reply, .. } if *of == id => Some(reply),
            _ => None,
        })
    }

    fn opened(&self, id: u64) -> (u64, u64) {
        match self.answer(id) {
            Some(Reply::Opened { opened, content, .. }) => (*opened, *content),
            other => panic!("{other:?}"),
        }
    }

    fn failed(&self, id: u64) -> (Kind, String) {
        match self.answer(id) {
            Some(Reply::Failed(e)) => (e.kind, e.message.clone()),
            other => panic!("{other:?}"),
        }
    }

    fn close(&mut self, from: PeerId, opened: u64) -> u64 {
        self.ask(from, Request::Close { opened })
    }

    /// Opens and closes at once.
    fn visit(&mut self, from: PeerId, access: Access) -> u64 {
        let id = self.open(from, access);
        let (opened, content) = self.opened(id);
        self.close(from, opened);
        content
    }
}

#[test]
fn a_reader_waits_until_all_processes_of_the_writer_have_closed() {
    let mut bench = Bench::new(&[]);
    let (reader, one, two) = (bench.join(1, "reader"), bench.join(2, "writer"), bench.join(3, "writer"));
    let waits = bench.open(reader, Access::Read);
    let (first, second) = (bench.open(one, NEW), bench.open(two, NEW));
    let ((first, content), (second, same)) = (bench.opened(first), bench.opened(second));
    assert_eq!(content, same, "the processes of a component make one file");
    bench.close(one, first);
    assert_eq!(bench.answer(waits), None);
    bench.close(two, second);
    assert_eq!(bench.opened(waits).1, content);
}

#[test]
fn who_makes_a_file_again_waits_for_the_slower_ones_of_its_component() {
    let mut bench = Bench::new(&[]);
    let (fast, slow) = (bench.join(1, "model"), bench.join(2, "model"));
    let first = [bench.open(fast, NEW), bench.open(slow, NEW)].map(|id| bench.opened(id));
    bench.close(fast, first[0].0);
    let back = bench.open(fast, Access::Read);
    assert_eq!(bench.opened(back).1, first[0].1, "reading waits for nobody");
    let again = bench.open(fast, NEW);
    assert_eq!(bench.answer(again), None);
    bench.close(slow, first[1].0);
    let (_, made) = bench.opened(again);
    assert_ne!(made, first[0].1);
    let with = bench.open(slow, NEW);
    assert_eq!(bench.opened(with).1, made);
}

#[test]
fn a_component_reads_what_it_is_writing() {
    let mut bench = Bench::new(&[]);
    let (one, two) = (bench.join(1, "model"), bench.join(2, "model"));
    let made = bench.open(one, NEW);
    let read = bench.open(two, Access::Read);
    assert_eq!(bench.opened(read).1, bench.opened(made).1);
}

#[test]
fn who_has_an_older_file_open_keeps_it_when_it_is_made_anew() {
    let mut bench = Bench::new(&[]);
    let (reader, writer) = (bench.join(1, "reader"), bench.join(2, "writer"));
    let older = bench.visit(writer, NEW);
    let reading = bench.open(reader, Access::Read);
    assert_eq!(bench.opened(reading).1, older);
    assert_ne!(bench.visit(writer, NEW), older);
    assert!(bench.out.contains(&Output::Drop { content: older }));
}

#[test]
fn turns_are_taken_by_all_processes_of_a_component_whoever_is_faster() {
    let mut bench = Bench::new(&["scale", "letkf", "letkf", "scale"]);
    let scale = [bench.join(1, "scale"), bench.join(2, "scale")];
    let letkf = [bench.join(3, "letkf"), bench.join(4, "letkf")];
    for _ in 0..3 {
        let early = letkf.map(|peer| bench.open(peer, Access::Read));
        let made = scale.map(|peer| bench.open(peer, NEW)).map(|id| bench.opened(id));
        assert_eq!(made[0].1, made[1].1);
        // The first process of the writer is in its next turn before the second one has ended this one.
        bench.close(scale[0], made[0].0);
        let ahead = bench.open(scale[0], Access::Read);
        assert!(early.iter().all(|id| bench.answer(*id).is_none()));
        bench.close(scale[1], made[1].0);
        let read = early.map(|id| bench.opened(id));
        assert_eq!(bench.answer(ahead), None, "it is another one's turn");
        bench.close(letkf[0], read[0].0);
        let over = bench.open(letkf[0], Access::Update);
        assert_eq!(bench.answer(over), None, "its first turn is not over");
        bench.close(letkf[1], read[1].0);
        let over = [over, bench.open(letkf[1], Access::Update)].map(|id| bench.opened(id));
        for (peer, (opened, content)) in letkf.iter().zip(over) {
            assert_eq!(content, made[0].1);
            bench.close(*peer, opened);
        }
        let last = [ahead, bench.open(scale[1], Access::Read)].map(|id| bench.opened(id));
        for (peer, (opened, _)) in scale.iter().zip(last) {
            bench.close(*peer, opened);
        }
        // Nobody needs it any more, and the next file of its kind may have its memory.
        let retired = Output::Retire { content: made[0].1, kind: "step.nc".into() };
        assert!(bench.out.contains(&retired));
        bench.out.clear();
    }
}

#[test]
fn a_glance_is_no_turn() {
    let mut bench = Bench::new(&["writer", "reader"]);
    let (writer, reader) = (bench.join(1, "writer"), bench.join(2, "reader"));
    bench.visit(writer, NEW);
    for _ in 0..2 {
        let (path, rule) = (PATH.to_string(), bench.rule());
        let access = Access::Read;
        let id = bench
            .ask(reader, Request::Open { path, rule, access, glance: true, at_once: false, warm: false });
        let (opened, _) = bench.opened(id);
        bench.close(reader, opened);
    }
    bench.visit(reader, Access::Read);
    bench.visit(writer, NEW);
}

#[test]
fn whoever_waits_in_vain_hears_for_whom() {
    let mut bench = Bench::new(&["writer", "reader"]);
    let reader = bench.join(1, "reader");
    let id = bench.open(reader, Access::Read);
    assert_eq!(bench.core.deadline(), Some(DEADLINE));
    bench.now = DEADLINE;
    bench.core.step(bench.now, Input::Tick, &mut bench.out);
    let (kind, message) = bench.failed(id);
    assert_eq!(kind, Kind::Timeout);
    assert_eq!(
        message,
        "redirect.open: \"/run/step.nc\" waited 5 s for component \"writer\", whose turn it is"
    );
    assert_eq!(bench.core.deadline(), None);
}

#[test]
fn a_writer_that_dies_fails_its_file_for_everybody() {
    let mut bench = Bench::new(&[]);
    let (reader, writer, other) = (bench.join(1, "reader"), bench.join(7, "writer"), bench.join(3, "writer"));
    let waits = bench.open(reader, Access::Read);
    bench.open(writer, NEW);
    let with = bench.open(other, NEW);
    let (with, _) = bench.opened(with);
    bench.core.step(bench.now, Input::Gone(writer), &mut bench.out);
    let (kind, message) = bench.failed(waits);
    assert_eq!(kind, Kind::Gone);
    let said = "a process of component \"writer\" (process 7) ended before it had closed \"/run/step.nc\"";
    assert!(message.ends_with(said), "{message}");
    let closed = bench.close(other, with);
    assert_eq!(bench.failed(closed).0, Kind::Gone);
    let later = bench.open(reader, Access::Read);
    assert_eq!(bench.failed(later).0, Kind::Gone);
    // A component that is started again makes it anew.
    let again = bench.join(8, "writer");
    bench.visit(again, NEW);
    bench.visit(reader, Access::Read);
}

#[test]
fn a_reader_that_dies_outside_of_a_turn_harms_nobody() {
    let mut bench = Bench::new(&[]);
    let (reader, writer) = (bench.join(1, "reader"), bench.join(2, "writer"));
    bench.visit(writer, NEW);
    bench.open(reader, Access::Read);
    bench.core.step(bench.now, Input::Gone(reader), &mut bench.out);
    bench.visit(writer, NEW);
}

#[test]
fn nobody_waits_for_components_that_have_ended() {
    let mut bench = Bench::new(&[]);
    let reader = bench.join(1, "reader");
    let launcher = bench.join(9, "-launcher");
    let waits = bench.open(reader, Access::Read);
    let ended = |component, running: &[&str], failure: Option<&str>| Request::Ended {
        component: name(component),
        running: running.iter().map(|name| self::name(name)).collect(),
        failure: failure.map(String::from),
    };
    bench.ask(launcher, ended("other", &["writer", "reader"], None));
    assert_eq!(bench.answer(waits), None);
    bench.ask(launcher, ended("writer", &["reader"], None));
    let (kind, message) = bench.failed(waits);
    assert_eq!(kind, Kind::Gone);
    assert!(
        message.ends_with("waits for a component that writes it, but nobody is left to do so"),
        "{message}"
    );
    bench.ask(launcher, ended("other", &["reader"], Some("killed by SIGKILL")));
    let later = bench.open(reader, NEW);
    let said = "redirect: component \"other\" failed: killed by SIGKILL";
    assert_eq!(bench.failed(later), (Kind::Gone, said.into()));
    // Who comes back is waited for again.
    bench.join(4, "other");
    let again = bench.open(reader, NEW);
    bench.opened(again);
}

#[test]
fn who_looks_sees_what_is_there_now() {
    let mut bench = Bench::new(&["writer", "reader"]);
    let (writer, looker) = (bench.join(1, "writer"), bench.join(2, "-look"));
    let none = bench.open(looker, Access::Look);
    assert_eq!(bench.failed(none).0, Kind::NotFound);
    let writing = bench.open(writer, NEW);
    let looking = bench.open(looker, Access::Look);
    assert_eq!(bench.opened(looking).1, bench.opened(writing).1);
    // Whose memory somebody looks at is nobody else's next.
    let (writing, content) = bench.opened(writing);
    bench.close(writer, writing);
    let reader = bench.join(3, "reader");
    bench.visit(reader, Access::Read);
    assert!(bench.out.contains(&Output::Drop { content }));
}

#[test]
fn a_component_without_a_turn_is_refused() {
    let mut bench = Bench::new(&["writer", "reader"]);
    let stranger = bench.join(1, "stranger");
    let id = bench.open(stranger, Access::Read);
    let said =
        "redirect.open: component \"stranger\" has no turn with \"/run/step.nc\"; its turns are writer, reader";
    assert_eq!(bench.failed(id), (Kind::Access, said.into()));
}

#[test]
fn files_are_made_once_removed_and_renamed_as_in_a_file_system() {
    let mut bench = Bench::new(&[]);
    let one = bench.join(1, "one");
    let only = Access::Create { exclusive: true, truncate: false };
    let content = bench.visit(one, only);
    let again = bench.open(one, only);
    assert_eq!(bench.failed(again).0, Kind::Exists);
    let to = "/run/other.nc".to_string();
    let renamed = bench.ask(one, Request::Rename { from: PATH.into(), to: to.clone(), rule: bench.rule() });
    assert_eq!(bench.answer(renamed), Some(&Reply::Done));
    let found = bench.ask(one, Request::Find { path: to.clone(), rule: bench.rule() });
    assert_eq!(bench.answer(found), Some(&Reply::Found { content }));
    let old = bench.ask(one, Request::Find { path: PATH.into(), rule: bench.rule() });
    assert_eq!(bench.failed(old).0, Kind::NotFound);
    let removed = bench.ask(one, Request::Remove { path: to.clone() });
    assert_eq!(bench.answer(removed), Some(&Reply::Done));
    let twice = bench.ask(one, Request::Remove { path: to });
    assert_eq!(bench.failed(twice).0, Kind::NotFound);
}

#[test]
fn what_is_to_be_a_file_too_is_saved_when_its_last_writer_has_closed() {
    let mut bench = Bench::new(&[]);
    bench.mode = Mode::Both;
    let (one, two) = (bench.join(1, "model"), bench.join(2, "model"));
    let (first, second) = (bench.open(one, NEW), bench.open(two, NEW));
    let ((first, content), (second, _)) = (bench.opened(first), bench.opened(second));
    let saved = Output::Save { content, path: PATH.into() };
    bench.close(one, first);
    assert!(!bench.out.contains(&saved));
    bench.close(two, second);
    assert!(bench.out.contains(&saved));
}

#[test]
fn limits_are_refused_with_what_was_met() {
    let config = Config { files: 1, openings: 2, ..Config::default() };
    let mut bench = Bench { core: Redirect::new(config), ..Bench::new(&[]) };
    let one = bench.join(1, "one");
    bench.open(one, NEW);
    let path = "/run/second.nc".to_string();
    let (rule, access) = (bench.rule(), NEW);
    let more =
        bench.ask(one, Request::Open { path, rule, access, glance: false, at_once: false, warm: false });
    assert_eq!(bench.failed(more).0, Kind::Full);
    bench.open(one, Access::Read);
    let third = bench.open(one, Access::Read);
    let said = "redirect.open: \"/run/step.nc\" would be one more than 2 files that a process may have open";
    assert_eq!(bench.failed(third), (Kind::Full, said.into()));
    for path in [String::new(), "x".repeat(5000)] {
        let rule = bench.rule();
        let id = bench.ask(one, Request::Find { path, rule });
        assert!(matches!(bench.failed(id).0, Kind::Invalid | Kind::Full));
    }
}

#[test]
fn a_request_that_was_given_up_is_forgotten() {
    let mut bench = Bench::new(&[]);
    let (reader, writer) = (bench.join(1, "reader"), bench.join(2, "writer"));
    let id = bench.open(reader, Access::Read);
    bench.ask(reader, Request::Cancel { request: id });
    assert_eq!(bench.core.deadline(), None);
    bench.visit(writer, NEW);
    assert_eq!(bench.answer(id), None);
}

fn region(lower: &[u64], extent: &[u64]) -> Region {
    Region::new(lower, extent).unwrap()
}

fn wrote(variable: u32, whole: &[u64], parts: &[Region]) -> Wrote {
    Wrote { variable, whole: region(&vec![0; whole.len()], whole), parts: parts.to_vec() }
}

impl Bench {
    /// Makes the file, tells what it wrote, and closes it.
    fn write(&mut self, writer: PeerId, access: Access, variables: Vec<Wrote>) {
        let id = self.open(writer, access);
        let opened = self.opened(id).0;
        self.ask(writer, Request::Wrote { opened, variables });
        self.close(writer, opened);
    }

    fn holes(&mut self, reader: PeerId) -> Vec<Hole> {
        let id = self.open(reader, Access::Read);
        let opened = self.opened(id).0;
        let asked = self.ask(reader, Request::Holes { opened });
        self.close(reader, opened);
        match self.answer(asked) {
            Some(Reply::Holes(holes)) => holes.clone(),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn readers_are_told_what_nobody_wrote() {
    let mut bench = Bench::new(&[]);
    let (one, two, reader) = (bench.join(1, "model"), bench.join(2, "model"), bench.join(3, "reader"));
    let (left, right) = (region(&[0, 0], &[4, 3]), region(&[1, 2], &[3, 4]));
    let (first, second) = (bench.open(one, NEW), bench.open(two, NEW));
    let (first, second) = (bench.opened(first).0, bench.opened(second).0);
    let untouched = || wrote(7, &[5], &[]);
    bench
        .ask(one, Request::Wrote { opened: first, variables: vec![wrote(3, &[4, 6], &[left]), untouched()] });
    bench.ask(
        two,
        Request::Wrote { opened: second, variables: vec![wrote(3, &[4, 6], &[right]), untouched()] },
    );
    bench.close(one, first);
    bench.close(two, second);
    let corner = Hole { variable: 3, region: region(&[0, 3], &[1, 3]) };
    let all = Hole { variable: 7, region: region(&[0], &[5]) };
    assert_eq!(bench.holes(reader), [corner, all.clone()]);
    assert_eq!(bench.holes(one), [], "who writes a file knows what it did not");
    // a third component completes one of them, with a record more of which it writes only a part
    let third = bench.join(4, "filter");
    let parts = [region(&[0, 3], &[1, 3]), region(&[4, 0], &[1, 5])];
    bench.write(third, Access::Update, vec![wrote(3, &[5, 6], &parts)]);
    let last = Hole { variable: 3, region: region(&[4, 5], &[1, 1]) };
    assert_eq!(bench.holes(reader), [last, all]);
}

#[test]
fn a_file_made_anew_has_only_what_was_written_since() {
    let mut bench = Bench::new(&[]);
    let (writer, reader) = (bench.join(1, "model"), bench.join(2, "reader"));
    bench.write(writer, NEW, vec![wrote(0, &[2], &[region(&[0], &[2])])]);
    assert_eq!(bench.holes(reader), []);
    bench.write(writer, NEW, vec![wrote(0, &[2], &[region(&[0], &[1])])]);
    assert_eq!(bench.holes(reader), [Hole { variable: 0, region: region(&[1], &[1]) }]);
}

#[test]
fn who_says_nothing_may_have_written_everything() {
    let mut bench = Bench::new(&[]);
    let (writer, reader) = (bench.join(1, "model"), bench.join(2, "reader"));
    bench.write(writer, NEW, vec![wrote(0, &[2], &[])]);
    assert_eq!(bench.holes(reader).len(), 1);
    let other = bench.join(3, "editor");
    bench.visit(other, Access::Update);
    assert_eq!(bench.holes(reader), []);
}

#[test]
fn as_many_parts_as_one_likes_are_remembered_as_written() {
    let mut bench = Bench::new(&[]);
    let (writer, reader) = (bench.join(1, "model"), bench.join(2, "reader"));
    let scattered: Vec<Region> = (0..10_000).map(|n| region(&[2 * n], &[1])).collect();
    let variables = scattered.chunks(1000).map(|parts| wrote(0, &[20_000], parts)).collect();
    bench.write(writer, NEW, variables);
    assert_eq!(bench.holes(reader), [], "beyond the limit nothing is reproached");
    let few = wrote(0, &[20_000], &scattered[..1000]);
    bench.write(writer, NEW, vec![few]);
    assert_eq!(bench.holes(reader).len(), 512, "a limited number is told");
}

#[test]
fn a_component_that_cannot_go_on_fails_those_it_exchanges_files_with() {
    let mut bench = Bench::new(&[]);
    let (writer, reader) = (bench.join(1, "model"), bench.join(2, "reader"));
    let waits = bench.open(writer, Access::Read);
    bench.ask(reader, Request::Fail { why: "nobody wrote rain".into() });
    assert_eq!(bench.failed(waits).0, Kind::Gone);
    let next = bench.open(writer, NEW);
    assert!(bench.failed(next).1.contains("component \"reader\" failed: nobody wrote rain"));
}

#[test]
fn no_file_is_made_beyond_the_limit_of_memory() {
    let config = Config { memory: Bytes(1 << 20), ..Config::default() };
    let mut bench = Bench { core: Redirect::new(config), ..Bench::new(&[]) };
    let (writer, reader) = (bench.join(1, "model"), bench.join(2, "reader"));
    let content = bench.visit(writer, NEW);
    assert!(bench.out.contains(&Output::Measure { content }));
    bench.core.step(bench.now, Input::Used(Bytes(1 << 20)), &mut bench.out);
    let more = bench.open(writer, NEW);
    let (kind, said) = bench.failed(more);
    assert_eq!(kind, Kind::Full);
    assert!(said.contains("redirected files take 1 MiB of 1 MiB"), "{said}");
    assert_eq!(bench.visit(reader, Access::Read), content, "what is there can be read");
    bench.core.step(bench.now, Input::Used(Bytes(0)), &mut bench.out);
    bench.visit(writer, NEW);
}

#[test]
fn a_file_that_could_not_be_made_is_not_there_and_nobody_has_it_open() {
    let mut bench = Bench::new(&[]);
    let (writer, reader) = (bench.join(1, "model"), bench.join(2, "reader"));
    let waits = bench.open(reader, Access::Read);
    let made = bench.open(writer, NEW);
    let content = bench.opened(made).1;
    bench.core.step(bench.now, Input::Unmade(content), &mut bench.out);
    assert_eq!(bench.answer(waits), None);
    let content = bench.visit(writer, NEW);
    assert_eq!(bench.opened(waits).1, content);
}

impl Bench {
    fn rename(&mut self, from: PeerId, to: &str) {
        let (to, rule) = (to.to_string(), self.rule());
        let asked = self.ask(from, Request::Rename { from: PATH.into(), to, rule });
        assert_eq!(self.answer(asked), Some(&Reply::Done));
    }

    fn open_at(&mut self, from: PeerId, path: &str, access: Access) -> u64 {
        let (path, rule) = (path.to_string(), self.rule());
        self.ask(from, Request::Open { path, rule, access, glance: false, at_once: false, warm: false })
    }
}

#[test]
fn a_file_that_is_renamed_while_it_is_written_is_read_when_it_is_complete() {
    let mut bench = Bench::new(&[]);
    let (model, analysis) = (bench.join(1, "model"), bench.join(2, "analysis"));
    let writing = bench.open(model, NEW);
    let (opened, content) = bench.opened(writing);
    bench.rename(model, "/run/final.nc");
    let reading = bench.open_at(analysis, "/run/final.nc", Access::Read);
    assert_eq!(bench.answer(reading), None);
    bench.close(model, opened);
    assert_eq!(bench.opened(reading).1, content);
}

#[test]
fn who_makes_a_file_by_renaming_another_has_had_its_turn() {
    let mut bench = Bench::new(&[]);
    let (model, analysis) = (bench.join(1, "model"), bench.join(2, "analysis"));
    bench.visit(model, NEW);
    bench.turns = vec![name("model"), name("analysis")];
    let reading = bench.open_at(analysis, "/run/final.nc", Access::Read);
    assert_eq!(bench.answer(reading), None);
    bench.rename(model, "/run/final.nc");
    bench.opened(reading);
}

#[test]
fn what_was_saved_follows_its_file() {
    let mut bench = Bench::new(&[]);
    bench.mode = Mode::Both;
    let model = bench.join(1, "model");
    bench.visit(model, NEW);
    bench.rename(model, "/run/final.nc");
    let removed = bench.ask(model, Request::Remove { path: "/run/final.nc".into() });
    assert_eq!(bench.answer(removed), Some(&Reply::Done));
    let on_disk = bench.out.iter().filter_map(|output| match output {
        Output::Save { path, .. } => Some(format!("save {path}")),
        Output::Resave { from, to } => Some(format!("rename {from} {to}")),
        Output::Unsave { path } => Some(format!("remove {path}")),
        _ => None,
    });
    let expected = ["save /run/step.nc", "rename /run/step.nc /run/final.nc", "remove /run/final.nc"];
    assert_eq!(on_disk.collect::<Vec<_>>(), expected);
}

#[test]
fn a_file_that_a_killed_component_left_can_be_used_when_it_comes_again() {
    for turns in [&[][..], &["model", "analysis"]] {
        let mut bench = Bench::new(turns);
        let (model, analysis) = (bench.join(1, "model"), bench.join(2, "analysis"));
        let writing = bench.open(model, NEW);
        bench.opened(writing);
        bench.core.step(bench.now, Input::Gone(model), &mut bench.out);
        let in_vain = bench.open(analysis, Access::Read);
        assert_eq!(bench.failed(in_vain).0, Kind::Gone);
        let (component, running) = (name("model"), vec![name("analysis")]);
        bench.ask(analysis, Request::Ended { component, running, failure: Some("killed".into()) });
        let again = bench.join(3, "model");
        let reading = bench.open(analysis, Access::Read);
        assert_eq!(bench.answer(reading), None, "it is not complete");
        bench.visit(again, NEW);
        bench.opened(reading);
    }
}
