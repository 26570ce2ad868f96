//! The grammar of expressions. Chains of one operator are loops, so that only brackets nest.

use super::cursor::{Cursor, Parsed};
use super::syntax::{Comparison, Expression, Operator};

impl Cursor {
    pub(super) fn expression(&mut self) -> Parsed<Expression> {
        self.deeper(|cursor| {
            cursor.space();
            let from = cursor.at;
            let mut any = vec![cursor.all()?];
            while cursor.take("||") {
                any.push(cursor.all()?);
            }
            Ok(if any.len() == 1 { any.remove(0) } else { Expression::Any(any, cursor.span(from)) })
        })
    }

    fn all(&mut self) -> Parsed<Expression> {
        let from = self.at;
        let mut all = vec![self.comparison()?];
        while self.take("&&") {
            all.push(self.comparison()?);
        }
        Ok(if all.len() == 1 { all.remove(0) } else { Expression::All(all, self.span(from)) })
    }

    fn comparison(&mut self) -> Parsed<Expression> {
        self.space();
        let from = self.at;
        let left = self.chain()?;
        let comparison = if self.take("==") {
            Comparison::Equal
        } else if self.take("!=") {
            Comparison::Unequal
        } else if self.take("=~") {
            Comparison::Matches
        } else if self.take("!~") {
            Comparison::MatchesNot
        } else {
            return Ok(left);
        };
        let right = Box::new(self.chain()?);
        Ok(Expression::Compare { left: Box::new(left), comparison, right, span: self.span(from) })
    }

    fn chain(&mut self) -> Parsed<Expression> {
        self.space();
        let from = self.at;
        let mut operands = Vec::new();
        let mut operators = Vec::new();
        loop {
            if self.peek_name().as_deref() == Some("if") {
                operands.push(self.conditional()?);
                break;
            }
            // A leading slash joins to nothing.
            operands.push(if self.looking_at("/") { Expression::Text(String::new()) } else { self.value()? });
            operators.push(if self.take("++") {
                Operator::Append
            } else if self.take("+") {
                Operator::Concatenate
            } else if self.take("/") {
                Operator::Join
            } else {
                break;
            });
        }
        Ok(match operands.len() {
            1 => operands.remove(0),
            _ => Expression::Chain { operands, operators, span: self.span(from) },
        })
    }

    fn conditional(&mut self) -> Parsed<Expression> {
        let from = self.at;
        let mut branches = Vec::new();
        loop {
            self.name();
            let condition = self.expression()?;
            branches.push((condition, self.braced()?));
            if self.peek_name().as_deref() != Some("else") {
                return Ok(Expression::If { branches, otherwise: None, span: self.span(from) });
            }
            self.name();
            if self.peek_name().as_deref() != Some("if") {
                let otherwise = Some(Box::new(self.braced()?));
                return Ok(Expression::If { branches, otherwise, span: self.span(from) });
            }
        }
    }

    fn braced(&mut self) -> Parsed<Expression> {
        self.expect("{")?;
        self.enclosed(|cursor| {
            let inner = cursor.expression()?;
            cursor.expect("}")?;
            Ok(inner)
        })
    }

    /// An expression without operators.
    pub(super) fn value(&mut self) -> Parsed<Expression> {
        self.deeper(Self::any_value)
    }

    fn any_value(&mut self) -> Parsed<Expression> {
        self.space();
        let from = self.at;
        if let Some(delimiter) = self.delimiter() {
            let text = self.literal(delimiter)?;
            return Ok(if delimiter.starts_with('`') {
                Expression::Backtick(text)
            } else {
                Expression::Text(text)
            });
        }
        if self.take("!") {
            let operand = Box::new(self.value()?);
            return Ok(Expression::Not(operand, self.span(from)));
        }
        if self.take("(") {
            return self.enclosed(|cursor| {
                let inner = cursor.expression()?;
                cursor.expect(")")?;
                Ok(inner)
            });
        }
        if self.take("[") {
            return Ok(Expression::List(self.sequence("]")?));
        }
        let name = self.expect_name()?;
        // Only glued to its string is such a letter a prefix.
        match (name.as_str(), self.delimiter()) {
            ("x", Some(delimiter)) if !delimiter.starts_with('`') => {
                let text = self.literal(delimiter)?;
                return Ok(Expression::Expanded(text, self.span(from)));
            }
            ("f", Some(delimiter)) if !delimiter.starts_with('`') => return self.format(delimiter),
            _ => {}
        }
        let after_name = self.at;
        if !self.take("(") {
            self.at = after_name;
            let span = self.span(from);
            return Ok(Expression::Name(name, span));
        }
        let mut arguments = self.sequence(")")?;
        let span = self.span(from);
        if name == "assert" && !arguments.is_empty() {
            return Ok(Expression::Assert { condition: Box::new(arguments.remove(0)), span });
        }
        Ok(Expression::Call { name, arguments, span })
    }

    /// Expressions with commas between them, up to `end`.
    pub(super) fn sequence(&mut self, end: &str) -> Parsed<Vec<Expression>> {
        self.enclosed(|cursor| {
            let mut elements = Vec::new();
            while !cursor.looking_at(end) {
                elements.push(cursor.expression()?);
                if !cursor.take(",") {
                    break;
                }
            }
            cursor.expect(end)?;
            Ok(elements)
        })
    }
}
