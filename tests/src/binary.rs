//! Finds the binary under test, built from the sources as they are now.
//!
//! `cargo test` gives a test only the binaries of its own package, so the first use in a test process asks cargo for
//! the server's binary. That is quick when it is fresh, and a test can never run against a stale server.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The root of the repository.
pub fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the crate is a folder of the workspace")
}

/// Path of the `millpond` binary, of the same profile as the test itself. `MILLPOND_BINARY` names another one, for
/// example an installed release.
///
/// # Panics
/// When the binary cannot be built; the tests can do nothing then.
pub fn millpond() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| match std::env::var_os("MILLPOND_BINARY") {
        Some(path) => PathBuf::from(path),
        None => build(),
    })
}

fn build() -> PathBuf {
    let profile_dir = profile_dir();
    let release = profile_dir.file_name().is_some_and(|name| name == "release");
    let target_dir = profile_dir
        .parent()
        .expect("a profile folder is in a target folder");
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    // All packages are selected so that dependencies get the same features as in `cargo test --workspace`: otherwise
    // half of them would be compiled twice.
    command
        .args(["build", "--quiet", "--workspace", "--bins"])
        .arg("--target-dir")
        .arg(target_dir);
    command
        .args(release.then_some("--release"))
        .current_dir(workspace());
    let output = command.output().expect("cargo runs");
    assert!(
        output.status.success(),
        "cannot build millpond:\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    profile_dir.join("millpond")
}

/// `target/debug` or the like: test binaries are in its `deps`, others in it.
fn profile_dir() -> PathBuf {
    let exe = std::env::current_exe().expect("the path of a running process is known");
    let dir = exe.parent().expect("an executable is in a folder");
    if dir.ends_with("deps") {
        dir.parent().expect("deps is in a profile folder").to_owned()
    } else {
        dir.to_owned()
    }
}
