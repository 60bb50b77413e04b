//! The `millpond` binary: reads the configuration and runs the command.

fn main() -> anyhow::Result<()> {
    Ok(())
}
