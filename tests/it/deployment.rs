//! The Dockerfile, the Makefile and the CI script name things that exist.

use std::path::PathBuf;

use millpond_tests::workspace;

fn read(name: &str) -> String {
    std::fs::read_to_string(workspace().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn the_dockerfile_copies_what_is_there_and_starts_what_is_built() {
    let text = read("Dockerfile");
    let stages = text.lines().filter(|line| line.starts_with("FROM ")).count();
    assert_eq!(stages, 2, "one stage builds, the other runs");
    for line in text
        .lines()
        .filter(|line| line.starts_with("COPY ") && !line.contains("--from="))
    {
        let words: Vec<_> = line.split_whitespace().skip(1).collect();
        for source in &words[..words.len() - 1] {
            assert!(
                *source == "." || workspace().join(source).exists(),
                "'{line}' copies {source}, which does not exist"
            );
        }
    }
    assert!(
        text.contains("--bin millpond") && text.contains("release/millpond"),
        "it builds the server's binary"
    );
    assert!(
        text.contains("\nUSER ") && !text.contains("\nUSER root"),
        "it does not run as root"
    );
    assert!(text.contains("\nHEALTHCHECK "), "it has a health check");
    let ignored = read(".dockerignore");
    for line in ["target", ".git"] {
        assert!(
            ignored.lines().any(|l| l == line),
            "{line} is not sent to the builder"
        );
    }
}

/// The container's command and health check, run as they stand.
#[test]
fn commands_of_the_dockerfile_are_known_to_the_binary() {
    let text = read("Dockerfile");
    let entry = text
        .lines()
        .find_map(|line| line.strip_prefix("ENTRYPOINT "))
        .expect("an entry point");
    assert_eq!(entry, r#"["millpond"]"#);
    let arguments: Vec<String> = text
        .lines()
        .find_map(|line| line.strip_prefix("CMD "))
        .map(|cmd| serde_json::from_str(cmd).expect("a list"))
        .expect("a CMD");
    let help = std::process::Command::new(millpond_tests::millpond())
        .args([&arguments[0], "--help"])
        .output();
    let help = String::from_utf8(help.expect("the binary runs").stdout).expect("help is text");
    for flag in arguments.iter().filter(|argument| argument.starts_with("--")) {
        assert!(
            help.contains(flag.as_str()),
            "the Dockerfile uses {flag}, which the binary does not know"
        );
    }
}

#[test]
fn the_makefile_has_the_documented_targets() {
    let text = read("Makefile");
    for target in ["demo", "test", "bench", "fmt", "lint"] {
        assert!(
            text.lines().any(|line| line.starts_with(&format!("{target}:"))),
            "no target '{target}'"
        );
    }
    let script = workspace().join(".ci/run");
    assert!(executable(&script), ".ci/run can be executed");
}

#[cfg(unix)]
fn executable(path: &PathBuf) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).is_ok_and(|meta| meta.permissions().mode() & 0o111 != 0)
}
