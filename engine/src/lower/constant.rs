//! VALUES and SELECT without FROM: rows that are there from the first epoch on and never change.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::compute::concat;
use arrow::datatypes::{DataType, Field, Schema};
use datafusion::common::{DFSchema, DFSchemaRef};
use datafusion::logical_expr::Expr;
use datafusion::logical_expr::logical_plan::Values;

use crate::dataflow::{NodeKind, Properties};
use crate::error::Result;
use crate::lower::Lowering;
use crate::lower::stream::{Stream, check_functions, local, physical};
use crate::operator::map::record_batch;
use crate::operator::spec::OperatorSpec;

impl Lowering<'_> {
    /// The one row without columns that SELECT without FROM selects from.
    pub(super) fn one_row(&mut self, schema: &DFSchemaRef) -> Result<Stream> {
        let rows = record_batch(schema.inner(), Vec::new(), 1)?;
        Ok(self.constant(rows, schema))
    }

    pub(super) fn values(&mut self, values: &Values) -> Result<Stream> {
        let schema = values.schema.inner();
        let mut columns = Vec::with_capacity(schema.fields().len());
        for (position, field) in schema.fields().iter().enumerate() {
            let cells = values
                .values
                .iter()
                .map(|row| cell(&row[position], field.data_type()));
            let cells = cells.collect::<Result<Vec<_>>>()?;
            let cells: Vec<&dyn Array> = cells.iter().map(AsRef::as_ref).collect();
            columns.push(concat(&cells)?);
        }
        let rows = record_batch(schema, columns, values.values.len())?;
        Ok(self.constant(rows, &values.schema))
    }

    fn constant(&mut self, rows: RecordBatch, schema: &DFSchemaRef) -> Stream {
        // An operator runs when its input has had its epoch, so a constant has an empty input.
        let empty = self.empty(schema);
        let properties = Properties {
            append_only: true,
            ..Properties::default()
        };
        let kind = NodeKind::Operator(OperatorSpec::Constant(rows));
        let node = self.add(
            kind,
            vec![local(empty.node)],
            Arc::clone(schema.inner()),
            properties,
        );
        Stream::of_node(node, schema, vec![None; schema.fields().len()], true)
    }
}

/// The value of an expression without columns.
fn cell(expr: &Expr, data_type: &DataType) -> Result<ArrayRef> {
    check_functions(expr, false)?;
    let evaluate = || {
        let schema = Arc::new(Schema::new(Vec::<Field>::new()));
        let options = RecordBatchOptions::new().with_row_count(Some(1));
        let nothing = RecordBatch::try_new_with_options(schema, Vec::new(), &options)?;
        let value = physical(expr, &DFSchema::empty())?.evaluate(&nothing)?;
        Ok(value.cast_to(data_type, None)?.into_array(1)?)
    };
    evaluate()
}
