//! Queries of a known benchmark, as views that the oracle judges: a folder in `queries/` with `schema.sql` and a file for
//! each query.

use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::Session;
use crate::oracle::{self, Relation};

#[derive(Debug)]
pub struct QuerySet {
    pub schema: String,
    /// Name and SELECT, by name.
    pub queries: Vec<(String, String)>,
}

impl QuerySet {
    /// Reads the folder `queries/<name>` of this crate.
    pub fn read(name: &str) -> Result<QuerySet> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("queries").join(name);
        let read = |path: &Path| {
            std::fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))
        };
        let mut queries = Vec::new();
        for entry in std::fs::read_dir(&folder)? {
            let path = entry?.path();
            let name = path
                .file_stem()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            if name != "schema" {
                queries.push((name, read(&path)?));
            }
        }
        queries.sort();
        ensure!(!queries.is_empty(), "no queries in {}", folder.display());
        Ok(QuerySet {
            schema: read(&folder.join("schema.sql"))?,
            queries,
        })
    }

    /// Creates a streaming view of each query, of its name.
    pub async fn create_views(&self, session: &mut Session) -> Result<()> {
        for (name, query) in &self.queries {
            session
                .expect(&format!("CREATE STREAMING VIEW {name} AS {query}"))
                .await?;
        }
        Ok(())
    }

    /// Waits until the views hold everything and compares each with its SELECT.
    pub async fn check(&self, session: &mut Session) -> Result<()> {
        session.expect("FLUSH").await?;
        for (name, query) in &self.queries {
            let view = oracle::View {
                name: name.clone(),
                sql: name.clone(),
                query: query.clone(),
            };
            oracle::check(session, &view, Relation::Equal).await?;
        }
        Ok(())
    }

    /// Fails if a view has no row, or none but of NULLs: then its query was not tried at all.
    pub async fn check_not_empty(&self, session: &mut Session) -> Result<()> {
        for (name, _) in &self.queries {
            let rows = session.expect(&format!("SELECT * FROM {name}")).await?.rows;
            ensure!(rows.iter().flatten().any(Option::is_some), "{name} has no row");
        }
        Ok(())
    }
}
