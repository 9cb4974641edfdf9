//! Long messages: each flows at its fair share of the links on its ways, until all its bytes have left.

use super::fair::Share;
use super::interface::Message;
use super::{event, Flows, SETTLES_AFTER};
use crate::engine::Picos;

/// A message that flows.
#[derive(Clone, Debug)]
pub struct Flow {
    message: u32,
    /// Bytes left at `since`, but for those of the last packet, which the ways before it do not slow down.
    left: f64,
    /// The time of its last packet on its terminal's link.
    last: Picos,
    since: Picos,
    ends: Picos,
    /// The time from its last byte's leaving the interface to its arrival.
    tail: Picos,
    hops: u64,
    shares: Vec<Share>,
    /// Bytes that went each way.
    moved: Vec<f64>,
}

impl Flow {
    fn rate(&self) -> f64 {
        self.shares.iter().map(|share| share.rate).sum()
    }

    /// Brings `left` up to `now`, at the rates that held until now.
    fn advance(&mut self, now: Picos) {
        let passed = (now - self.since).0 as f64;
        for (moved, share) in self.moved.iter_mut().zip(&self.shares) {
            *moved += share.rate * passed;
            self.left -= share.rate * passed;
        }
        self.since = now;
    }

    /// When it ends by its rates.
    fn plan(&mut self) {
        let picos = (self.left.max(0.0) / self.rate().max(f64::MIN_POSITIVE)).ceil();
        self.ends = self.since + Picos(picos as u64) + self.last;
    }
}

impl<P: Copy> Flows<P> {
    /// A long message begins to flow.
    pub(super) fn flow(&mut self, number: u32) {
        let order = self.messages[number].order;
        let ways = self.ways(&order);
        let shares: Vec<Share> = ways.into_iter().map(|way| self.share(way)).collect();
        let (size, last) = self.last(order.bytes);
        let left = (order.bytes - u64::from(size)) as f64;
        let tail = self.tail(&shares[0].links, order.bytes);
        let hops = shares[0].links.len() as u64 - 1;
        for link in shares.iter().flat_map(|share| &share.links) {
            self.links.count(*link, true);
        }
        let moved = vec![0.0; shares.len()];
        let now = self.now;
        let mut flow = Flow { message: number, left, last, since: now, ends: now, tail, hops, shares, moved };
        flow.plan();
        let ends = flow.ends;
        self.flows.push(flow);
        self.changed(ends.min(self.next_end));
    }

    /// The flows that end now end.
    pub(super) fn end(&mut self) {
        self.next_end = Picos::NEVER;
        let mut first = Picos::NEVER;
        let mut place = 0;
        while let Some(flow) = self.flows.get(place) {
            if flow.ends > self.now {
                first = first.min(flow.ends);
                place += 1;
                continue;
            }
            let mut flow = self.flows.swap_remove(place);
            flow.advance(self.now);
            let Message { order, .. } = self.messages[flow.message];
            let total: f64 = flow.moved.iter().sum();
            let mut counted = 0;
            for (index, (share, moved)) in flow.shares.iter().zip(&flow.moved).enumerate() {
                for link in &share.links {
                    self.links.count(*link, false);
                }
                let bytes = (order.bytes as f64 * moved / total) as u64;
                let bytes = if index + 1 == flow.shares.len() { order.bytes - counted } else { bytes };
                counted += bytes;
                self.count(&share.links, order.application, bytes);
            }
            self.arrive(flow.message, self.now + flow.tail, flow.hops);
            self.left(order.from);
        }
        if self.flows.is_empty() {
            self.saturate();
            self.links.empty();
        }
        self.changed(first);
    }

    /// Counts the time since the last settling for the links that it found full.
    fn saturate(&mut self) {
        let passed = self.now - self.settled_at;
        self.settled_at = self.now;
        for link in self.links.full_links() {
            if let Some(saturated) = self.saturated.get_mut(link as usize) {
                *saturated += passed;
            }
        }
    }

    /// Something begins or ends to flow: rates will be worked out anew soon, and the first to end ends at `first`.
    fn changed(&mut self, first: Picos) {
        if !self.settling && !self.flows.is_empty() {
            self.settling = true;
            self.schedule(self.now + SETTLES_AFTER, event::SETTLE, 0);
        }
        self.plan_end(first);
    }

    fn plan_end(&mut self, first: Picos) {
        if first != self.next_end {
            self.next_end = first;
            if first != Picos::NEVER {
                self.ends += 1;
                self.schedule(first, event::END, 0);
            }
        }
    }

    /// Works rates out anew.
    pub(super) fn settle(&mut self) {
        self.settling = false;
        self.saturate();
        self.flows.iter_mut().for_each(|flow| flow.advance(self.now));
        self.links.settle(self.flows.iter_mut().flat_map(|flow| &mut flow.shares));
        let mut first = Picos::NEVER;
        for flow in &mut self.flows {
            flow.plan();
            first = first.min(flow.ends);
        }
        self.plan_end(first);
    }
}
