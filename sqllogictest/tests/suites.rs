//! One test for each file in `suites/` and each configuration, named `topic/file+configuration`.
//!
//! `MILLPOND_SUITES=long` puts a restart between any two statements instead of between some.

use std::path::Path;
use std::process::ExitCode;

use millpond_sqllogictest::{Configuration, find_suites, runner};
use sqllogictest::harness::{Arguments, Failed, Trial, run};

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let suites = Path::new(env!("CARGO_MANIFEST_DIR")).join("suites");
    let long = std::env::var("MILLPOND_SUITES").is_ok_and(|mode| mode == "long");
    let mut tests = Vec::new();
    for path in find_suites(&suites).expect("the suites are beside this crate") {
        let topic = path
            .strip_prefix(&suites)
            .expect("it was found there")
            .with_extension("")
            .display()
            .to_string();
        for configuration in Configuration::matrix(long) {
            let path = path.clone();
            tests.push(Trial::test(format!("{topic}+{configuration}"), move || {
                test(&path, configuration)
            }));
        }
    }
    assert!(!tests.is_empty(), "no suites in {}", suites.display());
    run(&arguments, tests).exit_code()
}

fn test(path: &Path, configuration: Configuration) -> Result<(), Failed> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    match runtime.block_on(runner::run_file(path, configuration)) {
        Ok(_) => Ok(()),
        Err(error) => Err(format!("{error:#}").into()),
    }
}
