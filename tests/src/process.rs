//! A child process whose output is kept and which never outlives the test that started it.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// A running process. Standard error goes straight into the log file, standard output line by line through
/// [`Process::wait_for_line`] and into the same file.
pub struct Process {
    pid: u32,
    log: PathBuf,
    lines: Receiver<String>,
    ended: Receiver<std::io::Result<ExitStatus>>,
    status: Option<ExitStatus>,
}

/// How a process ended.
#[derive(Debug)]
pub struct Ended {
    pub status: ExitStatus,
    pub took: Duration,
}

impl Process {
    /// Starts `command` and appends what it writes to `log`.
    pub fn start(command: &mut Command, log: &Path) -> Result<Process> {
        let file = OpenOptions::new().create(true).append(true).open(log)?;
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(file.try_clone()?);
        let mut child = command
            .spawn()
            .with_context(|| format!("cannot start {command:?}"))?;
        let lines = forward_lines(&mut child, file);
        let pid = child.id();
        let (send, ended) = channel();
        // A thread waits, so that a deadline can be put on the end of the process without polling.
        std::thread::spawn(move || {
            // The receiver is gone when nobody wants to know.
            let _ = send.send(child.wait());
        });
        Ok(Process {
            pid,
            log: log.to_owned(),
            lines,
            ended,
            status: None,
        })
    }

    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Waits for a line on standard output that begins with `prefix`.
    pub fn wait_for_line(&self, prefix: &str, timeout: Duration) -> Result<String> {
        let deadline = Instant::now() + timeout;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(line) if line.starts_with(prefix) => return Ok(line),
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout) => {
                    bail!("no line '{prefix}' within {timeout:?}:\n{}", self.log_tail())
                }
                Err(RecvTimeoutError::Disconnected) => {
                    bail!("ended without '{prefix}':\n{}", self.log_tail())
                }
            }
        }
    }

    /// Sends `signal` (`TERM`, `KILL`, `INT`) and waits for the process to end.
    pub fn signal_and_wait(&mut self, signal: &str, timeout: Duration) -> Result<Ended> {
        let begun = Instant::now();
        if self.status.is_none() {
            // The shell's own kill: a machine without procps has no other.
            let pid = self.pid.to_string();
            Command::new("sh")
                .args(["-c", "kill -\"$0\" \"$1\" 2>/dev/null", signal, &pid])
                .status()?;
        }
        let status = self.wait(timeout)?;
        Ok(Ended {
            status,
            took: begun.elapsed(),
        })
    }

    /// Waits for the process to end by itself.
    pub fn wait(&mut self, timeout: Duration) -> Result<ExitStatus> {
        if let Some(status) = self.status {
            return Ok(status);
        }
        let Ok(status) = self.ended.recv_timeout(timeout) else {
            bail!(
                "process {} still runs after {timeout:?}:\n{}",
                self.pid,
                self.log_tail()
            );
        };
        Ok(*self.status.insert(status?))
    }

    /// The last lines that the process wrote.
    pub fn log_tail(&self) -> String {
        const LINES: usize = 80;
        let text = std::fs::read(&self.log).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<_> = text.lines().collect();
        format!(
            "--- log ---\n{}\n--- end of log ---",
            lines[lines.len().saturating_sub(LINES)..].join("\n")
        )
    }
}

fn forward_lines(child: &mut Child, mut log: File) -> Receiver<String> {
    let (send, lines) = channel();
    let stdout = child.stdout.take().expect("standard output was asked for");
    std::thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(std::io::Result::ok) {
            // Neither a full disk nor a test that listens no more may stop the child by filling its pipe.
            let _ = writeln!(log, "{line}");
            let _ = send.send(line);
        }
    });
    lines
}

impl Drop for Process {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", self.log_tail());
        }
        if let Err(error) = self.signal_and_wait("KILL", Duration::from_secs(10)) {
            eprintln!("cannot kill process {}: {error}", self.pid);
        }
    }
}
