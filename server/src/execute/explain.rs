//! EXPLAIN: the form of a statement at the asked stage, a row per line.

use std::sync::Arc;
use std::time::Instant;

use datafusion::logical_expr::LogicalPlan;
use futures::StreamExt;
use millpond_catalog::{ObjectId, ObjectKind, Sink, StreamingView};
use millpond_engine::oneoff;
use millpond_sql::plan::{Explain, ExplainTarget};
use millpond_sql::statement::ExplainStage;
use millpond_sql::{Plan, PlanKind};

use super::{Execution, guarded, show};
use crate::coordinator::lower;
use crate::error::{Error, Result, SessionError};
use crate::outcome::{Outcome, RowsTag};

impl Execution<'_> {
    pub(super) async fn explain(&mut self, explain: Explain) -> Result<Outcome> {
        let text = match (explain.target, explain.stage) {
            (ExplainTarget::Statement { statement, .. }, ExplainStage::Statement) => statement.to_string(),
            (ExplainTarget::Statement { plan, .. }, ExplainStage::Plan) => plan.to_string(),
            (ExplainTarget::Statement { plan, .. }, ExplainStage::Dataflow) => {
                self.dataflow(*plan, explain.analyze).await?
            }
            (ExplainTarget::View(view), stage) => self.view(view, stage)?,
        };
        let rows: Vec<_> = text.lines().map(|line| vec![Some(line.to_owned())]).collect();
        show::text_rows(explain.columns, &rows, RowsTag::Fixed("EXPLAIN"))
    }

    /// What would run: the dataflow of a view, the physical plan of a query.
    async fn dataflow(&mut self, plan: Plan, analyze: bool) -> Result<String> {
        match plan.kind {
            PlanKind::CreateView(create) => match &create.object.kind {
                ObjectKind::View(view) | ObjectKind::Sink(Sink { view, .. }) => {
                    Ok(lower(view, &create.query)?.to_string())
                }
                ObjectKind::Table(_) | ObjectKind::Source(_) | ObjectKind::PlainView(_) => {
                    Err(Error::Bug("a view was planned as something else".into()))
                }
            },
            PlanKind::Select(select) => self.physical(select.query, &select.reads, analyze).await,
            PlanKind::Write(_) if analyze => Err(SessionError::Unsupported {
                message: "EXPLAIN ANALYZE of a statement that changes a table is not supported".into(),
                hint: Some("EXPLAIN ANALYZE a SELECT with the same WHERE.".into()),
            }
            .into()),
            PlanKind::Write(write) => {
                let reads = write
                    .reads
                    .iter()
                    .copied()
                    .chain([write.table])
                    .collect::<Vec<_>>();
                self.physical(write.query, &reads, false).await
            }
            other => Ok(format!("{other}\n(nothing runs)")),
        }
    }

    async fn physical(&mut self, query: LogicalPlan, reads: &[ObjectId], analyze: bool) -> Result<String> {
        let view = Arc::new(self.reading(self.server.coordinator.engine().read(reads)?)?);
        let optimized = guarded(|| Ok(millpond_sql::optimize(query.clone())?))?;
        let mut text = self
            .work
            .race(async { Ok(oneoff::explain(optimized, view, &self.server.oneoff).await?) })
            .await?;
        if analyze {
            let begin = Instant::now();
            let mut rows = self.run_query(query, reads)?;
            let mut count = 0;
            self.work
                .race(async {
                    while let Some(batch) = rows.next().await {
                        count += batch?.num_rows();
                    }
                    Ok(())
                })
                .await?;
            text += &format!(
                "\nRows: {count}\nExecution Time: {:.3} ms",
                begin.elapsed().as_secs_f64() * 1e3
            );
        }
        Ok(text)
    }

    /// The forms of a view that runs.
    fn view(&self, id: ObjectId, stage: ExplainStage) -> Result<String> {
        let catalog = self.server.coordinator.catalog();
        let object = catalog
            .get(id)
            .ok_or_else(|| Error::Bug(format!("view {id} was dropped meanwhile")))?;
        let Some(view) = object.query() else {
            return Err(Error::Bug(format!("object {id} is not a view")));
        };
        match stage {
            ExplainStage::Statement => Ok(object.create_sql.clone()),
            ExplainStage::Plan => Ok(self
                .view_query(&object.create_sql, id)?
                .display_indent()
                .to_string()),
            ExplainStage::Dataflow => {
                let query = self.view_query(&object.create_sql, id)?;
                let flow = lower(view as &StreamingView, &query)?;
                Ok(format!(
                    "{flow}\n{}",
                    self.server.coordinator.engine().query(id)?.message
                ))
            }
        }
    }

    fn view_query(&self, create_sql: &str, id: ObjectId) -> Result<LogicalPlan> {
        let catalog = self.server.coordinator.catalog();
        let relations = self.relations(&self.system_context(catalog.clone()));
        let settings = self.session.info.settings.read().current().clone();
        let context = millpond_sql::PlanContext {
            catalog: &catalog,
            settings: &settings,
            relations: &relations,
            parameter_types: &[],
        };
        let (_, query) = guarded(|| Ok(millpond_sql::plan_object(create_sql, id, &context)?))?;
        query.ok_or_else(|| Error::Bug("a view was planned without its query".into()))
    }
}
