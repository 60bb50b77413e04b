//! No text makes the parser or the planner panic: cut statements and random soups of their tokens.

use std::fs;
use std::path::Path;

use crate::world::World;
use millpond_sql::{parse, plan};

/// A small generator of numbers, so that the crate needs no other for its tests.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        // xorshift64*
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        usize::try_from(self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33).unwrap() % bound
    }

    fn choose<'a, T: ?Sized>(&mut self, from: &[&'a T]) -> &'a T {
        from[self.below(from.len())]
    }
}

/// The SQL of all golden cases.
fn statements() -> Vec<String> {
    let testdata = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata");
    let mut found = Vec::new();
    for folder in ["parser", "planner"] {
        for entry in fs::read_dir(testdata.join(folder)).unwrap() {
            let text = fs::read_to_string(entry.unwrap().path()).unwrap();
            found.extend(
                text.split("\n====\n")
                    .map(|case| case.split("\n----\n").next().unwrap().to_owned()),
            );
        }
    }
    found.sort();
    assert!(found.len() > 100);
    found
}

fn world() -> World {
    let mut world = World::new();
    let setup = "CREATE TABLE t (a int, b bigint, c text, ts timestamp, u uuid, n numeric(10,2));
        CREATE STREAM ev (k text, v int, ts timestamp, WATERMARK FOR ts AS ts - INTERVAL '10 minutes');
        CREATE STREAMING VIEW w AS SELECT window(ts, '1 minute') AS window, count(*) AS n FROM ev GROUP BY 1";
    for statement in parse(setup).unwrap() {
        let planned = plan(&statement, &world.context()).unwrap();
        world.apply(planned.kind);
    }
    world
}

/// Parses and plans; what comes of it does not matter.
fn swallow(world: &World, sql: &str) {
    let Ok(statements) = parse(sql) else { return };
    for statement in &statements {
        if let Err(error) = plan(statement, &world.context()) {
            assert!(
                error
                    .position
                    .is_none_or(|p| p >= 1 && p <= sql.chars().count() + 1),
                "{sql}: {error:?}"
            );
        }
    }
}

#[test]
fn cut_statements() {
    let world = world();
    for sql in statements() {
        for (cut, _) in sql.char_indices() {
            let _ = parse(&sql[..cut]);
            // Planning takes longer: every 31st place.
            if cut % 31 == 0 {
                swallow(&world, &sql[..cut]);
            }
        }
    }
}

#[test]
fn token_soups() {
    let seed = std::env::var("MILLPOND_SEED")
        .ok()
        .and_then(|s| s.parse().ok())
        .unwrap_or(20_261_129);
    println!("MILLPOND_SEED={seed}");
    let mut random = Random(seed);
    let world = world();
    let statements = statements();
    let tokens: Vec<&str> = statements
        .iter()
        .flat_map(|s| s.split_inclusive(is_end))
        .collect();
    let statements: Vec<&str> = statements.iter().map(String::as_str).collect();
    for _ in 0..1000 {
        // A statement with some tokens replaced, so that the soup is not refused at once.
        let statement = random.choose(&statements);
        let mut words: Vec<&str> = statement.split_inclusive(is_end).collect();
        for _ in 0..1 + random.below(3) {
            let place = random.below(words.len() + 1);
            match random.below(3) {
                0 if place < words.len() => drop(words.remove(place)),
                1 if place < words.len() => words[place] = random.choose(&tokens),
                _ => words.insert(place, random.choose(&tokens)),
            }
        }
        swallow(&world, &words.concat());
        let soup: String = (0..1 + random.below(30))
            .map(|_| random.choose(&tokens))
            .collect();
        swallow(&world, &soup);
    }
}

fn is_end(c: char) -> bool {
    !c.is_alphanumeric() && c != '_'
}

#[test]
fn odd_characters() {
    let world = world();
    for sql in [
        "\u{0}",
        "SELECT '\u{0}'",
        "SELECT \u{1F600}",
        "\u{FEFF}SELECT 1",
        "SELECT 'é' || \"ü\"",
        "$",
        "$$",
        "\\",
        "E'\\",
        "U&'\\zzzz'",
        "@",
        "SELECT @x",
        "{",
        "/*",
        "--",
        "'",
        "\"",
        "`a`",
        "SELECT 0x",
        "SELECT 1e",
        "SELECT 1e999",
        "SELECT .",
        "SELECT 1..2",
        "SELECT $99999999999999999999",
        "SELECT \"\"",
    ] {
        swallow(&world, sql);
    }
}
