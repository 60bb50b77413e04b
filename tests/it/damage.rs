//! Damaged data: the server names the file, or goes on without loss. It never starts with less than it had, and never
//! panics.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use millpond_tests::{DEADLINE, Process, Server, ServerOptions, number, run, serve_on};

pub type Damage = fn(Vec<u8>) -> Option<Vec<u8>>;

pub const DAMAGES: [(&str, Damage); 4] = [
    ("cut in half", |content| {
        Some(content[..content.len() / 2].to_vec())
    }),
    ("with a bit flipped", |mut content| {
        let middle = content.len() / 2;
        *content.get_mut(middle)? ^= 0x10;
        Some(content)
    }),
    ("empty", |_| Some(Vec::new())),
    ("gone", |_| None),
];

fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            files.extend(self::files(&path)?);
        } else if path.file_name().is_some_and(|name| name != "LOCK") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    for file in files(from)? {
        let target = to.join(file.strip_prefix(from)?);
        fs::create_dir_all(target.parent().context("a folder")?)?;
        fs::copy(&file, target)?;
    }
    Ok(())
}

#[tokio::test]
async fn damage_is_named_or_mended_and_nothing_is_lost_in_silence() -> Result<()> {
    let mut server = Server::start(ServerOptions::default())?;
    let client = server.connect().await?;
    run(
        &client,
        "CREATE TABLE t (k text, n int);
         CREATE STREAMING VIEW v AS SELECT k, count(*) AS c, sum(n) AS s FROM t GROUP BY k;
         INSERT INTO t SELECT 'k' || (i % 3000), i FROM generate_series(1, 30000) AS g (i);
         FLUSH; INSERT INTO t VALUES ('last', 1); FLUSH",
    )
    .await?;
    server.kill()?;
    let (data, scratch) = (server.data_dir(), server.scratch_dir());
    let newest = newest_files(&data)?;
    ensure!(newest.len() >= 5, "{newest:?}");
    for file in newest {
        for (how, damage) in DAMAGES {
            let said = outcome(&data, &scratch.join("damaged"), &file, damage).await;
            said.with_context(|| format!("{} {how}", file.display()))?;
        }
    }
    Ok(())
}

/// The newest file of each folder, and all of those at the top; as paths below `data`.
pub fn newest_files(data: &Path) -> Result<Vec<PathBuf>> {
    let mut newest: Vec<PathBuf> = Vec::new();
    for file in files(data)? {
        match newest.last_mut() {
            Some(last) if last.parent() == file.parent() && file.parent() != Some(data) => *last = file,
            _ => newest.push(file),
        }
    }
    let below = newest.iter().map(|file| Ok(file.strip_prefix(data)?.to_owned()));
    below.collect()
}

pub enum Started {
    Runs(Server),
    /// It named the damaged file and stopped.
    Refused,
}

/// Starts a server on a copy of `data` in which `file` is damaged; one that refuses must say which file it is.
pub async fn start_on_damaged(data: &Path, damaged: &Path, file: &Path, damage: Damage) -> Result<Started> {
    let _ = fs::remove_dir_all(damaged);
    copy(data, damaged)?;
    match damage(fs::read(data.join(file))?) {
        Some(content) => fs::write(damaged.join(file), content)?,
        None => fs::remove_file(damaged.join(file))?,
    }
    let options = ServerOptions {
        data_dir: Some(damaged.to_owned()),
        ..ServerOptions::default()
    };
    if let Ok(server) = Server::start(options) {
        return Ok(Started::Runs(server));
    }
    // Once more, to read what it says.
    let folder = tempfile::tempdir()?;
    let log = folder.path().join("log");
    let status = Process::start(&mut serve_on(damaged), &log)?.wait(DEADLINE)?;
    let said = fs::read_to_string(&log)?;
    ensure!(!status.success() && !said.contains("panicked"), "{said}");
    let names = ["file ", "meta store"];
    ensure!(
        names.iter().any(|name| said.contains(name)) && said.contains("damaged"),
        "{said}"
    );
    Ok(Started::Refused)
}

/// Starts a server on the damaged data and looks whether everything is there.
async fn outcome(data: &Path, damaged: &Path, file: &Path, damage: Damage) -> Result<()> {
    let Started::Runs(server) = start_on_damaged(data, damaged, file, damage).await? else {
        return Ok(());
    };
    let client = server.connect().await?;
    ensure!(
        number(&client, "SELECT count(*) FROM t").await? == 30_001,
        "rows of t are lost"
    );
    ensure!(
        number(&client, "SELECT sum(c) FROM v").await? == 30_001,
        "rows of v are lost"
    );
    let failed = "SELECT count(*) FROM sys.queries WHERE error NOT LIKE '%file state/%damaged%'";
    ensure!(
        number(&client, failed).await? == 0,
        "a query failed without naming a file"
    );
    ensure!(!server.log_tail().contains("panicked"), "{}", server.log_tail());
    Ok(())
}
