//! Expressions with holes. A hole is filled by a value of its type or by another expression that gives this type.

use rand::Rng;
use rand::seq::IndexedRandom;

use super::literal::Type;

/// A query that is to mean the same on both servers.
#[derive(Debug)]
pub struct Case {
    /// The outermost first, then what fills its holes.
    pub templates: Vec<Used>,
    pub sql: String,
}

/// A template in a case.
#[derive(Debug)]
pub struct Used {
    pub template: &'static str,
    /// Its text where holes of a type that was chosen name this type.
    pub label: String,
}

mod catalogue;

use catalogue::{EXPRESSIONS, QUERIES};

/// How deep expressions nest in each other.
const DEPTH_MAX: usize = 2;

/// A random case.
pub fn case(random: &mut impl Rng) -> Case {
    let mut case = Case {
        templates: Vec::new(),
        sql: String::new(),
    };
    if random.random_ratio(1, 4) {
        let template = *QUERIES.choose(random).expect("there are queries");
        case.fill(template, DEPTH_MAX, random);
        return case;
    }
    let (_, template) = *EXPRESSIONS.choose(random).expect("there are expressions");
    // Mostly flat: what differs is then easy to name.
    let depth = if random.random_ratio(4, 5) { DEPTH_MAX } else { 0 };
    case.sql.push_str("SELECT ");
    case.fill(template, depth, random);
    case
}

impl Case {
    /// Replaces each `{type}`; `{V}` is a type that is chosen once, `{values}` rows with values of it.
    fn fill(&mut self, template: &'static str, depth: usize, random: &mut impl Rng) {
        let any = *Type::ALL.choose(random).expect("there are types");
        let number = *NUMBERS.choose(random).expect("there are types of numbers");
        let target = *Type::ALL.choose(random).expect("there are types");
        let label = template
            .replace("{V}", any.hole())
            .replace("{T}", target.name())
            .replace("{values}", &format!("{{values of {}}}", any.hole()))
            .replace("{numbers}", &format!("{{values of {}}}", number.hole()));
        self.templates.push(Used { template, label });
        let mut rest = template;
        while let Some((before, after)) = rest.split_once('{') {
            let (hole, after) = after.split_once('}').expect("a hole ends");
            self.sql.push_str(before);
            match hole {
                "V" => self.operand(any, depth, random),
                "T" => self.sql.push_str(target.name()),
                "values" => self.sql.push_str(&values(any, random)),
                "numbers" => self.sql.push_str(&values(number, random)),
                // Each of them another, since mixed types are the point.
                "num" => self.operand(*NUMBERS.choose(random).expect("there are types"), depth, random),
                "unit" => self.sql.push_str(UNITS.choose(random).expect("there are units")),
                name => self.operand(of(name), depth, random),
            }
            rest = after;
        }
        self.sql.push_str(rest);
    }

    fn operand(&mut self, of_type: Type, depth: usize, random: &mut impl Rng) {
        if depth < DEPTH_MAX && random.random_ratio(1, 2) {
            let fitting: Vec<&str> = EXPRESSIONS
                .iter()
                .filter(|(given, _)| *given == Some(of_type))
                .map(|(_, template)| *template)
                .collect();
            if let Some(template) = fitting.choose(random) {
                self.sql.push('(');
                self.fill(template, depth + 1, random);
                self.sql.push(')');
                return;
            }
        }
        self.sql.push_str(&of_type.literal(random));
    }
}

const NUMBERS: [Type; 6] = [
    Type::Int2,
    Type::Int4,
    Type::Int8,
    Type::Float4,
    Type::Float8,
    Type::Numeric,
];
const UNITS: [&str; 10] = [
    "year",
    "quarter",
    "month",
    "week",
    "day",
    "hour",
    "minute",
    "second",
    "decade",
    "millennium",
];

/// A few rows of a key and a value, for aggregates and orders.
fn values(value: Type, random: &mut impl Rng) -> String {
    let rows: Vec<String> = (0..random.random_range(1..=6))
        .map(|row| format!("({row}, {}, {})", row % 2, value.literal(random)))
        .collect();
    format!("(VALUES {}) AS r(n, k, v)", rows.join(", "))
}

fn of(hole: &str) -> Type {
    let known = Type::ALL.into_iter().find(|of_type| of_type.hole() == hole);
    known.unwrap_or_else(|| panic!("no type is called {hole}"))
}
