//! All files of all couplings, and the processes that use them.

use super::super::message::{Access, Reply, Request, HOLES_MAX};
use super::super::rule::{Mode, Rule};
use super::coupling::Coupling;
use super::file::{kind, none, Content, Failure, File, Opening};
use super::waiting::{Asked, Wait};
use super::{Input, Output};
use std::collections::BTreeMap;
use thalweg_foundation::base::{Name, PeerId};
use thalweg_foundation::{Bytes, Error, Kind, Nanos, Result};

/// Limits of the service.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// The most files that are remembered.
    pub files: usize,
    /// The most files that a process has open, or waits for.
    pub openings: usize,
    /// The most memory of files, beyond which none is made.
    pub memory: Bytes,
}

impl Default for Config {
    fn default() -> Config {
        Config { files: 1 << 20, openings: 1 << 16, memory: Bytes(u64::MAX) }
    }
}

/// A file of a coupling.
pub(super) type Place = (Name, String);

/// A process.
#[derive(Debug)]
pub(super) struct Peer {
    pub(super) coupling: Name,
    pub(super) component: Name,
    pub(super) pid: u32,
    pub(super) opened: BTreeMap<u64, Place>,
    pub(super) waiting: usize,
}

/// The redirect service.
#[derive(Debug, Default)]
pub struct Redirect {
    pub(super) config: Config,
    pub(super) couplings: BTreeMap<Name, Coupling>,
    pub(super) files: BTreeMap<Place, File>,
    pub(super) peers: BTreeMap<PeerId, Peer>,
    /// In the order in which they came.
    pub(super) waits: BTreeMap<u64, Wait>,
    pub(super) next: u64,
    pub(super) used: Bytes,
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
                let is_one_of = |peer: &Peer| peer.coupling == coupling && peer.component == component;
                if !self.peers.values().any(is_one_of) {
                    let of_coupling = self.files.iter_mut().filter(|(place, _)| place.0 == coupling);
                    let left = of_coupling.filter_map(|(_, file)| file.began_again(&component));
                    out.extend(left.map(|content| Output::Drop { content: content.number }));
                }
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
            Input::Unmade(content) => self.unmade(content, out),
            Input::Used(bytes) => self.used = bytes,
            Input::Tick => self.late(now, out),
        }
    }

    pub(super) fn fresh(&mut self) -> u64 {
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
        let Some(peer) = self.peers.get_mut(&from) else { return Ok(None) };
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
                let place = peer.opened.remove(&opened);
                let place = place.ok_or_else(|| not_open("redirect.close", opened))?;
                self.end(&place, opened, false, out)
            }
            Request::HandOver { opened } => {
                let place = peer.opened.get(&opened).cloned();
                let place = place.ok_or_else(|| not_open("redirect.hand_over", opened))?;
                self.end(&place, opened, true, out)
            }
            Request::Remove { path } => {
                let place = (coupling, path);
                let removed =
                    self.files.get_mut(&place).and_then(|file| Some((file.content.take()?, file.rule.mode)));
                let (content, mode) = removed.ok_or_else(|| none(&place.1))?;
                out.push(Output::Drop { content: content.number });
                if mode == Mode::Both {
                    out.push(Output::Unsave { path: place.1.clone() });
                }
                self.changed(&place, out);
                Ok(Some(Reply::Done))
            }
            Request::Rename { from: old, to, rule } => {
                rule.check()?;
                let component = peer.component.clone();
                self.rename(&(coupling.clone(), old), &(coupling, to), rule, &component, out)?;
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

    /// A file is called otherwise from now on, by those too who have it open. What had that name is gone.
    fn rename(
        &mut self,
        old: &Place,
        new: &Place,
        rule: Rule,
        by: &Name,
        out: &mut Vec<Output>,
    ) -> Result<()> {
        let source = self.files.get_mut(old).ok_or_else(|| none(&old.1))?;
        if source.content.is_none() || old == new {
            return source.content.as_ref().map(|_| ()).ok_or_else(|| none(&old.1));
        }
        let (content, mode) = (source.content.take(), source.rule.mode);
        // A turn ends where it began.
        let moves = source.rule.turns.is_empty();
        let openings = if moves { std::mem::take(&mut source.openings) } else { Default::default() };
        let file = self.files.entry(new.clone()).or_insert_with(|| File::new(rule));
        let both = (mode == Mode::Both, file.rule.mode == Mode::Both);
        let replaced = std::mem::replace(&mut file.content, content);
        out.extend(replaced.map(|content| Output::Drop { content: content.number }));
        for (opened, opening) in openings {
            if let Some(peer) = self.peers.get_mut(&opening.peer) {
                peer.opened.insert(opened, new.clone());
            }
            file.openings.insert(opened, opening);
        }
        file.renamed_by(by);
        match (both, &file.content) {
            ((true, true), _) => out.push(Output::Resave { from: old.1.clone(), to: new.1.clone() }),
            ((true, false), _) => out.push(Output::Unsave { path: old.1.clone() }),
            ((false, true), Some(content)) if !file.is_written() => {
                out.push(Output::Save { content: content.number, path: new.1.clone() });
            }
            _ => {}
        }
        self.changed(old, out);
        self.changed(new, out);
        Ok(())
    }

    /// There is no memory for a content: who was to have it open, has it not.
    fn unmade(&mut self, content: u64, out: &mut Vec<Output>) {
        let is_it = |file: &File| file.content.as_ref().is_some_and(|known| known.number == content);
        let Some((place, file)) = self.files.iter_mut().find(|(_, file)| is_it(file)) else { return };
        let place = place.clone();
        file.content = None;
        for (opened, opening) in std::mem::take(&mut file.openings) {
            if let Some(peer) = self.peers.get_mut(&opening.peer) {
                peer.opened.remove(&opened);
            }
        }
        self.changed(&place, out);
    }

    /// A use of a file is over. What became of the file does not keep its user from letting go of it, but is told.
    fn end(
        &mut self,
        place: &Place,
        opened: u64,
        looks_on: bool,
        out: &mut Vec<Output>,
    ) -> Result<Option<Reply>> {
        let failed = self.files.get(place).and_then(|file| Some(file.failed.as_ref()?.error.clone()));
        self.close(place, opened, looks_on, out);
        failed.map_or(Ok(Some(Reply::Done)), Err)
    }

    fn close(&mut self, place: &Place, opened: u64, looks_on: bool, out: &mut Vec<Output>) {
        let Some(file) = self.files.get_mut(place) else { return };
        let Some(opening) = file.openings.remove(&opened) else { return };
        if looks_on {
            file.openings.insert(opened, Opening { access: Access::Look, ..opening.clone() });
        }
        let last = !file.is_written();
        if let (true, Some(content)) = (opening.access.writes(), &mut file.content) {
            if !opening.told {
                content.written.unknown();
            }
            if last {
                out.push(Output::Measure { content: content.number });
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
                let error = Error::new(Kind::Gone, "redirect", detail);
                file.failed = Some(Failure { by: component.clone(), error });
                file.openings.remove(&opened);
                self.changed(&place, out);
            } else {
                self.close(&place, opened, false, out);
            }
        }
    }
}

fn not_open(operation: &'static str, opened: u64) -> Error {
    Error::new(Kind::Invalid, operation, format!("{opened} is not open"))
}
