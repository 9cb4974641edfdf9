//! All files of all couplings, and who waits for them.

use super::super::message::{Access, Reply, Request, HOLES_MAX, PATH_MAX};
use super::super::rule::{Mode, Rule};
use super::coupling::Coupling;
use super::file::{kind, none, Content, File, Opening, Verdict};
use super::written::Written;
use super::{Input, Output};
use std::collections::BTreeMap;
use thalweg_foundation::base::{Name, PeerId};
use thalweg_foundation::{Error, Kind, Nanos, Result};

/// Limits of the service.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// The most files that are remembered.
    pub files: usize,
    /// The most files that a process has open, or waits for.
    pub openings: usize,
}

impl Default for Config {
    fn default() -> Config {
        Config { files: 1 << 20, openings: 1 << 16 }
    }
}

/// A file of a coupling.
type Place = (Name, String);

#[derive(Debug)]
struct Peer {
    coupling: Name,
    component: Name,
    pid: u32,
    opened: BTreeMap<u64, Place>,
    waiting: usize,
}

#[derive(Clone, Debug)]
struct Asked {
    access: Access,
    glance: bool,
    at_once: bool,
    warm: bool,
    /// Only whether it is there; nothing is opened.
    find: bool,
}

#[derive(Debug)]
struct Wait {
    peer: PeerId,
    id: u64,
    place: Place,
    asked: Asked,
    until: Nanos,
}

/// The redirect service.
#[derive(Debug, Default)]
pub struct Redirect {
    config: Config,
    couplings: BTreeMap<Name, Coupling>,
    files: BTreeMap<Place, File>,
    peers: BTreeMap<PeerId, Peer>,
    /// In the order in which they came.
    waits: BTreeMap<u64, Wait>,
    next: u64,
}

impl Redirect {
    /// Without files.
    pub fn new(config: Config) -> Redirect {
        Redirect { config, ..Redirect::default() }
    }

    /// When `Tick` is due.
    pub fn deadline(&self) -> Option<Nanos> {
        self.waits.values().map(|wait| wait.until).min()
    }

    /// Takes what happened at `now`; what is to be done goes to `out`, in order.
    pub fn step(&mut self, now: Nanos, input: Input, out: &mut Vec<Output>) {
        match input {
            Input::Joined { peer, coupling, component, pid } => {
                self.couplings.entry(coupling.clone()).or_default().joined(&component);
                let peer_state = Peer { coupling, component, pid, opened: BTreeMap::new(), waiting: 0 };
                self.peers.insert(peer, peer_state);
            }
            Input::Gone(peer) => self.gone(peer, out),
            Input::Request { from, id, body } => {
                if let Some(reply) = self.request(from, id, body, now, out).transpose() {
                    let reply = reply.unwrap_or_else(Reply::Failed);
                    out.push(Output::Send { to: from, id, reply });
                }
            }
            Input::Tick => self.late(now, out),
        }
    }

    fn fresh(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// The reply, or none where there is none yet.
    fn request(
        &mut self,
        from: PeerId,
        id: u64,
        body: Request,
        now: Nanos,
        out: &mut Vec<Output>,
    ) -> Result<Option<Reply>> {
        let Some(peer) = self.peers.get(&from) else { return Ok(None) };
        let coupling = peer.coupling.clone();
        match body {
            Request::Open { path, rule, access, glance, at_once, warm } => {
                let asked = Asked { access, glance, at_once, warm, find: false };
                self.ask(from, id, (coupling, path), rule, asked, now, out)
            }
            Request::Find { path, rule } => {
                let (access, glance, at_once, warm) = (Access::Read, true, true, false);
                let asked = Asked { access, glance, at_once, warm, find: true };
                self.ask(from, id, (coupling, path), rule, asked, now, out)
            }
            Request::Close { opened } => {
                let peer = self.peers.get_mut(&from).and_then(|peer| peer.opened.remove(&opened));
                let place = peer.ok_or_else(|| not_open("redirect.close", opened))?;
                // What became of the file does not keep its user from letting go of it, but is told.
                let failed = self.files.get(&place).and_then(|file| file.failed.clone());
                self.close(&place, opened, out);
                failed.map_or(Ok(Some(Reply::Done)), Err)
            }
            Request::Remove { path } => {
                let place = (coupling, path);
                let content = self.files.get_mut(&place).and_then(|file| file.content.take());
                let content = content.ok_or_else(|| none(&place.1))?;
                out.push(Output::Drop { content: content.number });
                self.changed(&place, out);
                Ok(Some(Reply::Done))
            }
            Request::Rename { from: old, to } => {
                let (old, new) = ((coupling.clone(), old), (coupling, to));
                let moved = self.files.get_mut(&old);
                let moved = moved.and_then(|file| Some((file.rule.clone(), file.content.take()?)));
                let (rule, content) = moved.ok_or_else(|| none(&old.1))?;
                let file = self.files.entry(new.clone()).or_insert_with(|| File::new(rule));
                if let Some(content) = file.content.replace(content) {
                    out.push(Output::Drop { content: content.number });
                }
                self.changed(&old, out);
                self.changed(&new, out);
                Ok(Some(Reply::Done))
            }
            Request::Ended { component, running, failure } => {
                let known = self.couplings.entry(coupling.clone()).or_default();
                known.ended(component, running, failure);
                self.all_changed(&coupling, out);
                Ok(Some(Reply::Done))
            }
            Request::Fail { why } => {
                let component = peer.component.clone();
                self.couplings.entry(coupling.clone()).or_default().failed(component, why);
                self.all_changed(&coupling, out);
                Ok(Some(Reply::Done))
            }
            Request::Wrote { opened, variables } => {
                let file = self.opened(from, opened, "redirect.wrote")?;
                if let Some(opening) = file.openings.get_mut(&opened) {
                    opening.told = true;
                }
                if let Some(content) = &mut file.content {
                    variables.iter().for_each(|wrote| content.written.add(wrote));
                }
                Ok(Some(Reply::Done))
            }
            Request::Holes { opened } => {
                let reader = peer.component.clone();
                let file = self.opened(from, opened, "redirect.holes")?;
                let holes = file.content.as_ref().map(|content| content.written.holes(&reader, HOLES_MAX));
                Ok(Some(Reply::Holes(holes.unwrap_or_default())))
            }
            Request::Cancel { request } => {
                let given_up = self.waits.iter().find(|(_, wait)| wait.peer == from && wait.id == request);
                if let Some((&number, _)) = given_up {
                    self.answered(number);
                }
                Ok(None)
            }
        }
    }

    /// The file that a process has open.
    fn opened(&mut self, peer: PeerId, opened: u64, operation: &'static str) -> Result<&mut File> {
        let place = self.peers.get(&peer).and_then(|peer| peer.opened.get(&opened));
        let file = place.and_then(|place| self.files.get_mut(place));
        file.ok_or_else(|| not_open(operation, opened))
    }

    #[allow(clippy::too_many_arguments)]
    fn ask(
        &mut self,
        from: PeerId,
        id: u64,
        place: Place,
        rule: Rule,
        asked: Asked,
        now: Nanos,
        out: &mut Vec<Output>,
    ) -> Result<Option<Reply>> {
        rule.check()?;
        let Some(peer) = self.peers.get_mut(&from) else { return Ok(None) };
        if place.1.is_empty() || place.1.len() > PATH_MAX {
            let detail = format!("a path of {} bytes; accepted are 1 to {PATH_MAX}", place.1.len());
            return Err(Error::new(Kind::Invalid, "redirect.open", detail));
        }
        let full = |what: &str, most: usize| {
            let detail = format!("{:?} would be one more than {most} {what}", place.1);
            Err(Error::new(Kind::Full, "redirect.open", detail))
        };
        if peer.opened.len() + peer.waiting >= self.config.openings {
            return full("files that a process may have open", self.config.openings);
        }
        if self.files.len() >= self.config.files && !self.files.contains_key(&place) {
            return full("files that are remembered", self.config.files);
        }
        let until = now.after(rule.deadline);
        self.files.entry(place.clone()).or_insert_with(|| File::new(rule));
        let answer = self.attempt(from, &place, &asked, out);
        if let Ok(None) = answer {
            if let Some(peer) = self.peers.get_mut(&from) {
                peer.waiting += 1;
            }
            let number = self.fresh();
            self.waits.insert(number, Wait { peer: from, id, place, asked, until });
        } else {
            self.forget(&place);
        }
        answer
    }

    /// The reply to who asks for a file; none: not yet.
    fn attempt(
        &mut self,
        from: PeerId,
        place: &Place,
        asked: &Asked,
        out: &mut Vec<Output>,
    ) -> Result<Option<Reply>> {
        let (Some(peer), Some(file)) = (self.peers.get(&from), self.files.get(place)) else {
            return Ok(None);
        };
        let component = peer.component.clone();
        let coupling = self.couplings.entry(place.0.clone()).or_default();
        if asked.access != Access::Look {
            coupling.failure().map_or(Ok(()), Err)?;
        }
        match file.admit(&place.1, from, &component, asked.access, asked.at_once) {
            Verdict::No(e) => Err(e),
            Verdict::Wait(whom) => {
                let gone = match file.holder() {
                    Some(holder) => coupling.has_ended(holder) && *holder != component,
                    None => coupling.only(&component),
                };
                if gone {
                    let detail = format!("{:?} waits for {whom}, but nobody is left to do so", place.1);
                    return Err(Error::new(Kind::Gone, "redirect.open", detail));
                }
                Ok(None)
            }
            Verdict::Now => self.open(from, component, place, asked, out).map(Some),
        }
    }

    fn open(
        &mut self,
        from: PeerId,
        component: Name,
        place: &Place,
        asked: &Asked,
        out: &mut Vec<Output>,
    ) -> Result<Reply> {
        let (number, opened) = (self.fresh(), self.fresh());
        let file = self.files.get_mut(place).ok_or_else(|| none(&place.1))?;
        if let (true, Some(content)) = (asked.find, &file.content) {
            return Ok(Reply::Found { content: content.number });
        }
        let existed = file.content.is_some();
        // Who reads what was there keeps it; only the processes of one component make a file together.
        let anew = matches!(asked.access, Access::Create { truncate: true, .. });
        if !existed || anew && !file.is_written_by(&component) {
            let before = file.content.replace(Content { number, written: Written::default() });
            out.extend(before.map(|content| Output::Drop { content: content.number }));
            file.failed = None;
            out.push(Output::Make { content: number, kind: asked.warm.then(|| kind(&place.1)) });
        }
        let mut content = number;
        if let Some(known) = &mut file.content {
            content = known.number;
            if asked.access.writes() {
                known.written.opened_by(&component);
            }
        }
        let opening =
            Opening { peer: from, component, access: asked.access, glance: asked.glance, told: false };
        file.openings.insert(opened, opening);
        if let Some(peer) = self.peers.get_mut(&from) {
            peer.opened.insert(opened, place.clone());
        }
        Ok(Reply::Opened { opened, content, existed })
    }

    fn close(&mut self, place: &Place, opened: u64, out: &mut Vec<Output>) {
        let Some(file) = self.files.get_mut(place) else { return };
        let Some(opening) = file.openings.remove(&opened) else { return };
        let last = !file.is_written();
        if let (true, Some(content)) = (opening.access.writes(), &mut file.content) {
            if !opening.told {
                content.written.unknown();
            }
            if last && file.rule.mode == Mode::Both {
                out.push(Output::Save { content: content.number, path: place.1.clone() });
            }
        }
        if file.closed(&opening) {
            if let Some(Content { number: content, .. }) = file.content.take() {
                // Who still looks at it must not see another file there.
                out.push(match file.openings.is_empty() && file.rule.mode == Mode::Memory {
                    true => Output::Retire { content, kind: kind(&place.1) },
                    false => Output::Drop { content },
                });
            }
        }
        self.changed(place, out);
    }

    /// Answers whoever waits for a file and need not any more.
    fn changed(&mut self, place: &Place, out: &mut Vec<Output>) {
        let waiting = self.waits.iter().filter(|(_, wait)| wait.place == *place);
        let waiting: Vec<u64> = waiting.map(|(number, _)| *number).collect();
        for number in waiting {
            let Some(wait) = self.waits.get(&number) else { continue };
            let (peer, id, asked) = (wait.peer, wait.id, wait.asked.clone());
            if let Some(reply) = self.attempt(peer, place, &asked, out).transpose() {
                self.answered(number);
                let reply = reply.unwrap_or_else(Reply::Failed);
                out.push(Output::Send { to: peer, id, reply });
            }
        }
        self.forget(place);
    }

    /// Answers whoever waits in a coupling and need not any more.
    fn all_changed(&mut self, coupling: &Name, out: &mut Vec<Output>) {
        let waiting = self.waits.values().filter(|wait| wait.place.0 == *coupling);
        let places: Vec<Place> = waiting.map(|wait| wait.place.clone()).collect();
        places.iter().for_each(|place| self.changed(place, out));
    }

    fn answered(&mut self, number: u64) {
        let Some(wait) = self.waits.remove(&number) else { return };
        if let Some(peer) = self.peers.get_mut(&wait.peer) {
            peer.waiting -= 1;
        }
    }

    fn forget(&mut self, place: &Place) {
        let idle = self.files.get(place).is_some_and(File::is_forgotten);
        if idle && !self.waits.values().any(|wait| wait.place == *place) {
            self.files.remove(place);
        }
    }

    /// Tells who has waited long enough.
    fn late(&mut self, now: Nanos, out: &mut Vec<Output>) {
        let late = self.waits.iter().filter(|(_, wait)| wait.until <= now);
        let late: Vec<u64> = late.map(|(number, _)| *number).collect();
        for number in late {
            let Some(Wait { peer, id, place, asked, .. }) = self.waits.get(&number) else { continue };
            let (to, id, place, asked) = (*peer, *id, place.clone(), asked.clone());
            let verdict = self.peers.get(&to).zip(self.files.get(&place)).map(|(peer, file)| {
                let verdict = file.admit(&place.1, to, &peer.component, asked.access, asked.at_once);
                (verdict, file.rule.deadline)
            });
            self.answered(number);
            if let Some((Verdict::Wait(whom), within)) = verdict {
                let detail = format!("{:?} waited {} s for {whom}", place.1, within.0 as f64 / 1e9);
                let reply = Reply::Failed(Error::new(Kind::Timeout, "redirect.open", detail));
                out.push(Output::Send { to, id, reply });
            }
            self.forget(&place);
        }
    }

    /// A process is gone. One that had a file open for writing, or in its turn, did not end as it should.
    fn gone(&mut self, peer: PeerId, out: &mut Vec<Output>) {
        self.waits.retain(|_, wait| wait.peer != peer);
        let Some(Peer { component, pid, opened, .. }) = self.peers.remove(&peer) else { return };
        for (opened, place) in opened {
            let Some(file) = self.files.get_mut(&place) else { continue };
            let Some(opening) = file.openings.get(&opened) else { continue };
            let in_turn = file.holder().is_some() && !opening.glance && opening.access != Access::Look;
            if opening.access.writes() || in_turn {
                let detail = format!(
                    "a process of component {:?} (process {pid}) ended before it had closed {:?}",
                    component.as_str(),
                    place.1
                );
                file.failed = Some(Error::new(Kind::Gone, "redirect", detail));
                file.openings.remove(&opened);
                self.changed(&place, out);
            } else {
                self.close(&place, opened, out);
            }
        }
    }
}

fn not_open(operation: &'static str, opened: u64) -> Error {
    Error::new(Kind::Invalid, operation, format!("{opened} is not open"))
}
