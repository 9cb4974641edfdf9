//! What a program is made of.

use super::source::Span;

/// Where a variable's value stands while the program runs; each declaration has its own.
pub type Slot = u32;
/// A statement's number.
pub type StatementId = u32;

/// A name in the text, in small letters, and the variable that it means.
#[derive(Clone, Debug, PartialEq)]
pub struct Name {
    pub text: String,
    pub span: Span,
    pub slot: Slot,
}

/// A whole program.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    pub parameters: Vec<Parameter>,
    pub statements: Vec<Statement>,
    /// The statements of the outermost level, in order.
    pub top: Vec<StatementId>,
    /// How many variables there are; the first is `num_tasks`, then come the parameters.
    pub slots: u32,
}

/// `reps is "…" and comes from "--reps" or "-r" with default 100`.
#[derive(Clone, Debug)]
pub struct Parameter {
    pub name: Name,
    pub description: String,
    pub options: Vec<(String, Span)>,
    pub default: Expression,
}

/// Something that is done, by all tasks in the same order.
#[derive(Clone, Debug)]
pub enum Statement {
    Block(Vec<StatementId>),
    Repeat { count: Expression, warmup: Option<Expression>, synchronized: bool, body: StatementId },
    Timed { time: Time, warmup: Option<Time>, synchronized: bool, body: StatementId },
    Each { variable: Name, sets: Vec<Set>, body: StatementId },
    Let { bindings: Vec<(Name, Value)>, body: StatementId },
    If { condition: Condition, then: StatementId, otherwise: Option<StatementId> },
    Assert { claim: String, condition: Condition, span: Span },
    Action(Action),
}

/// What `let` binds a variable to.
#[derive(Clone, Debug)]
pub enum Value {
    Expression(Expression),
    /// A random task: from a first to a last one where they are given, and without one.
    RandomTask {
        from: Option<Expression>,
        to: Option<Expression>,
        without: Option<Expression>,
        span: Span,
    },
    /// Tasks that are called `task group` and the name.
    Group(Tasks),
}

/// A number of units of time.
#[derive(Clone, Debug)]
pub struct Time {
    pub count: Expression,
    /// Picoseconds of a unit.
    pub unit: u64,
    pub span: Span,
}

/// `{a, b, c}` or `{a, b, ..., z}`.
#[derive(Clone, Debug)]
pub struct Set {
    pub items: Vec<Expression>,
    pub last: Option<Expression>,
    pub span: Span,
}

/// What some tasks do.
#[derive(Clone, Debug)]
pub struct Action {
    pub tasks: Tasks,
    pub verb: Verb,
    pub span: Span,
    /// Variables from outside that decide what is done.
    pub reads: Vec<Slot>,
    /// Whether random numbers decide too.
    pub random: bool,
}

/// Which tasks.
#[derive(Clone, Debug)]
pub enum Tasks {
    All(Option<Name>),
    Others,
    One(Expression),
    Such(Name, Box<Condition>),
    /// Those that `let` gave this name; checking puts them in its place.
    Group(Name),
}

#[derive(Clone, Debug)]
pub enum Verb {
    Send {
        messages: Messages,
        asynchronous: bool,
        to: Tasks,
        receive: Receive,
    },
    Receive {
        messages: Messages,
        asynchronous: bool,
        from: Tasks,
    },
    Multicast {
        messages: Messages,
        to: Tasks,
    },
    Reduce {
        messages: Messages,
        to: Option<Tasks>,
    },
    Await,
    Synchronize,
    /// Computing and sleeping.
    Delay(Time),
    Touch,
    Log(Vec<Logged>),
    Aggregate,
    Output(Vec<Part>),
    Reset,
    Store,
    Restore,
    Backend(Vec<Part>, BackendCall),
    Assign,
    Open(File),
    Close(File),
    Sync(File),
    Read(Bytes, File),
    Write(Bytes, File),
}

/// Who receives what is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Receive {
    /// Nobody by this statement: the targets are unsuspecting.
    Nobody,
    Blocking,
    Asynchronous,
}

/// How many messages of which size.
#[derive(Clone, Debug)]
pub struct Messages {
    pub count: Option<Expression>,
    pub size: Bytes,
}

/// A size: a number of units.
#[derive(Clone, Debug)]
pub struct Bytes {
    pub count: Option<Expression>,
    pub unit: Unit,
}

/// A unit of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Bytes(i64),
    Bits,
}

/// A file by its name, and where in it; the application's own without a name.
#[derive(Clone, Debug, Default)]
pub struct File {
    pub name: Option<String>,
    pub at: Option<Bytes>,
    /// Its number, once the program is checked.
    pub number: u32,
}

/// `the mean of E as "…"`.
#[derive(Clone, Debug)]
pub struct Logged {
    pub aggregate: Aggregate,
    pub value: Expression,
    pub label: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aggregate {
    Each,
    Only,
    Mean,
    HarmonicMean,
    GeometricMean,
    Median,
    Deviation,
    Variance,
    Sum,
    Minimum,
    Maximum,
    Final,
    Histogram,
}

/// A part of what is put out.
#[derive(Clone, Debug)]
pub enum Part {
    Text(String),
    Value(Expression),
}

/// The collective that backend code calls; its count comes from the text or from an expression in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BackendCall {
    pub kind: BackendKind,
    /// Bytes of an element.
    pub element: i64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BackendKind {
    #[default]
    Barrier,
    Allreduce,
    Reduce,
    Bcast,
    Allgather,
    Alltoall,
}

#[derive(Clone, Debug)]
pub struct Expression {
    pub kind: Kind,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub enum Kind {
    Number(i64),
    Variable(Name),
    /// What is known only while the program runs.
    Counter(Counter),
    /// The task that does it.
    MyTask,
    Unary(Unary, Box<Expression>),
    /// Operators with their right sides, worked out from left to right. A long one is not deep: no sum exhausts the stack.
    Chain(Box<Expression>, Vec<(Binary, Expression)>),
    Choice(Box<Condition>, Box<Expression>, Box<Expression>),
    Call(Function, Vec<Expression>),
    /// Dimensions, each with whether it is closed to a ring; a task; offsets, an axis, or another task.
    Mesh(Mesh, Vec<(Expression, bool)>, Box<Expression>, Vec<Expression>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unary {
    Minus,
    Plus,
    Not,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binary {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
    Power,
    ShiftLeft,
    ShiftRight,
    And,
    Or,
    Xor,
}

impl Binary {
    /// Whether it takes and gives whole numbers alone.
    pub fn is_whole(self) -> bool {
        use Binary::{Add, Divide, Multiply, Power, Subtract};
        !matches!(self, Add | Subtract | Multiply | Divide | Power)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mesh {
    Neighbor,
    Coordinate,
    Distance,
}

#[derive(Clone, Debug)]
pub enum Condition {
    Any(Vec<Condition>),
    All(Vec<Condition>),
    Compare(Comparison, Expression, Expression),
    Even(Expression),
    Odd(Expression),
    In { value: Expression, sets: Vec<Set>, not: bool },
    Between { value: Expression, from: Expression, to: Expression, not: bool },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    Equal,
    Less,
    Greater,
    LessOrEqual,
    GreaterOrEqual,
    Different,
    Divides,
}

/// What tasks count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counter {
    ElapsedMicros,
    BytesSent,
    BytesReceived,
    MessagesSent,
    MessagesReceived,
    TotalBytes,
    TotalMessages,
    BitErrors,
}

impl Counter {
    pub const NAMES: [(&'static str, Counter); 8] = [
        ("elapsed_usecs", Counter::ElapsedMicros),
        ("bytes_sent", Counter::BytesSent),
        ("bytes_received", Counter::BytesReceived),
        ("msgs_sent", Counter::MessagesSent),
        ("msgs_received", Counter::MessagesReceived),
        ("total_bytes", Counter::TotalBytes),
        ("total_msgs", Counter::TotalMessages),
        ("bit_errors", Counter::BitErrors),
    ];
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    Abs,
    Bits,
    Cbrt,
    Ceiling,
    Factor10,
    Floor,
    Log10,
    Max,
    Min,
    Real,
    Root,
    Round,
    Sqrt,
    TreeParent,
    TreeChild,
    KnomialParent,
    KnomialChild,
    KnomialChildren,
    RandomUniform,
    RandomGaussian,
    RandomPoisson,
    RandomPareto,
}

impl Function {
    /// All with their names, and how many arguments they take.
    pub const NAMES: [(&'static str, Function, std::ops::RangeInclusive<usize>); 22] = [
        ("abs", Function::Abs, 1..=1),
        ("bits", Function::Bits, 1..=1),
        ("cbrt", Function::Cbrt, 1..=1),
        ("ceiling", Function::Ceiling, 1..=1),
        ("factor10", Function::Factor10, 1..=1),
        ("floor", Function::Floor, 1..=1),
        ("log10", Function::Log10, 1..=1),
        ("max", Function::Max, 1..=usize::MAX),
        ("min", Function::Min, 1..=usize::MAX),
        ("real", Function::Real, 1..=1),
        ("root", Function::Root, 2..=2),
        ("round", Function::Round, 1..=1),
        ("sqrt", Function::Sqrt, 1..=1),
        ("tree_parent", Function::TreeParent, 1..=2),
        ("tree_child", Function::TreeChild, 2..=3),
        ("knomial_parent", Function::KnomialParent, 1..=3),
        ("knomial_child", Function::KnomialChild, 2..=4),
        ("knomial_children", Function::KnomialChildren, 1..=3),
        ("random_uniform", Function::RandomUniform, 2..=2),
        ("random_gaussian", Function::RandomGaussian, 2..=2),
        ("random_poisson", Function::RandomPoisson, 1..=1),
        ("random_pareto", Function::RandomPareto, 2..=3),
    ];

    /// Whether it draws random numbers.
    pub fn is_random(self) -> bool {
        use Function::{RandomGaussian, RandomPareto, RandomPoisson, RandomUniform};
        matches!(self, RandomUniform | RandomGaussian | RandomPoisson | RandomPareto)
    }
}
