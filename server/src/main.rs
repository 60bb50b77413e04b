//! The `millpond` binary: reads the configuration and runs the command.

use std::process::ExitCode;

use clap::Parser;
use millpond_server::config::{Cli, Command, Config, LogFormat};
use millpond_server::{demo, server};
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::EnvFilter;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    match run(Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("millpond: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(cli: Cli) -> anyhow::Result<()> {
    match cli.command {
        Command::Serve(args) => {
            let config = Config::load(&args)?;
            log_to_stderr(&config)?;
            run_to_end(serve(&config))
        }
        Command::Demo(args) => {
            let config = demo::config(&args)?;
            log_to_stderr(&config.config)?;
            run_to_end(demo::run(&config, stop_signal()))
        }
    }
}

/// Ends with the command: work that is stuck does not hold the process.
fn run_to_end(command: impl Future<Output = anyhow::Result<()>>) -> anyhow::Result<()> {
    let runtime = server::io_runtime()?;
    let result = runtime.block_on(command);
    runtime.shutdown_background();
    result
}

async fn serve(config: &Config) -> anyhow::Result<()> {
    let stop = stop_signal();
    let running = server::start(config).await?;
    println!(
        "millpond ready: postgres {} http {}",
        running.postgres, running.http
    );
    stop.await;
    running.stop().await;
    Ok(())
}

/// Ends with the first SIGTERM or SIGINT. A second one ends the process at once.
async fn stop_signal() {
    let (Ok(mut terminate), Ok(mut interrupt)) =
        (signal(SignalKind::terminate()), signal(SignalKind::interrupt()))
    else {
        tracing::error!("signals cannot be caught; the process ends without saving time for the next start");
        return std::future::pending().await;
    };
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    tokio::spawn(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        const FORCED: i32 = 130;
        std::process::exit(FORCED);
    });
}

fn log_to_stderr(config: &Config) -> anyhow::Result<()> {
    let filter = EnvFilter::try_new(&config.log)?;
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr);
    match config.log_format {
        LogFormat::Text => builder.with_ansi(false).init(),
        LogFormat::Json => builder.json().init(),
    }
    Ok(())
}
