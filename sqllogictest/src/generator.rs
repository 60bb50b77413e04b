//! Random tests: schemas, rows, views and kills that nobody thought of, judged by the oracle.
//!
//! Everything follows from one seed, which is printed. A run is a number of cases, each against a server of its own
//! with its own tables and views; case n of a seed is the same whenever it is run, up to the server's own timing. A
//! failure reports the statements of its case as a script that can be pasted into psql.

mod change;
mod join;
mod ordered;
mod query;
mod schema;

use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use millpond_tests::{Server, ServerOptions};
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::oracle::{self, Relation};
use crate::{Session, Target};
use schema::{Relation as Named, Table};

const WORKERS: [usize; 3] = [1, 2, 4];
/// A view costs a dataflow; more of them find little more.
const VIEWS_MAX: usize = 8;
/// A statement of the script that stands for a kill.
const KILLED: &str = "-- kill -9, start again with workers =";

/// What a run did.
#[derive(Debug, Default, Clone, Copy)]
pub struct Report {
    pub cases: u64,
    pub statements: usize,
    pub oracle_checks: usize,
    pub restarts: usize,
}

/// Runs cases of `seed` from number `first` on until `time` is over; at least one.
pub async fn run(seed: u64, first: u64, time: Duration) -> Result<Report> {
    let begun = tokio::time::Instant::now();
    let mut report = Report::default();
    while report.cases == 0 || begun.elapsed() < time {
        let number = first + report.cases;
        let outcome = run_case(seed, number, &mut report).await;
        outcome.with_context(|| {
            format!(
                "case {number} failed, after {report:?}; to repeat it: MILLPOND_SEED={seed} \
                 MILLPOND_GENERATOR_CASE={number}"
            )
        })?;
        report.cases += 1;
    }
    Ok(report)
}

async fn run_case(seed: u64, number: u64, report: &mut Report) -> Result<()> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    random.set_stream(number);
    let workers = *WORKERS.choose(&mut random).expect("there are numbers of workers");
    let server = Server::start(ServerOptions::workers(workers))?;
    let session = Session::new(Target::Own(Box::new(server)));
    let mut case = Case {
        random,
        session,
        tables: Vec::new(),
        views: Vec::new(),
        paused: false,
        script: Vec::new(),
    };
    let result = case.run(report).await;
    report.statements += case.script.len();
    report.restarts += case.script.iter().filter(|line| line.starts_with(KILLED)).count();
    result.map_err(|error| {
        anyhow!(
            "{error:#}\n--- script ---\n{}\n{}",
            case.script.join(";\n"),
            case.session.log_tail()
        )
    })
}

struct Case {
    random: ChaCha8Rng,
    session: Session,
    tables: Vec<Table>,
    views: Vec<View>,
    /// Some view is paused.
    paused: bool,
    /// All statements so far.
    script: Vec<String>,
}

struct View {
    relation: Named,
    append: bool,
}

impl Case {
    async fn run(&mut self, report: &mut Report) -> Result<()> {
        for number in 0..self.random.random_range(1..=3) {
            let table = Table::random(&mut self.random, number);
            self.execute(table.create()).await?;
            self.tables.push(table);
        }
        for _ in 0..self.random.random_range(15..=40) {
            match self.random.random_range(0..100) {
                0..32 => self.insert().await?,
                32..50 => self.change().await?,
                50..70 => self.create_view().await?,
                70..85 => self.flush_and_check(report).await?,
                85..93 => self.restart()?,
                _ => self.pause().await?,
            }
        }
        self.flush_and_check(report).await?;
        // Nothing came since, so the restarted views must be as they were without any FLUSH.
        self.restart()?;
        self.check(report).await
    }

    async fn execute(&mut self, sql: String) -> Result<()> {
        self.script.push(sql.clone());
        self.session.expect(&sql).await.map(|_| ())
    }

    async fn insert(&mut self) -> Result<()> {
        let table = self.tables.choose(&mut self.random).expect("a case has tables");
        let insert = table.insert(&mut self.random);
        self.execute(insert).await
    }

    async fn change(&mut self) -> Result<()> {
        let table = self.tables.choose(&mut self.random).expect("a case has tables");
        let change = table.change(&mut self.random);
        self.execute(change).await
    }

    async fn create_view(&mut self) -> Result<()> {
        if self.views.len() == VIEWS_MAX {
            return Ok(());
        }
        let name = format!("v{}", self.views.len());
        let inputs: Vec<&Named> = self
            .tables
            .iter()
            .map(|table| &table.relation)
            .chain(self.views.iter().map(|v| &v.relation))
            .collect();
        let query = query::random(&mut self.random, &inputs);
        let options = if query.append {
            " WITH (output_mode = 'append')"
        } else {
            ""
        };
        let create = format!("CREATE STREAMING VIEW {name}{options} AS {}", query.sql);
        self.execute(create).await?;
        let relation = Named {
            name,
            columns: query.columns,
            watermark: None,
            small: query.small,
        };
        self.views.push(View {
            relation,
            append: query.append,
        });
        Ok(())
    }

    async fn pause(&mut self) -> Result<()> {
        let Some(view) = self.views.choose(&mut self.random) else {
            return Ok(());
        };
        let pause = format!("ALTER STREAMING VIEW {} PAUSE", view.relation.name);
        self.paused = true;
        self.execute(pause).await
    }

    fn restart(&mut self) -> Result<()> {
        let workers = *WORKERS
            .choose(&mut self.random)
            .expect("there are numbers of workers");
        self.script.push(format!("{KILLED} {workers}"));
        self.session.restart(workers)
    }

    async fn flush_and_check(&mut self, report: &mut Report) -> Result<()> {
        if std::mem::take(&mut self.paused) {
            let names: Vec<_> = self.views.iter().map(|view| view.relation.name.clone()).collect();
            for name in names {
                self.execute(format!("ALTER STREAMING VIEW {name} RESUME"))
                    .await?;
            }
        }
        self.execute("FLUSH".to_owned()).await?;
        self.check(report).await
    }

    async fn check(&mut self, report: &mut Report) -> Result<()> {
        for view in oracle::views(&mut self.session).await? {
            let append = self
                .views
                .iter()
                .any(|v| v.append && v.relation.name == view.name);
            let relation = if append { Relation::Subset } else { Relation::Equal };
            oracle::check(&mut self.session, &view, relation).await?;
            report.oracle_checks += 1;
        }
        Ok(())
    }
}
