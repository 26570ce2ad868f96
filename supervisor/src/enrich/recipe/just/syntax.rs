//! What a justfile says, as parsed: no names resolved, nothing evaluated.

use std::ops::Range;
use std::rc::Rc;

/// A piece of source text, to show what could not be evaluated.
#[derive(Debug, Clone)]
pub(super) struct Span {
    pub(super) text: Rc<str>,
    pub(super) range: Range<usize>,
}

impl Span {
    pub(super) fn as_str(&self) -> &str {
        self.text.get(self.range.clone()).unwrap_or_default()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    /// `+`
    Concatenate,
    /// `/`
    Join,
    /// `++`, of lists.
    Append,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Comparison {
    Equal,
    Unequal,
    Matches,
    MatchesNot,
}

#[derive(Debug)]
pub(super) enum Expression {
    Text(String),
    /// `x'…'`: variables and `~` of the environment are put in.
    Expanded(String, Span),
    /// `f'…{{…}}…'`
    Format {
        start: String,
        parts: Vec<(Expression, String)>,
        indented: bool,
    },
    Backtick(String),
    Name(String, Span),
    Call {
        name: String,
        arguments: Vec<Expression>,
        span: Span,
    },
    /// Operands with what stands between them; the operators bind to the right.
    Chain {
        operands: Vec<Expression>,
        operators: Vec<Operator>,
        span: Span,
    },
    Any(Vec<Expression>, Span),
    All(Vec<Expression>, Span),
    Compare {
        left: Box<Expression>,
        comparison: Comparison,
        right: Box<Expression>,
        span: Span,
    },
    If {
        branches: Vec<(Expression, Expression)>,
        otherwise: Option<Box<Expression>>,
        span: Span,
    },
    Assert {
        condition: Box<Expression>,
        span: Span,
    },
    Not(Box<Expression>, Span),
    List(Vec<Expression>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Arity {
    One,
    /// `+`
    Some,
    /// `*`
    Any,
}

#[derive(Debug)]
pub(super) struct Parameter {
    pub(super) name: String,
    pub(super) arity: Arity,
    pub(super) default: Option<Expression>,
}

#[derive(Debug)]
pub(super) struct Dependency {
    pub(super) target: Vec<String>,
    /// The flag marks `*argument`.
    pub(super) arguments: Vec<(bool, Expression)>,
}

#[derive(Debug)]
pub(super) enum Fragment {
    /// As written, `{{{{` included.
    Text(String),
    Value(Expression),
}

#[derive(Debug, Default)]
pub(super) struct Line {
    pub(super) fragments: Vec<Fragment>,
}

impl Line {
    pub(super) fn start(&self) -> &str {
        match self.fragments.first() {
            Some(Fragment::Text(text)) => text,
            _ => "",
        }
    }

    pub(super) fn continues(&self) -> bool {
        matches!(self.fragments.last(), Some(Fragment::Text(text)) if text.ends_with('\\'))
    }
}

#[derive(Debug)]
pub(super) struct Attribute {
    pub(super) name: String,
    pub(super) arguments: Vec<Expression>,
    pub(super) keys: Vec<(String, Option<Expression>)>,
}

#[derive(Debug, Default)]
pub(super) struct Attributes(pub(super) Vec<Attribute>);

impl Attributes {
    pub(super) fn get(&self, name: &str) -> Option<&Attribute> {
        self.0.iter().find(|attribute| attribute.name == name)
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Whether what carries them exists on Linux.
    pub(super) fn enabled(&self) -> bool {
        const SYSTEMS: [&str; 9] =
            ["android", "dragonfly", "freebsd", "linux", "macos", "netbsd", "openbsd", "unix", "windows"];
        let any = self.0.iter().any(|attribute| SYSTEMS.contains(&attribute.name.as_str()));
        !any || self.has("linux") || self.has("unix")
    }
}

#[derive(Debug)]
pub(super) struct Rule {
    pub(super) name: String,
    pub(super) line: u64,
    pub(super) attributes: Attributes,
    pub(super) parameters: Vec<Parameter>,
    pub(super) dependencies: Vec<Dependency>,
    /// How many of the dependencies run before.
    pub(super) priors: usize,
    pub(super) body: Vec<Line>,
}

#[derive(Debug)]
pub(super) struct Assignment {
    pub(super) name: String,
    pub(super) line: u64,
    pub(super) value: Expression,
    /// `export` or `eager`: evaluated even with `set lazy`.
    pub(super) eager: bool,
}

#[derive(Debug)]
pub(super) enum Item {
    Alias {
        name: String,
        target: Vec<String>,
    },
    Assignment(Assignment),
    Function {
        name: String,
        parameters: Vec<String>,
        body: Expression,
    },
    Import {
        path: Expression,
        optional: bool,
    },
    Module {
        name: String,
        path: Option<Expression>,
        optional: bool,
    },
    Rule(Rule),
    /// `None` is a bare name, which means true.
    Set {
        name: String,
        value: Option<Expression>,
    },
    Unexport,
}
