//! What a program means by its names, and what it says that cannot be.

use super::diagnostic::{meant, Diagnostic};
use super::source::Span;
use super::tree::{
    Action, Bytes, Condition, Counter, Expression, File, Kind, Messages, Name, Part, Set, Slot, Statement,
    StatementId, Tasks, Tree, Value, Verb,
};

/// How many tasks there are: known to every program.
pub const NUM_TASKS: &str = "num_tasks";

/// What checking found out about a program.
pub struct Checked {
    /// The names of the files beside the application's own.
    pub files: Vec<String>,
    /// Loops over a time.
    pub timed: Vec<Span>,
    /// Whether random numbers decide about anything.
    pub random: bool,
}

/// Gives every name its variable, and every file its number.
///
/// # Errors
/// All that is wrong, in the order of the text.
pub fn check(tree: &mut Tree) -> Result<Checked, Vec<Diagnostic>> {
    let mut checker = Checker { scope: vec![(NUM_TASKS.into(), 0)], slots: 1, ..Checker::default() };
    checker.parameters(tree);
    checker.constants = checker.slots;
    for id in tree.top.clone() {
        checker.statement(tree, id);
    }
    tree.slots = checker.slots;
    checker.findings.sort_by_key(|finding| finding.span.start);
    if checker.findings.is_empty() {
        Ok(Checked { files: checker.files, timed: checker.timed, random: checker.ever_random })
    } else {
        Err(checker.findings)
    }
}

#[derive(Default)]
struct Checker {
    /// Names in force, the innermost last.
    scope: Vec<(String, Slot)>,
    /// Groups in force, the innermost last.
    groups: Vec<Group>,
    slots: u32,
    /// Variables below this never change.
    constants: u32,
    findings: Vec<Diagnostic>,
    files: Vec<String>,
    timed: Vec<Span>,
    /// Whether what tasks count may be used here.
    counters: bool,
    /// Whether only one task at a time works out what stands here.
    alone: bool,
    /// Variables read, and whether random numbers are drawn, since somebody began to listen.
    reads: Vec<Slot>,
    random: bool,
    ever_random: bool,
}

/// Tasks that have a name, and the names that were in force where they got it.
struct Group {
    name: String,
    tasks: Tasks,
    scope: Vec<(String, Slot)>,
}

impl Checker {
    fn parameters(&mut self, tree: &mut Tree) {
        let mut options: Vec<String> = Vec::new();
        for parameter in &mut tree.parameters {
            self.expression(&mut parameter.default);
            for (option, span) in &parameter.options {
                if options.contains(option) {
                    let message = format!("the option {option:?} is given to two parameters");
                    self.findings.push(Diagnostic::new(*span, message, "expected another one"));
                }
                options.push(option.clone());
            }
            let name = &mut parameter.name;
            if self.scope.iter().any(|(known, _)| *known == name.text) {
                let message = format!("`{}` is declared twice", name.text);
                self.findings.push(Diagnostic::new(name.span, message, "expected another name"));
            }
            self.declare(name);
        }
    }

    fn declare(&mut self, name: &mut Name) {
        if Counter::NAMES.iter().any(|(known, _)| *known == name.text)
            || name.text == NUM_TASKS && self.slots > 1
        {
            let message = format!("`{}` is a variable of the language", name.text);
            self.findings.push(Diagnostic::new(name.span, message, "expected another name"));
        }
        name.slot = self.slots;
        self.slots += 1;
        self.scope.push((name.text.clone(), name.slot));
    }

    /// What `body` declares holds within it only.
    fn scoped(&mut self, body: impl FnOnce(&mut Self)) {
        let (depth, groups) = (self.scope.len(), self.groups.len());
        body(self);
        self.scope.truncate(depth);
        self.groups.truncate(groups);
    }

    fn statement(&mut self, tree: &mut Tree, id: StatementId) {
        let mut statement =
            std::mem::replace(&mut tree.statements[id as usize], Statement::Block(Vec::new()));
        match &mut statement {
            Statement::Block(inner) => inner.iter().for_each(|inner| self.statement(tree, *inner)),
            Statement::Repeat { count, warmup, body, .. } => {
                self.expression(count);
                warmup.iter_mut().for_each(|warmup| self.expression(warmup));
                self.statement(tree, *body);
            }
            Statement::Timed { time, warmup, body, .. } => {
                self.timed.push(time.span);
                self.expression(&mut time.count);
                warmup.iter_mut().for_each(|warmup| self.expression(&mut warmup.count));
                self.statement(tree, *body);
            }
            Statement::Each { variable, sets, body } => {
                self.sets(sets);
                self.scoped(|checker| {
                    checker.declare(variable);
                    checker.statement(tree, *body);
                });
            }
            Statement::Let { bindings, body } => self.scoped(|checker| {
                for (name, value) in bindings {
                    match value {
                        Value::Expression(expression) => checker.expression(expression),
                        Value::RandomTask { from, to, without, .. } => {
                            checker.ever_random = true;
                            for part in [from, to, without].into_iter().flatten() {
                                checker.expression(part);
                            }
                        }
                        Value::Group(tasks) => {
                            checker.group(name, tasks);
                            continue;
                        }
                    }
                    checker.declare(name);
                }
                checker.statement(tree, *body);
            }),
            Statement::If { condition, then, otherwise } => {
                self.condition(condition);
                self.statement(tree, *then);
                otherwise.iter().for_each(|otherwise| self.statement(tree, *otherwise));
            }
            Statement::Assert { condition, .. } => self.condition(condition),
            Statement::Action(action) => self.action(action),
        }
        tree.statements[id as usize] = statement;
    }

    fn action(&mut self, action: &mut Action) {
        self.reads.clear();
        self.random = false;
        let first = self.slots;
        self.scoped(|checker| {
            if matches!(action.tasks, Tasks::Others) {
                checker.nobody_to_differ_from(action.span);
            }
            // `task f(n) receives … from tasks n such that …`: who receives follows from who sends.
            match (&mut action.tasks, &mut action.verb) {
                (Tasks::One(task), Verb::Receive { messages, from, .. }) => {
                    checker.tasks(from);
                    checker.expression(task);
                    checker.messages(messages);
                }
                (tasks, verb) => {
                    checker.tasks(tasks);
                    checker.verb(verb);
                }
            }
        });
        // What the action binds itself, and what never changes, decides nothing anew.
        self.reads.retain(|slot| (self.constants..first).contains(slot));
        self.reads.sort_unstable();
        self.reads.dedup();
        action.reads = std::mem::take(&mut self.reads);
        action.random = self.random;
    }

    fn nobody_to_differ_from(&mut self, span: Span) {
        self.findings.push(Diagnostic::new(
            span,
            "`all other tasks` act, but nobody was named before",
            "expected `all tasks`, or `tasks t such that …`",
        ));
    }

    fn tasks(&mut self, tasks: &mut Tasks) {
        match tasks {
            Tasks::All(Some(name)) => self.declare(name),
            Tasks::All(None) | Tasks::Others => {}
            Tasks::One(task) => self.expression(task),
            Tasks::Group(name) => {
                if let Some(called) = self.called(name) {
                    *tasks = called;
                }
            }
            Tasks::Such(name, condition) => {
                self.declare(name);
                self.condition(condition);
            }
        }
    }

    /// A name for tasks.
    fn group(&mut self, name: &Name, tasks: &mut Tasks) {
        if matches!(tasks, Tasks::Others) {
            let message = format!("`{}` are other tasks than nobody", name.text);
            self.findings.push(Diagnostic::new(
                name.span,
                message,
                "expected `all tasks`, or `tasks t such that …`",
            ));
        }
        let (tasks_there, scope) = match self.group_of(tasks) {
            // What another group's tasks are is looked up once, however many take them from each other.
            Some(other) => (other.tasks.clone(), other.scope.clone()),
            None => (tasks.clone(), self.scope.clone()),
        };
        let group = Group { name: name.text.clone(), tasks: tasks_there, scope };
        self.random = false;
        self.scoped(|checker| checker.tasks(tasks));
        if self.random {
            self.findings.push(Diagnostic::new(
                name.span,
                format!("random numbers decide who is in `{}`", name.text),
                "expected tasks that stay the same; give the random number a name with `let` before",
            ));
        }
        self.groups.push(group);
    }

    /// The group that tasks are, if it is there.
    fn group_of(&self, tasks: &Tasks) -> Option<&Group> {
        let Tasks::Group(name) = tasks else { return None };
        self.groups.iter().rev().find(|group| group.name == name.text)
    }

    /// The tasks of a group, with a variable of their own, as they would be where the group got its name.
    fn called(&mut self, name: &Name) -> Option<Tasks> {
        let Some(group) = self.groups.iter().rev().find(|group| group.name == name.text) else {
            let names: Vec<_> = self.groups.iter().map(|group| group.name.as_str()).collect();
            let help = match meant(&name.text, names.iter().copied()) {
                Some(known) => format!("did you mean `{known}`?"),
                None if names.is_empty() => {
                    format!("give tasks a name: let {} be all tasks t while …", name.text)
                }
                None => format!("groups here are {}", names.join(", ")),
            };
            let message = format!("there is no group `{}`", name.text);
            self.findings.push(Diagnostic::new(name.span, message, "not declared").helped(Some(help)));
            return None;
        };
        let mut tasks = group.tasks.clone();
        let outside = std::mem::replace(&mut self.scope, group.scope.clone());
        let (known, findings) = (self.scope.len(), self.findings.len());
        self.tasks(&mut tasks);
        // What is wrong with it was told where it got its name.
        self.findings.truncate(findings);
        let own = self.scope.split_off(known);
        self.scope = outside;
        self.scope.extend(own);
        Some(tasks)
    }

    /// What one task works out for itself.
    fn alone(&mut self, body: impl FnOnce(&mut Self)) {
        self.alone = true;
        body(self);
        self.alone = false;
    }

    fn verb(&mut self, verb: &mut Verb) {
        match verb {
            Verb::Send { messages, to, .. } | Verb::Multicast { messages, to } => {
                self.messages(messages);
                self.tasks(to);
            }
            Verb::Receive { messages, from, .. } => {
                self.messages(messages);
                self.tasks(from);
            }
            Verb::Reduce { messages, to } => {
                self.messages(messages);
                to.iter_mut().for_each(|to| self.tasks(to));
            }
            Verb::Delay(time) => self.alone(|checker| checker.expression(&mut time.count)),
            Verb::Log(logged) => {
                self.counters = true;
                self.alone(|checker| {
                    logged.iter_mut().for_each(|logged| checker.expression(&mut logged.value));
                });
                self.counters = false;
            }
            Verb::Output(parts) => {
                self.counters = true;
                self.alone(|checker| checker.parts(parts));
                self.counters = false;
            }
            Verb::Backend(parts, _) => self.parts(parts),
            Verb::Open(file) | Verb::Close(file) | Verb::Sync(file) => self.file(file),
            Verb::Read(bytes, file) | Verb::Write(bytes, file) => self.alone(|checker| {
                checker.bytes(bytes);
                checker.file(file);
            }),
            Verb::Await
            | Verb::Synchronize
            | Verb::Touch
            | Verb::Aggregate
            | Verb::Reset
            | Verb::Store
            | Verb::Restore
            | Verb::Assign => {}
        }
    }

    fn parts(&mut self, parts: &mut [Part]) {
        for part in parts {
            if let Part::Value(value) = part {
                self.expression(value);
            }
        }
    }

    fn messages(&mut self, messages: &mut Messages) {
        messages.count.iter_mut().for_each(|count| self.expression(count));
        self.bytes(&mut messages.size);
    }

    fn bytes(&mut self, bytes: &mut Bytes) {
        bytes.count.iter_mut().for_each(|count| self.expression(count));
    }

    fn file(&mut self, file: &mut File) {
        file.at.iter_mut().for_each(|at| self.bytes(at));
        let Some(name) = &file.name else { return };
        let place = self.files.iter().position(|known| known == name).unwrap_or_else(|| {
            self.files.push(name.clone());
            self.files.len() - 1
        });
        file.number = place as u32 + 1;
    }

    fn sets(&mut self, sets: &mut [Set]) {
        for set in sets {
            set.items.iter_mut().for_each(|item| self.expression(item));
            set.last.iter_mut().for_each(|last| self.expression(last));
        }
    }

    fn condition(&mut self, condition: &mut Condition) {
        match condition {
            Condition::Any(parts) | Condition::All(parts) => {
                parts.iter_mut().for_each(|part| self.condition(part));
            }
            Condition::Compare(_, left, right) => {
                self.expression(left);
                self.expression(right);
            }
            Condition::Even(value) | Condition::Odd(value) => self.expression(value),
            Condition::In { value, sets, .. } => {
                self.expression(value);
                self.sets(sets);
            }
            Condition::Between { value, from, to, .. } => {
                [value, from, to].into_iter().for_each(|part| self.expression(part));
            }
        }
    }

    fn expression(&mut self, expression: &mut Expression) {
        match &mut expression.kind {
            Kind::Number(_) | Kind::Counter(_) => {}
            Kind::MyTask => {
                if !self.alone {
                    self.findings.push(Diagnostic::new(
                        expression.span,
                        "`my task` is another one on every task",
                        "expected in what a task does alone (`computes`, `sleeps`, `reads`, `writes`, `logs`, \
                         `outputs`); elsewhere name the tasks: `all tasks t`",
                    ));
                }
            }
            Kind::Variable(name) => {
                if let Some(counter) = self.variable(name) {
                    expression.kind = Kind::Counter(counter);
                }
            }
            Kind::Unary(_, of) => self.expression(of),
            Kind::Chain(first, rest) => {
                self.expression(first);
                rest.iter_mut().for_each(|(_, operand)| self.expression(operand));
            }
            Kind::Choice(condition, yes, no) => {
                self.condition(condition);
                self.expression(yes);
                self.expression(no);
            }
            Kind::Call(function, arguments) => {
                self.random |= function.is_random();
                self.ever_random |= function.is_random();
                arguments.iter_mut().for_each(|argument| self.expression(argument));
            }
            Kind::Mesh(_, dimensions, task, rest) => {
                dimensions.iter_mut().for_each(|(extent, _)| self.expression(extent));
                self.expression(task);
                rest.iter_mut().for_each(|part| self.expression(part));
            }
        }
    }

    /// Finds what a name means; what tasks count is returned instead.
    fn variable(&mut self, name: &mut Name) -> Option<Counter> {
        if let Some((_, slot)) = self.scope.iter().rev().find(|(known, _)| *known == name.text) {
            name.slot = *slot;
            self.reads.push(*slot);
            return None;
        }
        let counter =
            Counter::NAMES.iter().find(|(known, _)| *known == name.text).map(|(_, counter)| *counter);
        if counter.is_some() {
            if !self.counters {
                self.findings.push(Diagnostic::new(
                    name.span,
                    format!("`{}` is known only while the program runs", name.text),
                    "expected in `logs` and `outputs` alone",
                ));
            }
            return counter;
        }
        let names = self.scope.iter().map(|(known, _)| known.as_str());
        let names = names.chain(Counter::NAMES.iter().map(|(known, _)| *known).filter(|_| self.counters));
        let help = match meant(&name.text, names.clone()) {
            _ if self.groups.iter().any(|group| group.name == name.text) => {
                format!("`{0}` is a group: `task group {0}`", name.text)
            }
            Some(known) => format!("did you mean `{known}`?"),
            None => format!("names here are {}", names.collect::<Vec<_>>().join(", ")),
        };
        let message = format!("there is no variable `{}`", name.text);
        self.findings.push(Diagnostic::new(name.span, message, "not declared").helped(Some(help)));
        None
    }
}
