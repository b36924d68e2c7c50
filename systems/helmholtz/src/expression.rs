//! Expressions in x, y and z, as users write them.
//!
//! The crates for expressions that were tried (exmex, fasteval) read `-x^2` as (-x)^2, which would
//! silently give another problem than the one on paper. Here powers bind more tightly than the
//! sign, as in mathematics.

use crate::error::{Error, Result};

/// The deepest nesting of parentheses, signs and powers.
const DEEPEST: usize = 64;
/// The longest expression in bytes.
const LONGEST: usize = 10_000;

type Unary = fn(f64) -> f64;
type Binary = fn(f64, f64) -> f64;

const FUNCTIONS: [(&str, Unary); 13] = [
    ("sin", f64::sin),
    ("cos", f64::cos),
    ("tan", f64::tan),
    ("asin", f64::asin),
    ("acos", f64::acos),
    ("atan", f64::atan),
    ("sinh", f64::sinh),
    ("cosh", f64::cosh),
    ("tanh", f64::tanh),
    ("exp", f64::exp),
    ("log", f64::ln),
    ("sqrt", f64::sqrt),
    ("abs", f64::abs),
];

/// `if` has its own operation.
const OF_TWO: [(&str, Binary); 3] = [("min", f64::min), ("max", f64::max), ("atan2", f64::atan2)];

/// Longer operators come first.
const COMPARISONS: [(&str, Binary); 4] = [
    ("<=", |a, b| f64::from(u8::from(a <= b))),
    (">=", |a, b| f64::from(u8::from(a >= b))),
    ("<", |a, b| f64::from(u8::from(a < b))),
    (">", |a, b| f64::from(u8::from(a > b))),
];

const SUMS: [(&str, Binary); 2] = [("+", |a, b| a + b), ("-", |a, b| a - b)];
const PRODUCTS: [(&str, Binary); 2] = [("*", |a, b| a * b), ("/", |a, b| a / b)];

/// An operation on a stack.
#[derive(Clone, Copy, Debug)]
enum Operation {
    Number(f64),
    /// x, y or z.
    Coordinate(usize),
    Unary(Unary),
    Binary(Binary),
    /// The second operand if the first is not zero, otherwise the third.
    If,
}

/// A function of x, y and z, parsed from text.
///
/// Numbers, `x`, `y`, `z`, `pi`, `e`; `+ - * / ^` and parentheses; `< > <= >=`, which give 1 or 0;
/// `if(condition, a, b)`, `min`, `max`, `atan2`;
/// `sin cos tan asin acos atan sinh cosh tanh exp log sqrt abs`. Powers bind most tightly, and to
/// the right: `-x^2` is -(x^2).
///
/// ```
/// use helmholtz::Expression;
///
/// # fn main() -> Result<(), helmholtz::Error> {
/// let f: Expression = "if(x < 0.5, -x^2, cos(2*pi*z))".parse()?;
/// assert_eq!(f.at([0.25, 0.0, 0.0]), -0.0625);
/// assert_eq!(f.at([0.75, 0.0, 0.5]), -1.0);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Expression {
    text: String,
    operations: Vec<Operation>,
}

impl Expression {
    /// Returns the text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Computes the value at a point.
    #[must_use]
    pub fn at(&self, point: [f64; 3]) -> f64 {
        self.evaluate(point, &mut Vec::new())
    }

    /// Computes the value at a point with a stack that is reused.
    pub(crate) fn evaluate(&self, point: [f64; 3], stack: &mut Vec<f64>) -> f64 {
        stack.clear();
        for &operation in &self.operations {
            let mut pop = || stack.pop().unwrap_or(f64::NAN);
            let value = match operation {
                Operation::Number(number) => number,
                Operation::Coordinate(axis) => point[axis],
                Operation::Unary(function) => function(pop()),
                Operation::Binary(function) => {
                    let b = pop();
                    function(pop(), b)
                }
                Operation::If => {
                    let (otherwise, then, condition) = (pop(), pop(), pop());
                    if condition != 0.0 { then } else { otherwise }
                }
            };
            stack.push(value);
        }
        stack.pop().unwrap_or(f64::NAN)
    }
}

impl std::str::FromStr for Expression {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let mut parser = Parser { text, at: 0, depth: 0, operations: Vec::new() };
        if text.len() > LONGEST {
            return parser.error(format!("an expression has at most {LONGEST} bytes"));
        }
        parser.comparison()?;
        parser.space();
        if parser.at < text.len() {
            return parser.error("an operator is expected here");
        }
        Ok(Self { text: text.to_owned(), operations: parser.operations })
    }
}

/// Recursive descent; each function leaves operations that push one value.
struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    operations: Vec<Operation>,
}

impl Parser<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn error<T>(&self, what: impl Into<String>) -> Result<T> {
        let column = self.text[..self.at].chars().count() + 1;
        let text = self.text.chars().take(60).collect();
        Err(Error::Expression { text, column, what: what.into() })
    }

    fn space(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }

    /// Consumes a symbol if it comes next.
    fn take(&mut self, symbol: &str) -> bool {
        self.space();
        let is_next = self.rest().starts_with(symbol);
        if is_next {
            self.at += symbol.len();
        }
        is_next
    }

    fn take_one(&mut self, operators: &[(&str, Binary)]) -> Option<Binary> {
        operators.iter().find(|(symbol, _)| self.take(symbol)).map(|&(_, function)| function)
    }

    /// A level of precedence whose operators bind to the left.
    fn left(&mut self, operators: &[(&str, Binary)], next: fn(&mut Self) -> Result<()>) -> Result<()> {
        next(self)?;
        while let Some(function) = self.take_one(operators) {
            next(self)?;
            self.operations.push(Operation::Binary(function));
        }
        Ok(())
    }

    fn comparison(&mut self) -> Result<()> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return self.error(format!("an expression is nested at most {DEEPEST} deep"));
        }
        let done = self.left(&COMPARISONS, |parser| parser.left(&SUMS, |parser| parser.left(&PRODUCTS, Self::sign)));
        self.depth -= 1;
        done
    }

    fn sign(&mut self) -> Result<()> {
        let is_negative = self.take("-");
        if !is_negative && !self.take("+") {
            return self.power();
        }
        self.depth += 1;
        if self.depth > DEEPEST {
            return self.error(format!("an expression is nested at most {DEEPEST} deep"));
        }
        self.sign()?;
        self.depth -= 1;
        if is_negative {
            self.operations.push(Operation::Unary(|value| -value));
        }
        Ok(())
    }

    fn power(&mut self) -> Result<()> {
        self.value()?;
        if self.take("^") {
            self.depth += 1;
            if self.depth > DEEPEST {
                return self.error(format!("an expression is nested at most {DEEPEST} deep"));
            }
            // The exponent may have a sign, and powers bind to the right.
            self.sign()?;
            self.depth -= 1;
            self.operations.push(Operation::Binary(f64::powf));
        }
        Ok(())
    }

    fn value(&mut self) -> Result<()> {
        if self.take("(") {
            self.comparison()?;
            return self.close();
        }
        let length = self.rest().find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(self.rest().len());
        let word = self.rest()[..length].to_owned();
        match word.bytes().next() {
            Some(first) if first.is_ascii_alphabetic() => self.name(&word),
            Some(first) if first.is_ascii_digit() => self.number(),
            _ if self.rest().starts_with('.') => self.number(),
            _ => self.error("a number, a name or `(` is expected here"),
        }
    }

    fn number(&mut self) -> Result<()> {
        let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
        let rest = self.rest();
        let mut length = digits(rest);
        if rest[length..].starts_with('.') {
            length += 1 + digits(&rest[length + 1..]);
        }
        if rest[length..].starts_with(['e', 'E']) {
            let sign = usize::from(rest[length + 1..].starts_with(['+', '-']));
            let exponent = digits(&rest[length + 1 + sign..]);
            if exponent > 0 {
                length += 1 + sign + exponent;
            }
        }
        match rest[..length].parse::<f64>() {
            Ok(number) if number.is_finite() => {
                self.at += length;
                self.operations.push(Operation::Number(number));
                Ok(())
            }
            _ => self.error("this is not a finite number"),
        }
    }

    fn name(&mut self, word: &str) -> Result<()> {
        let constant = match word {
            "x" => Operation::Coordinate(0),
            "y" => Operation::Coordinate(1),
            "z" => Operation::Coordinate(2),
            "pi" => Operation::Number(std::f64::consts::PI),
            "e" => Operation::Number(std::f64::consts::E),
            _ => return self.call(word),
        };
        self.at += word.len();
        self.operations.push(constant);
        Ok(())
    }

    fn call(&mut self, word: &str) -> Result<()> {
        let of_one = FUNCTIONS.iter().find(|(name, _)| *name == word).map(|&(_, function)| Operation::Unary(function));
        let of_two = OF_TWO.iter().find(|(name, _)| *name == word).map(|&(_, function)| Operation::Binary(function));
        let (operation, arguments) = match (of_one, of_two, word) {
            (Some(operation), ..) => (operation, 1),
            (_, Some(operation), _) => (operation, 2),
            (.., "if") => (Operation::If, 3),
            _ => {
                let known = "x, y, z, pi, e, if, min, max, atan2, sin, cos, tan, asin, acos, atan, sinh, cosh, tanh, \
                             exp, log, sqrt and abs";
                return self.error(format!("`{}` is unknown; known names are {known}", &word[..word.len().min(20)]));
            }
        };
        self.at += word.len();
        if !self.take("(") {
            return self.error(format!("`{word}` is a function: `(` is expected here"));
        }
        for argument in 0..arguments {
            if argument > 0 && !self.take(",") {
                return self.error(format!("`{word}` has {arguments} arguments: `,` is expected here"));
            }
            self.comparison()?;
        }
        self.operations.push(operation);
        self.close()
    }

    fn close(&mut self) -> Result<()> {
        if self.take(")") { Ok(()) } else { self.error("`)` is expected here") }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn expressions_follow_mathematics() {
        let (x, y, z) = (3.0_f64, 0.5_f64, -2.0_f64);
        for (text, wanted) in [
            ("-x^2", -9.0),
            ("2^3^2", 512.0),
            ("2^-1", 0.5),
            ("10 - 2 - 3", 5.0),
            ("8/4/2", 1.0),
            ("1+2*x", 7.0),
            ("-x*-z", -6.0),
            ("--x", 3.0),
            ("(1+2)*x", 9.0),
            ("1e-3*x + .5", 0.503),
            ("2.5E+1", 25.0),
            ("sin(pi*y)", 1.0),
            ("cos(2*pi*x)*exp(z)", z.exp()),
            ("if(x<=3, y, z)", y),
            ("if(x>y, 1, 2) + (z>=0)", 1.0),
            ("min(x, z) + max(x, z) + atan2(y, y)", 1.0 + std::f64::consts::FRAC_PI_4),
            ("log(e^2)", 2.0),
            ("sqrt(abs(z)*2)", 2.0),
        ] {
            let found = text.parse::<Expression>().expect(text).at([x, y, z]);
            assert!((found - wanted).abs() < 1e-15 * wanted.abs().max(1.0), "{text} = {found}, not {wanted}");
        }
    }

    #[test]
    fn invalid_expressions_are_errors_with_a_column() {
        for (text, told) in [
            ("", "column 1: a number, a name or `(`"),
            ("x y", "column 3: an operator"),
            ("2x", "column 2: an operator"),
            ("sin x", "column 5: `sin` is a function"),
            ("(x", "column 3: `)`"),
            ("max(x)", "column 6: `max` has 2 arguments"),
            ("x + foo", "column 5: `foo` is unknown"),
            ("1e999", "column 1: this is not a finite"),
            ("x +", "column 4: a number"),
            ("NaN", "column 1: `NaN` is unknown"),
        ] {
            let error = text.parse::<Expression>().expect_err(text).to_string();
            assert!(error.contains(told), "{text}: {error}");
        }
        for deep in ["(".repeat(5000), "-".repeat(5000), "2^".repeat(3000), "sin(".repeat(2000)] {
            let error = deep.parse::<Expression>().expect_err("too deep").to_string();
            assert!(error.contains("64 deep"), "{error}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn any_text_is_parsed_or_refused(text in "[-+*/^()<>=,.0-9a-z é]{0,30}") {
            if let Ok(expression) = text.parse::<Expression>() {
                let _ = expression.at([0.1, 0.2, 0.3]);
            }
        }
    }
}
