//! Expressions and conditions, by what binds how tightly.

use super::{Parsed, Parser};
use crate::workload::language::diagnostic::{meant, Diagnostic};
use crate::workload::language::lexer::Token;
use crate::workload::language::tree::{
    Binary, Comparison, Condition, Expression, Function, Kind, Mesh, Name, Unary,
};

const SUMS: [(&str, Binary); 3] = [("+", Binary::Add), ("-", Binary::Subtract), ("|", Binary::Or)];
const PRODUCTS: [(&str, Binary); 5] = [
    ("*", Binary::Multiply),
    ("/", Binary::Divide),
    (">>", Binary::ShiftRight),
    ("<<", Binary::ShiftLeft),
    ("&", Binary::And),
];
const COMPARISONS: [(&str, Comparison); 6] = [
    ("=", Comparison::Equal),
    ("<=", Comparison::LessOrEqual),
    (">=", Comparison::GreaterOrEqual),
    ("<>", Comparison::Different),
    ("<", Comparison::Less),
    (">", Comparison::Greater),
];
const MESHES: [(&str, Mesh); 3] = [
    ("mesh_neighbor", Mesh::Neighbor),
    ("mesh_coordinate", Mesh::Coordinate),
    ("mesh_distance", Mesh::Distance),
];

impl Parser {
    /// `sum [if condition otherwise expression]`.
    pub(super) fn expression(&mut self) -> Parsed<Expression> {
        self.deeper(|parser| {
            let yes = parser.sum()?;
            if !parser.sees("if") {
                return Ok(yes);
            }
            parser.advance();
            let condition = parser.condition()?;
            parser.must("otherwise")?;
            let no = parser.expression()?;
            let span = yes.span.to(no.span);
            Ok(Expression { kind: Kind::Choice(Box::new(condition), Box::new(yes), Box::new(no)), span })
        })
    }

    fn sum(&mut self) -> Parsed<Expression> {
        let operator = |parser: &Self| match parser.token() {
            Token::Symbol(met) => {
                SUMS.iter().find(|(symbol, _)| symbol == met).map(|(_, operator)| *operator)
            }
            Token::Reserved("xor") => Some(Binary::Xor),
            _ => None,
        };
        self.chain(operator, Self::product)
    }

    fn product(&mut self) -> Parsed<Expression> {
        let operator = |parser: &Self| match parser.token() {
            // `3*,` in the dimensions of a mesh makes a ring of it.
            Token::Symbol("*") if matches!(parser.ahead(1), Token::Symbol("," | ")")) => None,
            Token::Symbol(met) => {
                PRODUCTS.iter().find(|(symbol, _)| symbol == met).map(|(_, operator)| *operator)
            }
            Token::Reserved("mod") => Some(Binary::Modulo),
            _ => None,
        };
        self.chain(operator, Self::unary)
    }

    /// Operands with an operator at hand between them.
    fn chain(
        &mut self,
        operator: impl Fn(&Self) -> Option<Binary>,
        operand: fn(&mut Self) -> Parsed<Expression>,
    ) -> Parsed<Expression> {
        let first = operand(self)?;
        let mut rest = Vec::new();
        while let Some(operator) = operator(self) {
            self.advance();
            rest.push((operator, operand(self)?));
        }
        Ok(joined(first, rest))
    }

    fn unary(&mut self) -> Parsed<Expression> {
        let start = self.span();
        let operator = match self.token() {
            Token::Symbol("-") => Unary::Minus,
            Token::Symbol("+") => Unary::Plus,
            Token::Reserved("not") => Unary::Not,
            _ => return self.power(),
        };
        self.advance();
        let of = self.deeper(Self::unary)?;
        let span = start.to(of.span);
        Ok(Expression { kind: Kind::Unary(operator, Box::new(of)), span })
    }

    fn power(&mut self) -> Parsed<Expression> {
        let base = self.primary()?;
        if !self.sees_symbol("**") {
            return Ok(base);
        }
        self.advance();
        let exponent = self.deeper(Self::unary)?;
        Ok(joined(base, vec![(Binary::Power, exponent)]))
    }

    fn primary(&mut self) -> Parsed<Expression> {
        let span = self.span();
        match self.token().clone() {
            Token::Number(number) => {
                self.advance();
                Ok(Expression { kind: Kind::Number(number), span })
            }
            Token::Name(text) => {
                self.advance();
                if self.sees_symbol("(") {
                    return self.call(Name { text, span, slot: u32::MAX });
                }
                Ok(Expression { kind: Kind::Variable(Name { text, span, slot: u32::MAX }), span })
            }
            Token::Symbol("(") => {
                self.advance();
                let inner = self.expression()?;
                self.must_symbol(")")?;
                Ok(Expression { kind: inner.kind, span: span.to(self.before()) })
            }
            Token::Reserved("my") => {
                self.advance();
                self.must("task")?;
                Ok(Expression { kind: Kind::MyTask, span: span.to(self.before()) })
            }
            _ => {
                self.expects("an expression");
                Err(self.unexpected())
            }
        }
    }

    fn call(&mut self, name: Name) -> Parsed<Expression> {
        if let Some((_, mesh)) = MESHES.iter().find(|(known, _)| *known == name.text) {
            return self.mesh(*mesh, &name);
        }
        let Some((known, function, accepted)) =
            Function::NAMES.iter().find(|(known, _, _)| *known == name.text)
        else {
            let known =
                Function::NAMES.iter().map(|(known, _, _)| *known).chain(MESHES.map(|(known, _)| known));
            let all: Vec<_> = known.clone().collect();
            let help = meant(&name.text, known).map(|known| format!("did you mean `{known}`?"));
            return Err(Diagnostic::new(
                name.span,
                format!("there is no function `{}`", name.text),
                format!("accepted are {}", all.join(", ")),
            )
            .helped(help));
        };
        let arguments = self.arguments()?;
        let span = name.span.to(self.before());
        if !accepted.contains(&arguments.len()) {
            let (low, high) = (*accepted.start(), *accepted.end());
            let accepted = match high {
                usize::MAX => format!("at least {low}"),
                _ if low == high => low.to_string(),
                _ => format!("{low} to {high}"),
            };
            let message = format!("`{known}` with {} arguments", arguments.len());
            return Err(Diagnostic::new(span, message, format!("accepted are {accepted}")));
        }
        Ok(Expression { kind: Kind::Call(*function, arguments), span })
    }

    fn arguments(&mut self) -> Parsed<Vec<Expression>> {
        self.must_symbol("(")?;
        let mut arguments = vec![self.expression()?];
        while self.symbol(",") {
            arguments.push(self.expression()?);
        }
        self.must_symbol(")")?;
        Ok(arguments)
    }

    /// `((3*, 4), task, (1, 0))`: dimensions, closed to a ring where a star stands; a task; offsets, an axis or a task.
    fn mesh(&mut self, mesh: Mesh, name: &Name) -> Parsed<Expression> {
        self.must_symbol("(")?;
        self.must_symbol("(")?;
        let mut dimensions = Vec::new();
        loop {
            let extent = self.expression()?;
            let ring = self.symbol("*");
            dimensions.push((extent, ring));
            if !self.symbol(",") {
                break;
            }
        }
        self.must_symbol(")")?;
        self.must_symbol(",")?;
        let task = self.expression()?;
        self.must_symbol(",")?;
        let start = self.span();
        let rest = if mesh == Mesh::Neighbor { self.arguments()? } else { vec![self.expression()?] };
        let offsets = start.to(self.before());
        self.must_symbol(")")?;
        if mesh == Mesh::Neighbor && rest.len() != dimensions.len() {
            return Err(Diagnostic::new(
                offsets,
                format!("{} offsets in a mesh of {} dimensions", rest.len(), dimensions.len()),
                "expected one offset for each dimension",
            ));
        }
        let span = name.span.to(self.before());
        Ok(Expression { kind: Kind::Mesh(mesh, dimensions, Box::new(task), rest), span })
    }

    /// Comparisons, joined by `/\` (and) more tightly than by `\/` (or).
    pub(super) fn condition(&mut self) -> Parsed<Condition> {
        self.deeper(|parser| {
            let mut any = vec![parser.conjunction()?];
            while parser.symbol("\\/") {
                any.push(parser.conjunction()?);
            }
            Ok(if any.len() == 1 { any.remove(0) } else { Condition::Any(any) })
        })
    }

    fn conjunction(&mut self) -> Parsed<Condition> {
        let mut all = vec![self.comparison()?];
        while self.symbol("/\\") {
            all.push(self.comparison()?);
        }
        Ok(if all.len() == 1 { all.remove(0) } else { Condition::All(all) })
    }

    fn comparison(&mut self) -> Parsed<Condition> {
        if self.parenthesized_condition() {
            self.must_symbol("(")?;
            let condition = self.condition()?;
            self.must_symbol(")")?;
            return Ok(condition);
        }
        let left = self.expression()?;
        let found = COMPARISONS.iter().find(|(symbol, _)| self.sees_symbol(symbol)).map(|(_, found)| *found);
        if let Some(comparison) = found {
            self.advance();
            return Ok(Condition::Compare(comparison, left, self.expression()?));
        }
        if self.sees("divides") {
            self.advance();
            return Ok(Condition::Compare(Comparison::Divides, left, self.expression()?));
        }
        self.expects("a comparison");
        self.must("is")?;
        if self.word("even") {
            return Ok(Condition::Even(left));
        }
        if self.word("odd") {
            return Ok(Condition::Odd(left));
        }
        let not = self.word("not");
        self.must("in")?;
        if !self.symbol("[") {
            return Ok(Condition::In { value: left, sets: self.sets()?, not });
        }
        let from = self.expression()?;
        self.must_symbol(",")?;
        let to = self.expression()?;
        self.must_symbol("]")?;
        Ok(Condition::Between { value: left, from, to, not })
    }

    /// Whether the parenthesis at hand holds a condition rather than a number: whether a comparison stands directly in it.
    fn parenthesized_condition(&self) -> bool {
        if !self.sees_symbol("(") {
            return false;
        }
        let mut depth = 0;
        let mut choices = 0;
        for (token, _) in &self.tokens[self.at..] {
            match token {
                Token::Symbol("(" | "[" | "{") => depth += 1,
                Token::Symbol(")" | "]" | "}") => {
                    depth -= 1;
                    if depth == 0 {
                        return false;
                    }
                }
                // Within `x if condition otherwise y` a comparison does not make a condition of the whole.
                Token::Reserved("if") => choices += 1,
                Token::Reserved("otherwise") => choices -= 1,
                Token::Symbol("=" | "<" | ">" | "<=" | ">=" | "<>" | "/\\" | "\\/")
                | Token::Reserved("divides" | "is")
                    if choices == 0 =>
                {
                    // In a nested parenthesis it may belong to a condition there, which is then within this one.
                    return true;
                }
                Token::End => return false,
                _ => {}
            }
        }
        false
    }
}

fn joined(first: Expression, rest: Vec<(Binary, Expression)>) -> Expression {
    let Some((_, last)) = rest.last() else { return first };
    let span = first.span.to(last.span);
    Expression { kind: Kind::Chain(Box::new(first), rest), span }
}
