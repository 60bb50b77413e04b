//! Runs any `.slt` files against a fresh server each and prints counts.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;
use millpond_sqllogictest::{Configuration, Restarts, Target, ViewOrder, find_suites, runner};
use millpond_tests::{Server, ServerOptions};

/// Run sqllogictest files against Millpond, a fresh server for each file.
#[derive(Parser)]
struct Options {
    /// Files, or folders that are searched for .slt files.
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// Workers of the server.
    #[arg(long, default_value_t = 1)]
    workers: usize,
    /// Create streaming views after the data that a file inserts first.
    #[arg(long)]
    views_after: bool,
    /// Kill the server with SIGKILL between statements: at points chosen by this seed.
    #[arg(long, value_name = "SEED")]
    restarts: Option<u64>,
    /// Kill the server with SIGKILL between any two statements.
    #[arg(long, conflicts_with = "restarts")]
    restart_always: bool,
    /// Do not compare views with their SELECT after each FLUSH.
    #[arg(long)]
    no_oracle: bool,
    /// Use this server instead of starting one, for example a PostgreSQL: "host=127.0.0.1 user=me dbname=test".
    #[arg(long, value_name = "PARAMETERS")]
    connect: Option<tokio_postgres::Config>,
}

impl Options {
    fn configuration(&self) -> Configuration {
        Configuration {
            workers: self.workers,
            views: if self.views_after {
                ViewOrder::After
            } else {
                ViewOrder::Before
            },
            restarts: match self.restarts {
                Some(seed) => Restarts::Seeded(seed),
                None if self.restart_always => Restarts::Always,
                None => Restarts::Never,
            },
        }
    }

    fn target(&self) -> Result<Target> {
        Ok(match &self.connect {
            Some(config) => Target::Remote(Box::new(config.clone())),
            None => Target::Own(Box::new(Server::start(ServerOptions::workers(self.workers))?)),
        })
    }
}

#[tokio::main]
async fn main() -> Result<ExitCode> {
    let options = Options::parse();
    let configuration = options.configuration();
    let (mut passed, mut failed) = (0, 0);
    for path in &options.paths {
        for file in find_suites(path)? {
            let oracle = !options.no_oracle && options.connect.is_none();
            match runner::run_on(&file, configuration, options.target()?, oracle).await {
                Ok(counts) => {
                    println!("ok     {} ({} records)", file.display(), counts.records);
                    passed += 1;
                }
                Err(error) => {
                    println!("FAILED {}\n{error:#}\n", file.display());
                    failed += 1;
                }
            }
        }
    }
    println!("{passed} passed, {failed} failed");
    Ok(if failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
