//! The real psql: what it asks the catalog for, how it shows errors, and the examples.

use std::process::Output;

use anyhow::{Context, Result};
use millpond_tests::{Server, ServerOptions, workspace};

/// Runs psql with `arguments` and answers what it wrote.
fn psql(server: &Server, arguments: &[&str]) -> Result<Output> {
    let mut command = server.psql();
    command.args(arguments).current_dir(workspace());
    command
        .output()
        .context("psql is needed for this test: `make test` installs it (package postgresql-client)")
}

/// Standard output of a psql that must succeed, with nothing on standard error.
fn shown(server: &Server, commands: &[&str]) -> Result<String> {
    let mut arguments = vec!["-v", "ON_ERROR_STOP=1"];
    for command in commands {
        arguments.extend(["-c", command]);
    }
    let output = psql(server, &arguments)?;
    let error = String::from_utf8(output.stderr)?;
    assert!(
        output.status.success() && error.is_empty(),
        "{commands:?}: {error}"
    );
    Ok(String::from_utf8(output.stdout)?)
}

fn server_with_objects() -> Result<Server> {
    let server = Server::start(ServerOptions::default())?;
    let setup = "CREATE TABLE orders (id int NOT NULL, customer varchar(20) DEFAULT 'nobody', amount numeric(8,2), at timestamptz);
                 CREATE STREAM clicks (page text, at timestamp, WATERMARK FOR at AS at - INTERVAL '1 minute');
                 CREATE STREAMING VIEW totals AS SELECT customer, count(*) AS n, sum(amount) AS total FROM orders GROUP BY customer";
    shown(&server, &[setup])?;
    Ok(server)
}

#[test]
fn the_lists_of_psql_show_our_objects() -> Result<()> {
    let server = server_with_objects()?;
    let all = shown(&server, &["\\d"])?;
    for (name, kind) in [
        ("orders", "table"),
        ("clicks", "table"),
        ("totals", "materialized view"),
    ] {
        let line = all.lines().find(|line| line.contains(name));
        assert!(
            line.is_some_and(|line| line.contains("public") && line.contains(kind)),
            "\\d shows {name}: {all}"
        );
    }
    let tables = shown(&server, &["\\dt"])?;
    assert!(
        tables.contains("orders") && tables.contains("clicks") && !tables.contains("totals"),
        "{tables}"
    );
    let views = shown(&server, &["\\dm"])?;
    assert!(views.contains("totals") && !views.contains("orders"), "{views}");
    assert!(shown(&server, &["\\dn"])?.contains("public"));
    let databases = shown(&server, &["\\l"])?;
    assert!(databases.contains("UTF8"), "{databases}");
    shown(
        &server,
        &[
            "\\du",
            "\\dT",
            "\\df",
            "\\dx",
            "\\conninfo",
            "\\dt+",
            "\\dm+",
            "\\dp",
        ],
    )?;
    // psql says so on standard error where a list of relations has nothing in it.
    for empty in ["\\di", "\\dv", "\\ds"] {
        let output = psql(&server, &["-v", "ON_ERROR_STOP=1", "-c", empty])?;
        let error = String::from_utf8(output.stderr)?;
        assert!(output.status.success(), "{empty}: {error}");
        assert_eq!(error, "Did not find any relations.\n", "{empty}");
    }
    Ok(())
}

#[test]
fn the_columns_of_an_object_are_described() -> Result<()> {
    let server = server_with_objects()?;
    let table = shown(&server, &["\\d orders"])?;
    for (column, words) in [
        ("id", vec!["integer", "not null"]),
        ("customer", vec!["character varying(20)", "'nobody'"]),
        ("amount", vec!["numeric(8,2)"]),
        ("at", vec!["timestamp with time zone"]),
    ] {
        let line = table.lines().find(|line| line.trim_start().starts_with(column));
        let line = line.with_context(|| format!("no line for {column}: {table}"))?;
        assert!(words.iter().all(|word| line.contains(word)), "{words:?}: {line}");
    }
    let view = shown(&server, &["\\d totals"])?;
    assert!(view.contains("Materialized view \"public.totals\""), "{view}");
    assert!(
        view.contains("customer") && view.contains("bigint") && view.contains("numeric"),
        "{view}"
    );
    let view = shown(&server, &["\\d+ totals"])?;
    assert!(view.contains("count(*)"), "\\d+ shows the query: {view}");
    let missing = psql(&server, &["-c", "\\d missing"])?;
    assert!(String::from_utf8(missing.stderr)?.contains("Did not find any relation named \"missing\""));
    Ok(())
}

#[test]
fn an_error_points_at_its_place() -> Result<()> {
    let server = server_with_objects()?;
    let output = psql(
        &server,
        &[
            "-v",
            "VERBOSITY=verbose",
            "-c",
            "SELECT id,\n  costumer FROM orders",
        ],
    )?;
    let error = String::from_utf8(output.stderr)?;
    assert!(error.contains("42703"), "{error}");
    assert!(
        error.contains("LINE 2:   costumer FROM orders") && error.contains("          ^"),
        "the caret: {error}"
    );
    assert!(
        error.contains("HINT:") && error.contains("customer"),
        "the hint: {error}"
    );
    Ok(())
}

#[test]
fn variables_and_descriptions_work() -> Result<()> {
    let server = server_with_objects()?;
    let shown_rows = shown(
        &server,
        &[
            "INSERT INTO orders VALUES (1, 'ann', 1.5, now())",
            "FLUSH",
            "\\pset format unaligned",
            "SELECT * FROM totals",
        ],
    )?;
    assert!(shown_rows.contains("ann|1|1.50"), "{shown_rows}");
    let script = server.scratch_dir().join("variables.sql");
    std::fs::write(
        &script,
        "\\set wanted ann\nSELECT customer, amount FROM orders WHERE customer = :'wanted' \\gdesc\n\
         SELECT n AS found FROM totals WHERE customer = :'wanted' \\gset\n\\echo found :found\n",
    )?;
    let output = psql(
        &server,
        &["-v", "ON_ERROR_STOP=1", "-f", &script.display().to_string()],
    )?;
    let described = String::from_utf8(output.stdout)?;
    assert!(
        described.contains("character varying(20)") && described.contains("numeric(8,2)"),
        "{described}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(described.contains("found 1"), "{described}");
    Ok(())
}

#[test]
fn rate_lab_counts_fifty_rows_in_each_full_window() -> Result<()> {
    let server = Server::start(ServerOptions::default())?;
    let output = psql(
        &server,
        &["-v", "ON_ERROR_STOP=1", "-At", "-f", "examples/rate_lab.sql"],
    )?;
    let error = String::from_utf8(output.stderr)?;
    assert!(output.status.success(), "{error}");
    let text = String::from_utf8(output.stdout)?;
    let windows: Vec<_> = text
        .lines()
        .filter_map(|line| line.strip_prefix("window|"))
        .collect();
    // About a minute of 10 s windows; the first and the last are cut.
    assert!(windows.len() >= 5, "{text}");
    for window in &windows[1..windows.len() - 1] {
        assert!(
            window.ends_with("|50"),
            "5 rows a second make 50 in 10 s: {window} in {text}"
        );
    }
    Ok(())
}

#[test]
fn page_views_are_counted_in_both_modes() -> Result<()> {
    let server = Server::start(ServerOptions::default())?;
    let output = psql(
        &server,
        &["-v", "ON_ERROR_STOP=1", "-At", "-f", "examples/page_views.sql"],
    )?;
    let error = String::from_utf8(output.stderr)?;
    assert!(output.status.success(), "{error}");
    let text = String::from_utf8(output.stdout)?;
    let of = |mode: &str| -> Vec<String> {
        text.lines()
            .filter_map(|line| line.strip_prefix(&format!("{mode}|")))
            .map(str::to_owned)
            .collect()
    };
    let (update, append) = (of("update"), of("append"));
    assert!(
        !append.is_empty() && append.len() < update.len(),
        "open windows are in update mode only: {text}"
    );
    assert!(
        append.iter().all(|row| update.contains(row)),
        "closed windows are equal in both: {text}"
    );
    let views: u64 = update
        .iter()
        .filter_map(|row| row.rsplit('|').next()?.parse::<u64>().ok())
        .sum();
    assert_eq!(views, page_view_rows()?, "every row of the files is counted once");
    Ok(())
}

/// Rows in the example's files.
fn page_view_rows() -> Result<u64> {
    let mut rows = 0;
    for entry in std::fs::read_dir(workspace().join("examples/data/page_views"))? {
        rows += std::fs::read_to_string(entry?.path())?.lines().count() as u64;
    }
    Ok(rows)
}

/// All SQL of the README, in the order of the page, in one session.
#[test]
fn what_the_readme_says_can_be_pasted() -> Result<()> {
    let server = Server::start(ServerOptions::default())?;
    let page = std::fs::read_to_string(workspace().join("README.md"))?;
    let blocks: Vec<_> = page
        .split("```sql\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next())
        .collect();
    assert!(blocks.len() >= 5, "the README shows SQL");
    let script = server.scratch_dir().join("readme.sql");
    std::fs::write(&script, blocks.join("\n"))?;
    let output = psql(
        &server,
        &["-v", "ON_ERROR_STOP=1", "-f", &script.display().to_string()],
    )?;
    let error = String::from_utf8(output.stderr)?;
    assert!(output.status.success(), "{error}");
    let text = String::from_utf8(output.stdout)?;
    // Results are shown on the page as psql prints them.
    for block in page
        .split("```text\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next())
    {
        assert!(
            text.contains(block.trim_end()),
            "the README shows\n{block}\npsql shows\n{text}"
        );
    }
    Ok(())
}

/// `\\copy` in and out, with what Postgres says of a line that cannot be read.
#[test]
fn copy_brings_rows_in_and_out() -> Result<()> {
    let server = Server::start(ServerOptions::default())?;
    shown(
        &server,
        &["CREATE TABLE t (id int PRIMARY KEY, name text, at timestamptz DEFAULT '2024-01-01 00:00+00')"],
    )?;
    let file = server.scratch_dir().join("rows.csv");
    std::fs::write(&file, "id,name\n1,\"a, \"\"b\"\"\"\n2,\n3,\"\"\n")?;
    let path = file.display();
    let copy = format!("\\copy t (id, name) from '{path}' csv header");
    assert_eq!(shown(&server, &[&copy])?, "COPY 3\n");
    let lines = shown(
        &server,
        &["\\copy (SELECT id, name FROM t ORDER BY id) to stdout"],
    )?;
    assert_eq!(lines, "1\ta, \"b\"\n2\t\\N\n3\t\n");
    let csv = shown(
        &server,
        &["COPY t TO STDOUT WITH (FORMAT csv, HEADER true, NULL 'none')"],
    )?;
    assert!(
        csv.starts_with("id,name,at\n1,\"a, \"\"b\"\"\",2024-01-01 00:00:00+00\n2,none,"),
        "{csv}"
    );
    // All rows or none, and where the fault is.
    std::fs::write(&file, "id,name\n4,x\nfive,y\n")?;
    let output = psql(&server, &["-c", &copy])?;
    let error = String::from_utf8(output.stderr)?;
    assert!(
        error.contains("invalid input syntax for type integer: \"five\"")
            && error.contains("COPY t, line 3, column id: \"five\""),
        "{error}"
    );
    assert_eq!(
        shown(&server, &["COPY (SELECT count(*) FROM t) TO STDOUT"])?,
        "3\n"
    );
    Ok(())
}

#[test]
fn plain_views_are_listed_and_described() -> Result<()> {
    let server = server_with_objects()?;
    shown(
        &server,
        &["CREATE VIEW large AS SELECT id, amount FROM orders WHERE amount > 100"],
    )?;
    let views = shown(&server, &["\\dv"])?;
    assert!(views.contains("large") && !views.contains("totals"), "{views}");
    let described = shown(&server, &["\\d+ large"])?;
    assert!(
        described.contains("numeric(8,2)")
            && described.contains("SELECT id, amount FROM orders WHERE amount > 100"),
        "{described}"
    );
    Ok(())
}
