//! EXPLAIN.

use std::sync::Arc;

use millpond_catalog::SqlType;

use crate::error::Result;
use crate::plan::{Explain, ExplainTarget, OutputColumn, Plan, PlanKind};
use crate::statement::{Explain as Statement, ExplainTarget as Target, Statement as CreateStatement};
use crate::text::SourceText;

use super::{PlanContext, create_streaming_view, find_view, plan_statement};

pub fn plan(explain: &Statement, text: &Arc<SourceText>, context: &PlanContext<'_>) -> Result<Plan> {
    let (target, notices, parameters) = match &explain.target {
        Target::View(name) => (
            ExplainTarget::View(find_view(name, text, context)?),
            Vec::new(),
            Vec::new(),
        ),
        Target::Statement(statement) => {
            let plan = match statement.as_ref() {
                CreateStatement::CreateView(create) => {
                    create_streaming_view::plan_anew(create, text, context)?
                }
                statement => plan_statement(statement, text, context)?,
            };
            let (notices, parameters) = (plan.notices.clone(), plan.parameters.clone());
            (
                ExplainTarget::Statement {
                    statement: statement.clone(),
                    plan: Box::new(plan),
                },
                notices,
                parameters,
            )
        }
    };
    let columns = vec![OutputColumn {
        name: "QUERY PLAN".to_owned(),
        sql_type: SqlType::Text,
        origin: None,
    }];
    let kind = PlanKind::Explain(Explain {
        analyze: explain.analyze,
        stage: explain.stage,
        target,
        columns,
    });
    Ok(Plan {
        kind,
        notices,
        parameters,
    })
}
