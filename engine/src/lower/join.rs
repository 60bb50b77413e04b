//! Joins: two inputs with their keys as columns, and what else a pair of rows must meet.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::datatypes::{Field, Schema};
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, JoinType, NullEquality};
use datafusion::logical_expr::logical_plan::Join;
use datafusion::logical_expr::{Expr, ExprSchemable};
use datafusion::physical_expr::expressions::Column as PhysicalColumn;
use datafusion::physical_expr::utils::collect_columns;

use crate::dataflow::{Distribution, Edge, NodeKind, Properties};
use crate::error::{Error, Result};
use crate::lower::Lowering;
use crate::lower::stream::{Stream, check_functions, physical};
use crate::operator::spec::{JoinFilter, JoinSpec, OperatorSpec};

/// One side of a join as a node: its own columns, then those that only carry keys.
struct Side {
    stream: Stream,
    keys: Vec<usize>,
    width: usize,
}

impl Lowering<'_> {
    pub(super) fn join(&mut self, join: &Join) -> Result<Stream> {
        if join.null_aware {
            return Err(Error::Bug("NOT IN was to be taken apart before".to_owned()));
        }
        let (left_keys, right_keys): (Vec<Expr>, Vec<Expr>) = join.on.iter().cloned().unzip();
        let left = self.lower(&join.left)?;
        let left = self.with_keys(left, &left_keys)?;
        let right = self.lower(&join.right)?;
        let right = self.with_keys(right, &right_keys)?;
        for (l, r) in left.keys.iter().zip(&right.keys) {
            let (l, r) = (left.stream.real.field(*l), right.stream.real.field(*r));
            if l.data_type() != r.data_type() {
                return Err(Error::Bug(format!(
                    "join keys of types {} and {}",
                    l.data_type(),
                    r.data_type()
                )));
            }
        }
        let filter = join.filter.as_ref().map(|filter| join_filter(filter, join));
        let output = Arc::clone(join.schema.inner());
        let spec = JoinSpec {
            kind: join.join_type,
            inputs: [Arc::clone(&left.stream.real), Arc::clone(&right.stream.real)],
            widths: [left.width, right.width],
            nulls_match: join.null_equality == NullEquality::NullEqualsNull,
            filter: filter.transpose()?,
            output: Arc::clone(&output),
            keys: [left.keys, right.keys],
            fail_on_error: self.options.fail_on_error,
        };
        let append_only = spec.keeps_append_only() && left.stream.append_only && right.stream.append_only;
        let edges = [&left.stream, &right.stream].into_iter().zip(&spec.keys);
        let edges = edges.map(|(stream, keys)| Edge {
            from: stream.node,
            distribution: if keys.is_empty() {
                Distribution::Single
            } else {
                Distribution::Hash(keys.clone())
            },
        });
        let edges = edges.collect();
        let properties = Properties {
            append_only,
            state_bound: Some("the rows of both sides".to_owned()),
            ..Properties::default()
        };
        let kind = NodeKind::Operator(OperatorSpec::Join(Arc::new(spec)));
        let node = self.add(kind, edges, output, properties);
        // A row waits for its partner for as long as it takes, so no watermark bounds a time that comes out.
        let times = vec![None; join.schema.fields().len()];
        Ok(Stream::of_node(node, &join.schema, times, append_only))
    }

    /// Makes `stream` a node that has every key as a column.
    fn with_keys(&mut self, stream: Stream, keys: &[Expr]) -> Result<Side> {
        let logical = Arc::clone(&stream.schema);
        let width = logical.fields().len();
        let mut exprs: Vec<Expr> = logical.columns().into_iter().map(Expr::Column).collect();
        let mut fields: Vec<_> = logical.iter().map(|(q, f)| (q.cloned(), Arc::clone(f))).collect();
        let mut positions = Vec::with_capacity(keys.len());
        for key in keys {
            if let Expr::Column(column) = key {
                positions.push(logical.index_of_column(column)?);
                continue;
            }
            let known = exprs.iter().position(|expr| expr == key);
            positions.push(known.unwrap_or(exprs.len()));
            if known.is_none() {
                let (data_type, nullable) = (key.get_type(&logical)?, key.nullable(&logical)?);
                let field = Field::new(key.to_string(), data_type, nullable);
                fields.push((None, Arc::new(field)));
                exprs.push(key.clone());
            }
        }
        let stream = if exprs.len() == width {
            stream
        } else {
            let metadata = logical.metadata().clone();
            let schema = Arc::new(DFSchema::new_with_metadata(fields, metadata)?);
            self.project(stream, &exprs, &schema)?
        };
        Ok(Side {
            stream: self.as_node(stream)?,
            keys: positions,
            width,
        })
    }
}

/// The filter over just the columns that it reads.
fn join_filter(filter: &Expr, join: &Join) -> Result<JoinFilter> {
    // Its value must be the same whenever a pair is looked at.
    check_functions(filter, false)?;
    let (left, right) = (join.left.schema(), join.right.schema());
    let both = DFSchema::new_with_metadata(
        left.iter()
            .chain(right.iter())
            .map(|(q, f)| (q.cloned(), Arc::clone(f)))
            .collect(),
        left.metadata().clone(),
    )?;
    let predicate = physical(filter, &both)?;
    let mut read: Vec<usize> = collect_columns(&predicate)
        .iter()
        .map(|column| column.index())
        .collect();
    read.sort_unstable();
    let positions: BTreeMap<usize, usize> = read.iter().enumerate().map(|(new, old)| (*old, new)).collect();
    // The two sides may have columns of one name.
    let qualified = |column: usize| {
        let (qualifier, field) = both.qualified_field(column);
        match qualifier {
            Some(qualifier) => format!("{}.{}", qualifier.table(), field.name()),
            None => field.name().clone(),
        }
    };
    let predicate = predicate.transform_up(|expr| match expr.downcast_ref::<PhysicalColumn>() {
        Some(column) => {
            let name = qualified(column.index());
            let moved = PhysicalColumn::new(&name, positions[&column.index()]);
            Ok(Transformed::yes(Arc::new(moved) as _))
        }
        None => Ok(Transformed::no(expr)),
    })?;
    let width = left.fields().len();
    let columns = read.iter().map(|column| {
        if *column < width {
            (0, *column)
        } else {
            (1, *column - width)
        }
    });
    let field = |column: &usize| both.field(*column).as_ref().clone().with_name(qualified(*column));
    let fields: Vec<Field> = read.iter().map(field).collect();
    Ok(JoinFilter {
        columns: columns.collect(),
        schema: Arc::new(Schema::new(fields)),
        predicate: predicate.data,
    })
}

/// Whether a join has no row because a side, `left` or `right`, has none.
pub(super) fn has_no_rows(kind: JoinType, left: bool, right: bool) -> bool {
    match kind {
        JoinType::Inner | JoinType::LeftSemi | JoinType::RightSemi => left || right,
        JoinType::Left | JoinType::LeftAnti | JoinType::LeftMark => left,
        JoinType::Right | JoinType::RightAnti | JoinType::RightMark => right,
        JoinType::Full => left && right,
    }
}
