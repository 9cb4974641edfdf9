//! Short messages: they take the time of their bytes at an equal share, and do not change what others get.

use super::{event, Flows};
use crate::engine::Picos;

impl<P: Copy> Flows<P> {
    /// A short message leaves its interface, and its arrival is known.
    pub(super) fn pass(&mut self, number: u32) {
        let order = self.messages[number].order;
        let mut way = std::mem::take(&mut self.way);
        self.find(&order, 0, &mut way);
        let rate = self.free(&way);
        let (size, last) = self.last(order.bytes);
        let left = (order.bytes - u64::from(size)) as f64;
        let leaves = self.now + Picos((left / rate).ceil() as u64) + last;
        let arrives = leaves + self.tail(&way, order.bytes) + self.waits(&way);
        self.schedule(leaves, event::LEAVE, u64::from(order.from));
        self.arrive(number, arrives, way.len() as u64 - 1);
        self.count(&way, order.application, order.bytes);
        self.way = way;
    }

    /// How long a short message waits before full links: as long as a full buffer takes to drain.
    fn waits(&self, links: &[u32]) -> Picos {
        let full = links[1..].iter().filter(|link| self.links.full(**link));
        full.fold(Picos::ZERO, |time, link| {
            let class = &self.plan.classes[usize::from(self.ports[*link as usize].class)];
            time + Picos(class.service.0 * u64::from(class.capacity))
        })
    }
}
