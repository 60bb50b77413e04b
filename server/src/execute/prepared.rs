//! PREPARE, EXECUTE and DEALLOCATE: prepared statements by SQL, the same ones that the extended protocol has.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::Schema;
use datafusion::common::DFSchema;
use datafusion::execution::context::ExecutionProps;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{ColumnarValue, Expr};
use datafusion::physical_expr::create_physical_expr;
use datafusion::scalar::ScalarValue;
use millpond_catalog::SqlType;
use millpond_sql::ParsedStatement;
use millpond_sql::plan::{Execute, Prepare};
use millpond_sql::statement::Target;

use super::{Execution, result_columns};
use crate::error::{Result, SessionError};
use crate::outcome::Outcome;
use crate::session::PreparedStatement;

impl Execution<'_> {
    pub(super) fn prepare(&mut self, prepare: Prepare) -> Result<Outcome> {
        if self.session.info.statements.contains(&prepare.name) {
            return Err(SessionError::StatementExists(prepare.name).into());
        }
        let declared = prepare.types.into_iter().map(Some).collect();
        let mut prepared = self.prepare_statement(Some(prepare.statement), declared)?;
        prepared.from_sql = true;
        self.session.info.statements.insert(prepare.name, prepared);
        Ok(Outcome::done("PREPARE"))
    }

    /// Plans a statement to learn the types of its parameters and columns.
    pub fn prepare_statement(
        &mut self,
        statement: Option<ParsedStatement>,
        declared: Vec<Option<SqlType>>,
    ) -> Result<PreparedStatement> {
        let Some(statement) = statement else {
            return Ok(PreparedStatement {
                statement: None,
                declared,
                parameters: Vec::new(),
                columns: None,
                from_sql: false,
                prepared_us: self.server.clock.now_us(),
            });
        };
        let plan = self.plan(&statement, &declared)?.plan;
        let columns = result_columns(self.session, &plan)?;
        Ok(PreparedStatement {
            statement: Some(statement),
            declared,
            parameters: plan.parameters,
            columns,
            from_sql: false,
            prepared_us: self.server.clock.now_us(),
        })
    }

    pub(super) async fn execute_prepared(&mut self, execute: Execute) -> Result<Outcome> {
        let prepared = self.session.statement(&execute.name)?;
        let Some(statement) = &prepared.statement else {
            return Ok(Outcome::Empty);
        };
        let expected = prepared.parameters.len();
        if execute.arguments.len() != expected {
            let text = format!(
                "wrong number of parameters for prepared statement \"{}\": expected {expected}, got {}",
                execute.name,
                execute.arguments.len()
            );
            return Err(SessionError::WrongArguments(text).into());
        }
        let values = execute
            .arguments
            .iter()
            .map(evaluate)
            .collect::<Result<Vec<_>>>()?;
        let mut planned = self.plan(statement, &prepared.declared)?;
        planned.plan = planned.plan.bind(&values)?;
        self.carry_out(statement, planned).await
    }

    pub(super) fn deallocate(&mut self, target: Target) -> Result<Outcome> {
        match target {
            Target::All => {
                self.session.info.statements.clear();
                Ok(Outcome::done("DEALLOCATE ALL"))
            }
            Target::Named(name) => match self.session.info.statements.remove(&name) {
                true => Ok(Outcome::done("DEALLOCATE")),
                false => Err(SessionError::NoStatement(name).into()),
            },
        }
    }
}

/// The value of an expression without columns.
pub(crate) fn evaluate(expression: &Expr) -> Result<ScalarValue> {
    let expression = create_physical_expr(
        expression,
        &DFSchema::empty(),
        &ExecutionProps::new(),
        &PhysicalPlanningContext::default(),
    )?;
    let options = arrow::array::RecordBatchOptions::new().with_row_count(Some(1));
    let row = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), Vec::new(), &options)?;
    match expression.evaluate(&row)? {
        ColumnarValue::Scalar(value) => Ok(value),
        ColumnarValue::Array(array) => Ok(ScalarValue::try_from_array(&array, 0)?),
    }
}
