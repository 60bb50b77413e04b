//! The circumstances under which a suite is run. They change how the work is done and never a result.

use std::fmt;

/// One way to run a suite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Configuration {
    pub workers: usize,
    pub views: ViewOrder,
    pub restarts: Restarts,
}

/// Whether a streaming view sees its input arrive or finds it there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ViewOrder {
    /// Views are created where the file says.
    Before,
    /// Views are held back until the data that the file inserts first is there.
    After,
}

/// When the server is killed with SIGKILL and started again, with another number of workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Restarts {
    Never,
    /// Between some statements, chosen by this seed and the name of the file.
    Seeded(u64),
    /// Between any two statements.
    Always,
}

impl Configuration {
    pub const PLAIN: Self = Self {
        workers: 1,
        views: ViewOrder::Before,
        restarts: Restarts::Never,
    };

    /// All configurations that every suite must pass. `long` puts a restart between any two statements.
    pub fn matrix(long: bool) -> Vec<Configuration> {
        let mut matrix = Vec::new();
        for views in [ViewOrder::Before, ViewOrder::After] {
            for workers in [1, 2, 4] {
                matrix.push(Configuration {
                    workers,
                    views,
                    restarts: Restarts::Never,
                });
            }
            let restarts = if long {
                Restarts::Always
            } else {
                Restarts::Seeded(7)
            };
            matrix.push(Configuration {
                workers: 2,
                views,
                restarts,
            });
        }
        matrix
    }

    /// Labels for `onlyif` and `skipif` that follow from the configuration.
    pub fn labels(&self) -> Vec<&'static str> {
        let mut labels = Vec::new();
        labels.extend((self.restarts != Restarts::Never).then_some("restart"));
        labels.extend((self.views == ViewOrder::After).then_some("views_after"));
        labels
    }
}

impl fmt::Display for Configuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "workers_{}", self.workers)?;
        f.write_str(match self.views {
            ViewOrder::Before => "+views_before",
            ViewOrder::After => "+views_after",
        })?;
        match self.restarts {
            Restarts::Never => Ok(()),
            Restarts::Seeded(_) => f.write_str("+restarts"),
            Restarts::Always => f.write_str("+restart_always"),
        }
    }
}
