//! Statements that control others: sequences, loops, bindings, conditions, assertions.

use super::{Parsed, Parser};
use crate::workload::language::diagnostic::Diagnostic;
use crate::workload::language::lexer::Token;
use crate::workload::language::tree::{Expression, Set, Statement, StatementId, Time, Value};
use crate::workload::language::words::TIMES;

impl Parser {
    /// Declarations, then statements; a full stop after each is welcome.
    pub(super) fn program(&mut self) -> Parsed<()> {
        while self.declaration()? {
            self.symbol(".");
        }
        while *self.token() != Token::End {
            if self.sees("require")
                || matches!(self.ahead(1), Token::Reserved("is")) && matches!(self.token(), Token::Name(_))
            {
                return Err(Diagnostic::new(
                    self.span(),
                    "a declaration behind a statement",
                    "declarations stand before the first statement",
                ));
            }
            let statements = self.sequence()?;
            self.tree.top.extend(statements);
            if !self.symbol(".") && *self.token() != Token::End && !self.begins_statement() {
                self.expects("the end of the program");
                return Err(self.unexpected());
            }
        }
        Ok(())
    }

    /// Whether the word at hand begins a statement; full stops may be left out.
    fn begins_statement(&self) -> bool {
        ["for", "let", "if", "assert", "all", "task"].iter().any(|word| self.sees(word))
            || self.sees_symbol("{")
    }

    /// Statements with `then` between them.
    fn sequence(&mut self) -> Parsed<Vec<StatementId>> {
        let mut statements = vec![self.statement()?];
        while self.word("then") {
            statements.push(self.statement()?);
        }
        Ok(statements)
    }

    fn statement(&mut self) -> Parsed<StatementId> {
        self.deeper(Self::shallow_statement)
    }

    fn shallow_statement(&mut self) -> Parsed<StatementId> {
        let statement = if self.word("for") {
            self.loops()?
        } else if self.word("let") {
            self.binding()?
        } else if self.word("if") {
            let condition = self.condition()?;
            self.must("then")?;
            let then = self.statement()?;
            let otherwise = if self.word("otherwise") { Some(self.statement()?) } else { None };
            Statement::If { condition, then, otherwise }
        } else if self.symbol("{") {
            let opened = self.before();
            let statements = if self.sees_symbol("}") { Vec::new() } else { self.sequence()? };
            self.must_symbol("}").map_err(|found| Diagnostic { opened: Some(opened), ..found })?;
            Statement::Block(statements)
        } else if self.words(&["assert", "that"])? {
            let (claim, span) = self.text("what is asserted")?;
            self.must("with")?;
            Statement::Assert { claim, condition: self.condition()?, span }
        } else {
            Statement::Action(self.action()?)
        };
        Ok(self.push(statement))
    }

    fn loops(&mut self) -> Parsed<Statement> {
        if self.word("each") {
            let variable = self.name("a variable's name")?;
            self.must("in")?;
            let sets = self.sets()?;
            let body = self.statement()?;
            return Ok(Statement::Each { variable, sets, body });
        }
        let count = self.expression()?;
        if let Some(time) = self.maybe_time(&count) {
            let warmup = if self.word("plus") {
                let count = self.expression()?;
                self.must("warmup")?;
                Some(self.time(count)?)
            } else {
                None
            };
            let synchronized = self.words(&["and", "a", "synchronization"])?;
            let body = self.statement()?;
            return Ok(Statement::Timed { time, warmup, synchronized, body });
        }
        self.must("repetitions")?;
        let warmup = if self.word("plus") {
            let warmup = self.expression()?;
            self.must("warmup")?;
            self.must("repetitions")?;
            Some(warmup)
        } else {
            None
        };
        let synchronized = self.words(&["and", "a", "synchronization"])?;
        let body = self.statement()?;
        Ok(Statement::Repeat { count, warmup, synchronized, body })
    }

    /// So many of the unit of time that is at hand.
    pub(super) fn time(&mut self, count: Expression) -> Parsed<Time> {
        self.maybe_time(&count).ok_or_else(|| self.unexpected())
    }

    /// The same, if a unit of time is at hand.
    fn maybe_time(&mut self, count: &Expression) -> Option<Time> {
        let place = self.one_of(TIMES.iter().map(|(unit, _)| *unit))?;
        let span = count.span.to(self.before());
        Some(Time { count: count.clone(), unit: TIMES[place].1, span })
    }

    /// `{1, 2, 3}, {4, 8, ..., 64}`.
    pub(super) fn sets(&mut self) -> Parsed<Vec<Set>> {
        let mut sets = vec![self.set()?];
        while self.sees_symbol(",") && matches!(self.ahead(1), Token::Symbol("{")) {
            self.advance();
            sets.push(self.set()?);
        }
        Ok(sets)
    }

    fn set(&mut self) -> Parsed<Set> {
        let start = self.span();
        self.must_symbol("{")?;
        let mut items = vec![self.expression()?];
        let mut last = None;
        while self.symbol(",") {
            if self.symbol("...") {
                self.must_symbol(",")?;
                last = Some(self.expression()?);
                break;
            }
            items.push(self.expression()?);
        }
        self.must_symbol("}")?;
        Ok(Set { items, last, span: start.to(self.before()) })
    }

    fn binding(&mut self) -> Parsed<Statement> {
        let mut bindings = Vec::new();
        loop {
            let name = self.name("a variable's name")?;
            self.must("be")?;
            bindings.push((name, self.value()?));
            if !self.word("and") {
                break;
            }
        }
        self.must("while")?;
        let body = self.statement()?;
        Ok(Statement::Let { bindings, body })
    }

    fn value(&mut self) -> Parsed<Value> {
        let span = self.span();
        if self.sees("all") || self.sees("task") {
            return Ok(Value::Group(self.tasks()?));
        }
        if !self.word("a") {
            self.expects("tasks");
            return Ok(Value::Expression(self.expression()?));
        }
        self.must("random")?;
        self.must("task")?;
        let (mut from, mut to, mut without) = (None, None, None);
        if self.word("other") {
            self.must("than")?;
            without = Some(self.expression()?);
        } else {
            if self.word("less") {
                self.must("than")?;
                to = Some(stepped(self.expression()?, -1));
            } else if self.word("greater") {
                self.must("than")?;
                from = Some(stepped(self.expression()?, 1));
            } else if self.word("in") {
                self.must_symbol("[")?;
                from = Some(self.expression()?);
                self.must_symbol(",")?;
                to = Some(self.expression()?);
                self.must_symbol("]")?;
            }
            if self.words(&["but", "not"])? {
                without = Some(self.expression()?);
            }
        }
        Ok(Value::RandomTask { from, to, without, span: span.to(self.before()) })
    }
}

/// The expression plus a step.
fn stepped(
    expression: crate::workload::language::tree::Expression,
    step: i64,
) -> crate::workload::language::tree::Expression {
    use crate::workload::language::tree::{Binary, Expression, Kind};
    let span = expression.span;
    let step = Expression { kind: Kind::Number(step), span };
    Expression { kind: Kind::Chain(Box::new(expression), vec![(Binary::Add, step)]), span }
}
