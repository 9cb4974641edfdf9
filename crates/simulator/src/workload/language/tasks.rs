//! Which tasks take part.

use super::diagnostic::Diagnostic;
use super::evaluate::{Outcome, Values};
use super::tree::{Expression, Name, Tasks};

impl Values {
    /// The task of an expression; none for −1, which is how functions say that there is no such task.
    pub fn task(&self, expression: &Expression) -> Outcome<Option<u32>> {
        let number = self.integer(expression)?;
        match u32::try_from(number) {
            Ok(task) if task < self.tasks() => Ok(Some(task)),
            _ if number == -1 => Ok(None),
            _ => Err(Diagnostic::new(
                expression.span,
                format!("there is no task {number}"),
                format!("accepted are 0 to {}, and -1 for no task", self.tasks() - 1),
            )),
        }
    }

    /// Whether `task` is one of `tasks`; their variable then has its number.
    pub fn takes_part(&mut self, tasks: &Tasks, task: u32) -> Outcome<bool> {
        match tasks {
            Tasks::All(name) => {
                name.iter().for_each(|name| self.bind(name, task));
                Ok(true)
            }
            // Groups were put in their places when the program was checked.
            Tasks::Others | Tasks::Group(_) => Ok(false),
            Tasks::One(expression) => Ok(self.task(expression)? == Some(task)),
            Tasks::Such(name, condition) => {
                self.bind(name, task);
                self.holds(condition)
            }
        }
    }

    /// All of `tasks`; `all other tasks` are those that are not `actor`.
    pub fn members(&mut self, tasks: &Tasks, actor: Option<u32>) -> Outcome<Vec<u32>> {
        let all = 0..self.tasks();
        match tasks {
            Tasks::All(_) => Ok(all.collect()),
            Tasks::Others => Ok(all.filter(|task| Some(*task) != actor).collect()),
            Tasks::One(expression) => Ok(self.task(expression)?.into_iter().collect()),
            Tasks::Group(_) => Ok(Vec::new()),
            Tasks::Such(name, condition) => {
                let mut members = Vec::new();
                for task in all {
                    self.bind(name, task);
                    if self.holds(condition)? {
                        members.push(task);
                    }
                }
                Ok(members)
            }
        }
    }

    /// Gives the variable of `tasks`, if it has one, the number of a member.
    pub fn bind_member(&mut self, tasks: &Tasks, task: u32) {
        if let Tasks::All(Some(name)) | Tasks::Such(name, _) = tasks {
            self.bind(name, task);
        }
    }

    fn bind(&mut self, name: &Name, task: u32) {
        self.variables[name.slot as usize] = i64::from(task);
    }
}
