//! A suite file: its records, and what its comments tell the runner.
//!
//! A comment line `# runner: ...` is for the runner:
//! - `# runner: oracle skips v, w: why`: these views rightly differ from their SELECT, for example after late rows;
//! - `# runner: views first: why`: views are not held back, the file is about views that see data arrive;
//! - `# runner: no restarts: why`: the file is about one run of the server.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use sqllogictest::{DefaultColumnType, Record, parse_with_name};

/// A parsed `.slt` file.
pub struct Suite {
    pub records: Vec<Record<DefaultColumnType>>,
    pub directives: Directives,
}

/// The `# runner:` lines of a file.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Directives {
    pub oracle_skips: BTreeSet<String>,
    pub views_first: bool,
    pub no_restarts: bool,
}

impl Suite {
    /// Reads a file. `${CASE_DIR}` stands for its folder and `${TEST_DIR}` for `test_dir`, empty at the start.
    pub fn read(path: &Path, test_dir: &Path) -> Result<Suite> {
        let path = path
            .canonicalize()
            .with_context(|| format!("no file {}", path.display()))?;
        let case_dir = path
            .parent()
            .context("a file is in a folder")?
            .display()
            .to_string();
        let text = std::fs::read_to_string(&path)?;
        let text = text
            .replace("${CASE_DIR}", &case_dir)
            .replace("${TEST_DIR}", &test_dir.display().to_string());
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let directives = Directives::read(&text).with_context(|| name.clone())?;
        let records = parse_with_name(&text, name)?;
        Ok(Suite { records, directives })
    }

    /// True when lateness matters in this file: then data that waits for a view must not wait longer than to the first
    /// `FLUSH`, which ends an epoch.
    pub fn has_watermark(&self) -> bool {
        self.records.iter().any(|record| {
            matches!(record, Record::Statement { sql, .. } if sql.to_ascii_uppercase().contains("WATERMARK "))
        })
    }
}

impl Directives {
    fn read(text: &str) -> Result<Directives> {
        let mut directives = Directives::default();
        for line in text.lines().filter_map(|line| line.strip_prefix("# runner:")) {
            let Some((what, reason)) = line.split_once(':') else {
                bail!("'# runner:{line}' needs a reason after another colon");
            };
            if reason.trim().is_empty() {
                bail!("'# runner:{line}' needs a reason");
            }
            match what.trim() {
                "views first" => directives.views_first = true,
                "no restarts" => directives.no_restarts = true,
                what => match what.strip_prefix("oracle skips ") {
                    Some(views) => directives
                        .oracle_skips
                        .extend(views.split(',').map(|v| v.trim().to_owned())),
                    None => bail!("unknown directive '# runner: {what}'"),
                },
            }
        }
        Ok(directives)
    }
}

/// All `.slt` files in `path` and below, sorted; `path` itself when it is a file.
pub fn find_suites(path: &Path) -> Result<Vec<PathBuf>> {
    if path.is_file() {
        return Ok(vec![path.to_owned()]);
    }
    let mut found = Vec::new();
    for entry in std::fs::read_dir(path).with_context(|| format!("no folder {}", path.display()))? {
        let path = entry?.path();
        if path.is_dir() || path.extension().is_some_and(|extension| extension == "slt") {
            found.extend(find_suites(&path)?);
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directives_need_a_reason_and_a_known_name() {
        let directives =
            Directives::read("# runner: oracle skips v, w: late rows\n# runner: views first: epochs\n");
        let directives = directives.unwrap();
        assert_eq!(
            directives.oracle_skips,
            BTreeSet::from(["v".to_owned(), "w".to_owned()])
        );
        assert!(directives.views_first && !directives.no_restarts);
        assert!(Directives::read("# runner: no restarts").is_err());
        assert!(Directives::read("# runner: no restart: typo").is_err());
    }
}
