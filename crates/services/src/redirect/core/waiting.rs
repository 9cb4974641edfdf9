//! Who asks for a file, gets it, or waits for it.

use super::super::message::{Access, Reply, PATH_MAX};
use super::super::rule::Rule;
use super::file::{kind, none, Content, File, Opening, Verdict};
use super::state::{Place, Redirect};
use super::written::Written;
use super::Output;
use thalweg_foundation::base::{Name, PeerId};
use thalweg_foundation::{Bytes, Error, Kind, Nanos, Result};

/// How a file was asked for.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) access: Access,
    pub(super) glance: bool,
    pub(super) at_once: bool,
    pub(super) warm: bool,
    /// Only whether it is there; nothing is opened.
    pub(super) find: bool,
}

/// A process that waits for a file.
#[derive(Debug)]
pub(super) struct Wait {
    pub(super) peer: PeerId,
    pub(super) id: u64,
    pub(super) place: Place,
    pub(super) asked: Asked,
    pub(super) until: Nanos,
}

impl Redirect {
    #[allow(clippy::too_many_arguments)]
    pub(super) fn ask(
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
            if self.used >= self.config.memory {
                return Err(full(&place.1, self.used, self.config.memory));
            }
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

    /// Answers whoever waits for a file and need not any more.
    pub(super) fn changed(&mut self, place: &Place, out: &mut Vec<Output>) {
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
    pub(super) fn all_changed(&mut self, coupling: &Name, out: &mut Vec<Output>) {
        let waiting = self.waits.values().filter(|wait| wait.place.0 == *coupling);
        let places: Vec<Place> = waiting.map(|wait| wait.place.clone()).collect();
        places.iter().for_each(|place| self.changed(place, out));
    }

    pub(super) fn answered(&mut self, number: u64) {
        let Some(wait) = self.waits.remove(&number) else { return };
        if let Some(peer) = self.peers.get_mut(&wait.peer) {
            peer.waiting -= 1;
        }
    }

    pub(super) fn forget(&mut self, place: &Place) {
        let idle = self.files.get(place).is_some_and(File::is_forgotten);
        if idle && !self.waits.values().any(|wait| wait.place == *place) {
            self.files.remove(place);
        }
    }

    /// Tells who has waited long enough.
    pub(super) fn late(&mut self, now: Nanos, out: &mut Vec<Output>) {
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
}

fn full(path: &str, used: Bytes, limit: Bytes) -> Error {
    let detail = format!(
        "no room for {path:?}: redirected files take {used} of {limit}; remove files that have been read, give them turns, \
         after which their memory is free again, or raise the limit"
    );
    Error::new(Kind::Full, "redirect.open", detail)
}
