//! Processes side by side: each goes ahead as far as nothing can reach it from the others, then mail is exchanged.
//!
//! Conservative and synchronous (R. Fujimoto, Parallel discrete event simulation, CACM 33 (1990); B. Lubachevsky, Efficient
//! distributed event-driven simulations of multiple-loop networks, CACM 32 (1989)): from the earliest event of all, every process
//! works until the look-ahead has passed. What a process does depends on its events and on the order of the mail from each other
//! process, never on the number of threads.

use super::barrier::Barrier;
use super::Picos;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use thalweg_foundation::{Error, Kind, Result};

/// Something with events of its own that sends mail to others like it, for later than the look-ahead.
pub trait Process: Send {
    /// What it sends.
    type Mail: Send;

    /// When its next event happens; `None` when there is none.
    fn next_at(&mut self) -> Option<Picos>;

    /// Works off its events before `end`, or about `most` of them; how many there were.
    ///
    /// # Errors
    /// What ends the whole run.
    fn work(&mut self, end: Picos, most: u64) -> Result<u64>;

    /// What it sent, with the number of the process.
    fn outbox(&mut self) -> &mut Vec<(u8, Self::Mail)>;

    /// Takes the mail of a process.
    fn receive(&mut self, from: u8, mail: Self::Mail);

    /// When mail can make something happen; `None` when it cannot.
    fn matters_at(mail: &Self::Mail) -> Option<Picos>;

    /// How much it has done, in whatever its user counts.
    fn progress(&self) -> u64;
}

/// After so many events the caller is asked whether the run goes on: a second or so.
const ASKS: u64 = 1 << 22;

/// Mail under way between two threads: from, to, what.
type Post<M> = Mutex<Vec<(u8, u8, M)>>;

/// What threads share; what there is two of belongs to even and to odd rounds.
struct Shared<M> {
    threads: usize,
    ahead: Picos,
    barrier: Barrier,
    /// For each thread, the earliest that can happen by what it knows.
    earliest: [Vec<AtomicU64>; 2],
    stops: [AtomicBool; 2],
    post: [Vec<Post<M>>; 2],
    progress: Vec<AtomicU64>,
    /// Errors, with the process that they happened in.
    errors: Mutex<Vec<(usize, Error)>>,
}

/// Runs processes until nothing more happens, on at most `threads` threads. `ahead` is the least time between mail's sending and its
/// taking effect. `goes_on` is asked now and then, with the simulated time and the sum of the processes' progress.
///
/// # Errors
/// The error of a process (of several at the same time that of the first one); `Interrupted` when `goes_on` said no; `Invalid` when
/// [`Picos::LATEST`] is reached.
///
/// # Panics
/// When a process does.
pub fn run<P: Process>(
    processes: &mut [P],
    threads: usize,
    ahead: Picos,
    mut goes_on: impl FnMut(Picos, u64) -> bool,
) -> Result<()> {
    let threads = threads.clamp(1, processes.len().max(1));
    let zeros = || (0..threads).map(|_| AtomicU64::new(0)).collect();
    let post = || (0..threads * threads).map(|_| Mutex::default()).collect();
    let shared = &Shared {
        threads,
        ahead,
        barrier: Barrier::new(threads),
        earliest: [zeros(), zeros()],
        stops: Default::default(),
        post: [post(), post()],
        progress: zeros(),
        errors: Mutex::default(),
    };
    let mut shares: Vec<Vec<(usize, &mut P)>> = (0..threads).map(|_| Vec::new()).collect();
    for (number, process) in processes.iter_mut().enumerate() {
        shares[number % threads].push((number, process));
    }
    std::thread::scope(|scope| {
        let mut shares = shares.into_iter().enumerate();
        let first = shares.next();
        for (thread, share) in shares {
            scope.spawn(move || Worker::new(shared, thread, share).run(|_, _| true));
        }
        if let Some((thread, share)) = first {
            Worker::new(shared, thread, share).run(&mut goes_on);
        }
    });
    let errors = std::mem::take(&mut *locked(&shared.errors));
    errors.into_iter().min_by_key(|(process, _)| *process).map_or(Ok(()), |(_, error)| Err(error))
}

impl<M> Shared<M> {
    fn fail(&self, process: usize, parity: usize, error: Error) {
        locked(&self.errors).push((process, error));
        self.stops[parity].store(true, Ordering::Relaxed);
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Whoever panicked while he held it ends the whole run anyway.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One thread with its processes.
struct Worker<'a, P: Process> {
    shared: &'a Shared<P::Mail>,
    thread: usize,
    processes: Vec<(usize, &'a mut P)>,
    /// Mail to each thread that is not posted yet, and an empty list to swap.
    leaving: Vec<Vec<(u8, u8, P::Mail)>>,
    arriving: Vec<(u8, u8, P::Mail)>,
}

impl<'a, P: Process> Worker<'a, P> {
    fn new(shared: &'a Shared<P::Mail>, thread: usize, processes: Vec<(usize, &'a mut P)>) -> Worker<'a, P> {
        let leaving = (0..shared.threads).map(|_| Vec::new()).collect();
        Worker { shared, thread, processes, leaving, arriving: Vec::new() }
    }

    fn run(mut self, mut goes_on: impl FnMut(Picos, u64) -> bool) {
        let shared = self.shared;
        let _alarm = shared.barrier.alarm();
        let (mut events, mut asked) = (0, 0);
        let mut earliest = self.post(0);
        for round in 0.. {
            let parity = round % 2;
            shared.earliest[parity][self.thread].store(earliest.0, Ordering::Relaxed);
            shared.barrier.wait();
            let begin = shared.earliest[parity].iter().map(|time| time.load(Ordering::Relaxed)).min();
            let begin = begin.map_or(Picos::NEVER, Picos);
            if begin == Picos::NEVER || shared.stops[parity].load(Ordering::Relaxed) {
                return;
            }
            self.collect(parity);
            if begin >= Picos::LATEST {
                if self.thread == 0 {
                    let detail = format!(
                        "simulated time has come to its end at {:.0} days, and something happens {:.2} days after the beginning; look \
                         for tiny bandwidths, long gaps and long computing in the scenario",
                        Picos::LATEST.days(),
                        begin.days()
                    );
                    shared.fail(
                        usize::MAX,
                        1 - parity,
                        Error::new(Kind::Invalid, "simulation: time", detail),
                    );
                }
                return;
            }
            let end = (begin + shared.ahead).min(Picos::LATEST);
            for (number, process) in &mut self.processes {
                match process.work(end, ASKS) {
                    Ok(count) => events += count,
                    Err(error) => shared.fail(*number, 1 - parity, error),
                }
            }
            let done = self.processes.iter().map(|(_, process)| process.progress()).sum();
            shared.progress[self.thread].store(done, Ordering::Relaxed);
            if (events - asked) * shared.threads as u64 >= ASKS {
                asked = events;
                let all = shared.progress.iter().map(|done| done.load(Ordering::Relaxed)).sum();
                if !goes_on(begin, all) {
                    let stopped = Error::new(Kind::Interrupted, "simulation", format!("stopped at {begin}"));
                    shared.fail(usize::MAX, 1 - parity, stopped);
                }
            }
            earliest = self.post(1 - parity);
        }
    }

    /// Takes what was posted in the round before.
    fn collect(&mut self, parity: usize) {
        let Worker { shared, processes, arriving, thread, .. } = self;
        for from in 0..shared.threads {
            std::mem::swap(&mut *locked(&shared.post[parity][from * shared.threads + *thread]), arriving);
            for (from, to, mail) in arriving.drain(..) {
                processes[usize::from(to) / shared.threads].1.receive(from, mail);
            }
        }
    }

    /// Posts what its processes sent; the earliest that can happen by that and by their own events.
    fn post(&mut self, parity: usize) -> Picos {
        let Worker { shared, processes, leaving, thread, .. } = self;
        let mut earliest = Picos::NEVER;
        for (number, process) in processes {
            for (to, mail) in process.outbox().drain(..) {
                earliest = earliest.min(P::matters_at(&mail).unwrap_or(Picos::NEVER));
                leaving[usize::from(to) % shared.threads].push((*number as u8, to, mail));
            }
            earliest = earliest.min(process.next_at().unwrap_or(Picos::NEVER));
        }
        for (to, leaving) in leaving.iter_mut().enumerate().filter(|(_, leaving)| !leaving.is_empty()) {
            std::mem::swap(&mut *locked(&shared.post[parity][*thread * shared.threads + to]), leaving);
        }
        earliest
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Calendar, Event};
    use super::*;

    /// Passes numbers round a ring, and remembers what it saw when.
    struct Node {
        number: u8,
        count: u8,
        calendar: Calendar,
        seen: Vec<Event>,
        outbox: Vec<(u8, Event)>,
    }

    const AHEAD: Picos = Picos(100);

    impl Process for Node {
        type Mail = Event;

        fn next_at(&mut self) -> Option<Picos> {
            self.calendar.next_at()
        }

        fn work(&mut self, end: Picos, most: u64) -> Result<u64> {
            let mut count = 0;
            while count < most && self.calendar.next_at().is_some_and(|at| at < end) {
                let Some(event) = self.calendar.pop() else { break };
                self.seen.push(event);
                count += 1;
                if event.what == 13 {
                    return Err(Error::new(Kind::Invalid, "node", format!("{} met 13", self.number)));
                }
                if event.what > 0 {
                    let at = event.at + AHEAD + Picos(event.what % 7);
                    let to = (self.number + 1 + (event.what % 3) as u8) % self.count;
                    self.outbox.push((to, Event { at, what: event.what - 1 }));
                }
            }
            Ok(count)
        }

        fn outbox(&mut self) -> &mut Vec<(u8, Event)> {
            &mut self.outbox
        }

        fn receive(&mut self, _: u8, mail: Event) {
            self.calendar.push(mail);
        }

        fn matters_at(mail: &Event) -> Option<Picos> {
            Some(mail.at)
        }

        fn progress(&self) -> u64 {
            self.seen.len() as u64
        }
    }

    fn nodes(count: u8, first: u64) -> Vec<Node> {
        let nodes = (0..count).map(|number| Node {
            number,
            count,
            calendar: Calendar::new(),
            seen: Vec::new(),
            outbox: Vec::new(),
        });
        let mut nodes: Vec<_> = nodes.collect();
        for (node, at) in nodes.iter_mut().zip(1..) {
            node.calendar.push(Event { at: Picos(at), what: first });
        }
        nodes
    }

    #[test]
    fn any_number_of_threads_sees_the_same() {
        let seen = |threads| {
            let mut nodes = nodes(7, 12);
            run(&mut nodes, threads, AHEAD, |_, _| true).unwrap();
            nodes.into_iter().map(|node| node.seen).collect::<Vec<_>>()
        };
        let one = seen(1);
        assert_eq!(one.iter().map(Vec::len).sum::<usize>(), 7 * 13);
        assert!(one.iter().all(|seen| seen.is_sorted_by_key(|event| event.at)));
        for threads in [2, 3, 7, 20] {
            assert_eq!(seen(threads), one);
        }
    }

    #[test]
    fn the_error_of_the_first_process_ends_the_run() {
        for threads in [1, 2, 5] {
            let error = run(&mut nodes(5, 13), threads, AHEAD, |_, _| true).unwrap_err();
            assert_eq!(error.message, "node: 0 met 13");
        }
    }

    #[test]
    #[should_panic]
    fn a_process_that_panics_does_not_leave_the_others_waiting() {
        struct Broken(u64);
        impl Process for Broken {
            type Mail = ();
            fn next_at(&mut self) -> Option<Picos> {
                Some(Picos(self.0))
            }
            fn work(&mut self, _: Picos, _: u64) -> Result<u64> {
                self.0 += 1;
                assert!(self.0 < 100);
                Ok(1)
            }
            fn outbox(&mut self) -> &mut Vec<(u8, ())> {
                Box::leak(Box::default())
            }
            fn receive(&mut self, _: u8, (): ()) {}
            fn matters_at((): &()) -> Option<Picos> {
                None
            }
            fn progress(&self) -> u64 {
                0
            }
        }
        let _ = run(&mut [Broken(0), Broken(50)], 2, Picos(1), |_, _| true);
    }
}
