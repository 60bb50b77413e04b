//! CREATE VIEW, and what a query that names one reads.
//!
//! A view is planned as in a session with default settings: its text must mean the same to every reader.

use std::borrow::Cow;
use std::sync::Arc;

use arrow::datatypes::{Schema, SchemaRef};
use datafusion::common::TableReference;
use datafusion::common::tree_node::Transformed;
use datafusion::error::Result as DataFusionResult;
use datafusion::logical_expr::{LogicalPlan, SubqueryAlias, TableSource};
use millpond_catalog::{DEFAULT_SCHEMA, Object, ObjectId, ObjectKind, PlainView};

use crate::error::{Error, ErrorKind, Result};
use crate::plan::{CreateRelation, ObjectDraft, Plan, PlanKind};
use crate::statement::{CreatePlainView as Statement, Statement as AnyStatement};
use crate::text::SourceText;

use super::create_relation::{Place, place, position_of};
use super::create_streaming_view::columns;
use super::{PlanContext, Purpose, canonical, names, query, translate};

pub fn plan(create: &Statement, text: &SourceText, context: &PlanContext<'_>) -> Result<Plan> {
    let place = place(
        &create.name,
        create.or_replace,
        create.if_not_exists,
        "view",
        text,
        context,
    )?;
    let (name, replaces) = match place {
        Place::Taken(notice) => {
            return Ok(Plan {
                notices: vec![notice],
                ..PlanKind::Nothing { tag: "CREATE VIEW" }.into()
            });
        }
        Place::Free { name, replaces } => (name, replaces),
    };
    let settings = names::fixed_settings(&name.schema);
    let fixed = PlanContext {
        settings: &settings,
        parameter_types: &[],
        ..*context
    };
    let planned = query::plan(&create.query, Purpose::Select, text, &fixed)?;
    if !planned.parameters.is_empty() {
        return Err(Error::new(
            ErrorKind::UndefinedParameter,
            "a view cannot have parameters",
        ));
    }
    let reads = planned.depends_on();
    if replaces.is_some_and(|id| reads.contains(&id)) {
        return Err(Error::invalid(format!("view {name} cannot read itself"))
            .or_position(position_of(&create.name, text)));
    }
    let columns = columns(
        &create.columns,
        "CREATE VIEW",
        &planned.columns,
        planned.plan.schema().as_arrow(),
        text,
    )?;
    let renamed: Vec<String> = create.columns.iter().map(names::fold).collect();
    let written = &text.as_str()[create.query_range.clone()];
    let object = ObjectDraft {
        create_sql: canonical::plain_view(&name, &renamed, written),
        name,
        columns,
        kind: ObjectKind::PlainView(PlainView {
            query: written.to_owned(),
        }),
        reads,
    };
    Ok(Plan {
        notices: planned.notices,
        ..PlanKind::CreateRelation(CreateRelation { object, replaces }).into()
    })
}

/// The query of a view in the place of its name.
#[derive(Debug)]
pub struct Expanded {
    schema: SchemaRef,
    plan: LogicalPlan,
}

impl TableSource for Expanded {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn get_logical_plan(&self) -> Option<Cow<'_, LogicalPlan>> {
        Some(Cow::Borrowed(&self.plan))
    }
}

/// Plans the query of a view for a reader; gives also the views that it names.
pub fn expand(
    object: &Object,
    purpose: Purpose,
    context: &PlanContext<'_>,
) -> Result<(Expanded, Vec<ObjectId>)> {
    let broken = || {
        Error::new(
            ErrorKind::Internal,
            format!("the stored text of view {} is not that of a view", object.name),
        )
    };
    let statement = crate::parser::parse(&object.create_sql)?
        .pop()
        .ok_or_else(broken)?;
    let AnyStatement::CreatePlainView(create) = &statement.statement else {
        return Err(broken());
    };
    let settings = names::fixed_settings(&object.name.schema);
    let fixed = PlanContext {
        settings: &settings,
        parameter_types: &[],
        ..*context
    };
    let inner = match purpose {
        Purpose::View => Purpose::View,
        Purpose::Select | Purpose::Insert => Purpose::Select,
    };
    // Positions in the text of the view mean nothing to the reader.
    let unplaced = |error: Error| Error {
        position: None,
        ..error
    };
    let mut planned = query::plan(&create.query, inner, &statement.text, &fixed).map_err(unplaced)?;
    if object.name.schema != DEFAULT_SCHEMA {
        planned.plan = with_schemas(planned.plan, &fixed)
            .map_err(|error| translate::translate(error, &statement.text))?;
    }
    let fields: Vec<_> = object
        .columns
        .iter()
        .map(|c| c.sql_type.field(&c.name, true))
        .collect();
    let schema = Arc::new(Schema::new(fields));
    let plan = query::with_columns(planned.plan, &schema)
        .map_err(|error| translate::translate(error, &statement.text))?;
    let mut views = planned.views;
    views.push(object.id);
    Ok((Expanded { schema, plan }, views))
}

/// Says the schema of relations that the view's own schema has, where a reader would look elsewhere.
fn with_schemas(plan: LogicalPlan, context: &PlanContext<'_>) -> DataFusionResult<LogicalPlan> {
    plan.transform_up_with_subqueries(|node| {
        let LogicalPlan::TableScan(mut scan) = node else {
            return Ok(Transformed::no(node));
        };
        let name = scan.table_name.table().to_owned();
        let found = match scan.table_name.schema() {
            None => names::find(None, &name, context),
            Some(_) => None,
        };
        let Some(object) = found.filter(|object| object.name.schema != DEFAULT_SCHEMA) else {
            return Ok(Transformed::no(LogicalPlan::TableScan(scan)));
        };
        let alias = scan.table_name.clone();
        scan.table_name = TableReference::partial(object.name.schema.clone(), name);
        let schema = scan.projected_schema.as_ref().clone();
        scan.projected_schema = Arc::new(schema.replace_qualifier(scan.table_name.clone()));
        let scan = Arc::new(LogicalPlan::TableScan(scan));
        let aliased = SubqueryAlias::try_new(scan, alias)?;
        Ok(Transformed::yes(LogicalPlan::SubqueryAlias(aliased)))
    })
    .map(|transformed| transformed.data)
}
