//! The workload language, in the manner of coNCePTuaL 1.5 with words for files: English sentences that say what tasks do.
//!
//! `lexer` makes words of text, `parser` a tree of words, `check` finds what names mean, and `run` performs the tree for one
//! task, an operation at a time. Source of the language: S. Pakin, The Design and Implementation of a Domain-Specific Language
//! for Network Performance Testing, IEEE Trans. Parallel Distrib. Syst. 18 (2007); of the words for files: figure 6 of the
//! MFNetSim paper.

mod backend;
mod check;
mod diagnostic;
mod evaluate;
mod functions;
mod lexer;
mod log;
mod parameters;
mod parser;
mod plan;
mod progression;
mod run;
mod source;
mod tasks;
mod topology;
mod tree;
mod words;

use self::evaluate::{Outcome, Values};
use self::plan::Plan;
use self::tree::{Action, StatementId, Tree};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use thalweg_foundation::{Error, Kind, Result};

pub use diagnostic::Diagnostic;
pub use log::Log;
pub use run::Performer;
pub use source::{Source, Span};

/// Most tasks that a program can have.
pub const MOST_TASKS: u32 = 1 << 24;
/// Plans that are kept at most, counted by what they hold.
const KEPT: usize = 1 << 21;

/// A program that is well formed.
#[derive(Clone, Debug)]
pub struct Program {
    source: Source,
    tree: Tree,
    files: Vec<String>,
    warnings: Vec<Diagnostic>,
    /// Whether random numbers decide about anything.
    random: bool,
}

/// What a parameter of a program is called, and what stands for it by default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Described {
    /// Its name in the program.
    pub name: String,
    /// What it means.
    pub description: String,
    /// Its options, with their dashes.
    pub options: Vec<String>,
}

impl Program {
    /// Reads a program.
    ///
    /// # Errors
    /// What is wrong with it, in the order of the text.
    pub fn read(source: Source) -> std::result::Result<Program, Vec<Diagnostic>> {
        if source.text.len() > 1 << 24 {
            let message = format!("a program of {} bytes", source.text.len());
            return Err(vec![Diagnostic::new(Span::default(), message, "accepted are up to 16 MiB")]);
        }
        let (mut tree, mut warnings) = parser::parse(&source).map_err(|found| vec![found])?;
        let check::Checked { files, timed, random } = check::check(&mut tree)?;
        warnings.extend(timed.into_iter().map(|span| {
            let message = "how often this loop repeats shows only when it runs";
            Diagnostic::new(span, message, "counted as one repetition without a run")
        }));
        Ok(Program { source, tree, files, warnings, random })
    }

    /// The same, with everything that is wrong in one error.
    ///
    /// # Errors
    /// `Invalid`.
    pub fn parse(name: &str, text: &str) -> Result<Program> {
        let source = Source { name: name.into(), text: text.into() };
        Program::read(source.clone()).map_err(|found| {
            let shown: Vec<_> = found.iter().map(|one| one.shown(&source, "workload program")).collect();
            Error { kind: Kind::Invalid, message: shown.join("\n\n") }
        })
    }

    /// Its text.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// What is not wrong but strange.
    pub fn warnings(&self) -> &[Diagnostic] {
        &self.warnings
    }

    /// The names of its files beside the application's own, which is number 0: the first of these is number 1.
    pub fn files(&self) -> &[String] {
        &self.files
    }

    /// Its parameters, in their order.
    pub fn parameters(&self) -> Vec<Described> {
        let described = |parameter: &tree::Parameter| Described {
            name: parameter.name.text.clone(),
            description: parameter.description.clone(),
            options: parameter.options.iter().map(|(option, _)| option.clone()).collect(),
        };
        self.tree.parameters.iter().map(described).collect()
    }

    /// The program for a number of tasks, with values for some of its parameters by their names or options.
    ///
    /// # Errors
    /// `Invalid` for no task or too many, and for parameters that it does not have or whose values are no numbers.
    pub fn bind(self: &Arc<Self>, tasks: u32, given: &[(String, String)], seed: u64) -> Result<Arc<Bound>> {
        if !(1..=MOST_TASKS).contains(&tasks) {
            let detail = format!("{tasks} tasks; accepted are 1 to {MOST_TASKS}");
            return Err(Error::new(Kind::Invalid, "workload program", detail));
        }
        let values = parameters::values(self, tasks, given)?;
        Ok(Arc::new(Bound {
            program: Arc::clone(self),
            tasks,
            values,
            seed,
            plans: Mutex::default(),
            log: Mutex::default(),
            laps: Mutex::default(),
        }))
    }
}

/// A program that can run: with its number of tasks and its parameters' values.
#[derive(Debug)]
pub struct Bound {
    program: Arc<Program>,
    tasks: u32,
    values: Vec<i64>,
    seed: u64,
    plans: Mutex<Plans>,
    log: Mutex<Log>,
    /// Repetitions that task 0 granted to each loop over a time, in the order in which they began.
    laps: Mutex<Vec<u64>>,
}

/// What was worked out for all tasks, by statement and the variables that it depends on.
#[derive(Debug, Default)]
struct Plans {
    kept: HashMap<(StatementId, Vec<i64>), Arc<Plan>>,
    size: usize,
}

impl Bound {
    /// What messages call the program.
    pub fn name(&self) -> &str {
        &self.program.source.name
    }

    /// How many tasks it has.
    pub fn tasks(&self) -> u32 {
        self.tasks
    }

    /// The values of its parameters, in their order.
    pub fn values(&self) -> Vec<(String, i64)> {
        let parameters = &self.program.tree.parameters;
        let value = |name: &tree::Name| self.values[name.slot as usize];
        parameters.iter().map(|parameter| (parameter.name.text.clone(), value(&parameter.name))).collect()
    }

    /// What a task does.
    pub fn task(self: &Arc<Self>, task: u32) -> Performer {
        Performer::new(Arc::clone(self), task, None)
    }

    /// What a task does when loops over a time repeat as often as `laps` says, in the order in which they begin; once where
    /// it says nothing.
    pub fn replayed(self: &Arc<Self>, task: u32, laps: Arc<[u64]>) -> Performer {
        Performer::new(Arc::clone(self), task, Some(laps))
    }

    /// How often loops over a time repeated so far, in the order in which they began.
    pub fn laps(&self) -> Vec<u64> {
        self.granted_so_far().clone()
    }

    fn granted_so_far(&self) -> MutexGuard<'_, Vec<u64>> {
        self.laps.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn granted(&self, number: usize) -> u64 {
        self.granted_so_far().get(number).copied().unwrap_or(0)
    }

    /// Grants a loop so many repetitions.
    fn grant(&self, number: usize, laps: u64) {
        let mut granted = self.granted_so_far();
        let known = granted.len().max(number + 1);
        granted.resize(known, 0);
        granted[number] = laps;
    }

    /// A loop begins on task 0; those behind it have not.
    fn forget_loops_from(&self, number: usize) {
        self.granted_so_far().truncate(number);
    }

    /// What tasks logged and put out so far.
    pub fn logged(&self) -> Log {
        self.log().clone()
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Who does what with whom in an action: remembered, for every task asks for it.
    fn plan(&self, id: StatementId, action: &Action, values: &mut Values) -> Outcome<Arc<Plan>> {
        if action.random {
            return Plan::of(action, values).map(Arc::new);
        }
        let reads = action.reads.iter().map(|slot| values.variables[*slot as usize]).collect();
        let key = (id, reads);
        let mut plans = self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = plans.kept.get(&key) {
            return Ok(Arc::clone(known));
        }
        let plan = Arc::new(Plan::of(action, values)?);
        if plans.size > KEPT {
            *plans = Plans::default();
        }
        plans.size += plan.size();
        plans.kept.insert(key, Arc::clone(&plan));
        Ok(plan)
    }
}
