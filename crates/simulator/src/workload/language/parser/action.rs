//! What tasks do: who, and a verb.

use super::{Parsed, Parser};
use crate::workload::language::backend;
use crate::workload::language::lexer::Token;
use crate::workload::language::tree::{
    Action, Aggregate, Condition, Expression, Kind, Logged, Name, Part, Receive, Tasks, Verb,
};

impl Parser {
    pub(super) fn action(&mut self) -> Parsed<Action> {
        let start = self.span();
        let tasks = self.tasks()?;
        let verb = self.verb()?;
        Ok(Action { tasks, verb, span: start.to(self.before()), reads: Vec::new(), random: false })
    }

    /// `all tasks [t] | all other tasks | task E | tasks t such that condition | tasks {1, 2, 4} | task group name`.
    pub(super) fn tasks(&mut self) -> Parsed<Tasks> {
        if self.word("all") {
            if self.words(&["other", "task"])? {
                return Ok(Tasks::Others);
            }
            self.must("task")?;
            return Ok(Tasks::All(self.maybe_name("a variable's name")));
        }
        if !self.word("task") {
            self.expects("a statement");
            return Err(self.unexpected());
        }
        if self.word("group") {
            return Ok(Tasks::Group(self.name("the name of a group")?));
        }
        if self.sees_symbol("{") {
            // A name that nobody can write.
            let name = Name { text: String::new(), span: self.span(), slot: u32::MAX };
            let value = Expression { kind: Kind::Variable(name.clone()), span: name.span };
            let condition = Condition::In { value, sets: self.sets()?, not: false };
            return Ok(Tasks::Such(name, Box::new(condition)));
        }
        self.expects("`{`");
        if matches!(self.token(), Token::Name(_)) && matches!(self.ahead(1), Token::Reserved("such")) {
            let name = self.name("a variable's name")?;
            self.must("such")?;
            self.must("that")?;
            return Ok(Tasks::Such(name, Box::new(self.condition()?)));
        }
        Ok(Tasks::One(self.expression()?))
    }

    fn verb(&mut self) -> Parsed<Verb> {
        let asynchrony = self.asynchrony();
        let asynchronous = asynchrony == Some(true);
        if self.word("sends") {
            return self.send(asynchronous);
        }
        if self.word("receives") {
            let messages = self.messages()?;
            self.must("from")?;
            return Ok(Verb::Receive { messages, asynchronous, from: self.tasks()? });
        }
        if self.word("multicasts") {
            let messages = self.messages()?;
            self.must("to")?;
            return Ok(Verb::Multicast { messages, to: self.tasks()? });
        }
        if asynchrony.is_some() {
            return Err(self.unexpected());
        }
        if self.word("reduces") {
            return self.reduce();
        }
        if self.words(&["awaits", "completion"])? {
            return Ok(Verb::Await);
        }
        if self.word("synchronizes") {
            return Ok(Verb::Synchronize);
        }
        if self.word("computes") {
            if self.word("aggregates") {
                return Ok(Verb::Aggregate);
            }
            self.must("for")?;
            return self.delay();
        }
        if self.words(&["sleeps", "for"])? {
            return self.delay();
        }
        if self.word("opens") {
            return Ok(Verb::Open(self.file()?));
        }
        if self.word("reads") {
            let bytes = self.size()?;
            self.word("from");
            return Ok(Verb::Read(bytes, self.file()?));
        }
        if self.word("writes") {
            let bytes = self.size()?;
            self.word("to");
            return Ok(Verb::Write(bytes, self.file()?));
        }
        if self.word("syncs") {
            return Ok(Verb::Sync(self.file()?));
        }
        if self.word("closes") {
            return Ok(Verb::Close(self.file()?));
        }
        self.record()
    }

    /// What leaves no trace on the network.
    fn record(&mut self) -> Parsed<Verb> {
        if self.word("logs") {
            let mut logged = self.logged()?;
            while self.word("and") {
                logged.extend(self.logged()?);
            }
            return Ok(Verb::Log(logged));
        }
        if self.word("outputs") {
            return Ok(Verb::Output(self.parts()?));
        }
        if self.word("resets") {
            return self.counters(Verb::Reset);
        }
        if self.word("stores") {
            return self.counters(Verb::Store);
        }
        if self.word("restores") {
            return self.counters(Verb::Restore);
        }
        if self.word("touches") {
            return self.touch();
        }
        if self.words(&["backend", "executes"])? {
            let start = self.span();
            let parts = self.parts()?;
            let call = backend::call(&parts, start.to(self.before()))?;
            return Ok(Verb::Backend(parts, call));
        }
        if self.words(&["is", "assigned", "to"])? {
            if self.words(&["a", "random", "processor"])? {
                return Ok(Verb::Assign);
            }
            self.must("processor")?;
            self.expression()?;
            return Ok(Verb::Assign);
        }
        Err(self.unexpected())
    }

    fn counters(&mut self, verb: Verb) -> Parsed<Verb> {
        self.must("its")?;
        self.must("counters")?;
        Ok(verb)
    }

    fn send(&mut self, asynchronous: bool) -> Parsed<Verb> {
        let messages = self.messages()?;
        self.must("to")?;
        if self.word("unsuspecting") {
            return Ok(Verb::Send { messages, asynchronous, to: self.tasks()?, receive: Receive::Nobody });
        }
        let to = self.tasks()?;
        let mut receives_later = asynchronous;
        if self.words(&["who", "receives", "them"])? {
            receives_later = self.receiving()?.unwrap_or(asynchronous);
        }
        let receive = if receives_later { Receive::Asynchronous } else { Receive::Blocking };
        Ok(Verb::Send { messages, asynchronous, to, receive })
    }

    fn reduce(&mut self) -> Parsed<Verb> {
        let messages = self.reduced()?;
        if !self.word("to") {
            return Ok(Verb::Reduce { messages, to: None });
        }
        if !(self.sees("task") || self.sees("all")) {
            self.expects("tasks");
            self.reduced()?;
            return Ok(Verb::Reduce { messages, to: None });
        }
        let to = self.tasks()?;
        if self.words(&["who", "receives", "the", "results"])? {
            if self.word("as") {
                self.reduced()?;
            } else {
                self.handling()?;
            }
        }
        Ok(Verb::Reduce { messages, to: Some(to) })
    }

    fn delay(&mut self) -> Parsed<Verb> {
        let count = self.expression()?;
        Ok(Verb::Delay(self.time(count)?))
    }

    /// `[N words of] a 1 megabyte memory region [3 times] [with stride 8 words]`, or message buffers.
    fn touch(&mut self) -> Parsed<Verb> {
        if self.words(&["all", "messages", "buffer"])?
            || self.words(&["the", "current", "messages", "buffer"])?
        {
            return Ok(Verb::Touch);
        }
        if self.words(&["messages", "buffer"])? {
            self.expression()?;
            return Ok(Verb::Touch);
        }
        if !self.sees("a") {
            self.size()?;
            self.must("of")?;
        }
        self.must("a")?;
        self.size()?;
        self.must("memory")?;
        self.must("region")?;
        if !self.sees("with")
            && matches!(self.token(), Token::Number(_) | Token::Name(_) | Token::Symbol("("))
        {
            self.expression()?;
            self.must("times")?;
        }
        if self.word("with") {
            if self.words(&["random", "stride"])? {
                return Ok(Verb::Touch);
            }
            self.must("stride")?;
            self.size()?;
        }
        Ok(Verb::Touch)
    }

    /// One for each aggregate; where there are several, the label says which.
    fn logged(&mut self) -> Parsed<Vec<Logged>> {
        let aggregates = self.aggregates()?;
        let value = self.expression()?;
        self.must("as")?;
        let (label, _) = self.text("a label")?;
        let several = aggregates.len() > 1;
        let named = |(name, aggregate)| Logged {
            aggregate,
            value: value.clone(),
            label: if several { format!("{label} ({name})") } else { label.clone() },
        };
        Ok(aggregates.into_iter().map(named).collect())
    }

    /// `each | the [mean [and median] of [the]] | a histogram of [the]`, with their names.
    fn aggregates(&mut self) -> Parsed<Vec<(&'static str, Aggregate)>> {
        if self.words(&["a", "histogram", "of"])? {
            self.word("the");
            return Ok(vec![("histogram", Aggregate::Histogram)]);
        }
        if !self.word("the") {
            self.word("each");
            return Ok(vec![("each", Aggregate::Each)]);
        }
        let Some(first) = self.aggregate()? else { return Ok(vec![("only", Aggregate::Only)]) };
        let mut found = vec![first];
        while self.word("and") {
            self.word("the");
            match self.aggregate()? {
                Some(next) => found.push(next),
                None => return Err(self.unexpected()),
            }
        }
        if self.word("of") {
            self.word("the");
        }
        Ok(found)
    }

    fn aggregate(&mut self) -> Parsed<Option<(&'static str, Aggregate)>> {
        const SIMPLE: [(&str, Aggregate); 7] = [
            ("mean", Aggregate::Mean),
            ("median", Aggregate::Median),
            ("variance", Aggregate::Variance),
            ("sum", Aggregate::Sum),
            ("minimum", Aggregate::Minimum),
            ("maximum", Aggregate::Maximum),
            ("final", Aggregate::Final),
        ];
        if let Some(place) = self.one_of(SIMPLE.map(|(word, _)| word)) {
            return Ok(Some(SIMPLE[place]));
        }
        Ok(if self.words(&["arithmetic", "mean"])? {
            Some(("arithmetic mean", Aggregate::Mean))
        } else if self.words(&["harmonic", "mean"])? {
            Some(("harmonic mean", Aggregate::HarmonicMean))
        } else if self.words(&["geometric", "mean"])? {
            Some(("geometric mean", Aggregate::GeometricMean))
        } else if self.words(&["standard", "deviation"])? {
            Some(("standard deviation", Aggregate::Deviation))
        } else {
            None
        })
    }

    fn parts(&mut self) -> Parsed<Vec<Part>> {
        let mut parts = Vec::new();
        loop {
            parts.push(match self.token().clone() {
                Token::Text(text) => {
                    self.advance();
                    Part::Text(text)
                }
                _ => {
                    self.expects("a string");
                    Part::Value(self.expression()?)
                }
            });
            if !self.word("and") {
                return Ok(parts);
            }
        }
    }
}
