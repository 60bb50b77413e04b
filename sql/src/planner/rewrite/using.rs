//! `JOIN .. USING (c)`: one column `c` in place of two, as Postgres has it.
//!
//! The library takes the column of one side, whichever it finds first: after a RIGHT or FULL JOIN that may be the one that
//! is NULL. So USING becomes ON, an unqualified `c` the column that is not NULL, and `*` the common columns followed by the
//! others. NATURAL needs to know the columns, so it stays as it is where it is right, and is refused where it is not.

use sqlparser::ast::{
    BinaryOperator, ExceptSelectItem, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList,
    FunctionArguments, Ident, JoinConstraint, JoinOperator, ObjectName, ObjectNamePart, OrderByKind, Query,
    Select, SelectItem, SelectItemQualifiedWildcardKind, SetExpr, TableFactor, TableWithJoins, VisitMut,
    WildcardAdditionalOptions,
};

use crate::error::{Error, Result};
use crate::planner::names::fold;

use super::own_expressions::change_own;

/// A column that USING made one.
struct Merged {
    name: String,
    value: Expr,
    /// Numbers of the relations that have it.
    owners: Vec<usize>,
}

/// The relations of one item of FROM.
#[derive(Default)]
struct Joined {
    names: Vec<Ident>,
    merged: Vec<Merged>,
}

/// Which side's rows stay without a partner.
#[derive(Clone, Copy, PartialEq)]
enum Kept {
    NoneOrLeft,
    Right,
    Both,
}

/// Writes the USING clauses of a query's own FROM out.
///
/// # Errors
/// A RIGHT or FULL join whose common columns cannot be told from the text.
pub fn rewrite_query(query: &mut Query) -> Result<()> {
    let SetExpr::Select(select) = query.body.as_mut() else {
        return Ok(());
    };
    let uses = |constraint: &JoinConstraint| {
        matches!(constraint, JoinConstraint::Using(_) | JoinConstraint::Natural)
    };
    let joins = select.from.iter_mut().flat_map(|item| &mut item.joins);
    let mut constraints = joins.filter_map(|join| constraint_of(&mut join.join_operator));
    if !constraints.any(|(constraint, _)| uses(constraint)) {
        return Ok(());
    }
    let mut items = Vec::new();
    for item in &select.from {
        let mut rewritten = item.clone();
        items.extend(write_out(&mut rewritten).map(|joined| (rewritten, joined)));
    }
    if items.len() < select.from.len() {
        return select.from.iter_mut().try_for_each(check);
    }
    let (from, joined): (Vec<TableWithJoins>, Vec<Joined>) = items.into_iter().unzip();
    select.from = Vec::new();
    expand_wildcards(select, &joined);
    let merged: Vec<Merged> = joined.into_iter().flat_map(|joined| joined.merged).collect();
    name_items(select, &merged);
    replace_in(select, &merged);
    let outputs: Vec<String> = select.projection.iter().filter_map(output_name).collect();
    select.from = from;
    if let Some(order_by) = &mut query.order_by
        && let OrderByKind::Expressions(exprs) = &mut order_by.kind
    {
        for order in exprs {
            let is_output = matches!(&order.expr, Expr::Identifier(name) if outputs.contains(&fold(name)));
            if !is_output {
                replace_in(&mut order.expr, &merged);
            }
        }
    }
    Ok(())
}

fn constraint_of(operator: &mut JoinOperator) -> Option<(&mut JoinConstraint, Kept)> {
    Some(match operator {
        JoinOperator::Join(constraint)
        | JoinOperator::Inner(constraint)
        | JoinOperator::Left(constraint)
        | JoinOperator::LeftOuter(constraint) => (constraint, Kept::NoneOrLeft),
        JoinOperator::Right(constraint) | JoinOperator::RightOuter(constraint) => (constraint, Kept::Right),
        JoinOperator::FullOuter(constraint) => (constraint, Kept::Both),
        _ => return None,
    })
}

/// Makes every USING an ON. `None` where that needs more than the text.
fn write_out(item: &mut TableWithJoins) -> Option<Joined> {
    let mut joined = Joined::default();
    joined.names.push(name_of(&item.relation)?);
    for join in &mut item.joins {
        joined.names.push(name_of(&join.relation)?);
        let Some((constraint, kept)) = constraint_of(&mut join.join_operator) else {
            continue;
        };
        match constraint {
            JoinConstraint::Using(columns) => {
                let on = joined.merge(columns, kept)?;
                *constraint = JoinConstraint::On(on);
            }
            JoinConstraint::Natural => return None,
            JoinConstraint::On(on) => replace_in(on, &joined.merged),
            JoinConstraint::None => {}
        }
    }
    Some(joined)
}

/// An item that stays as it is must have no join that the library would get wrong.
fn check(item: &mut TableWithJoins) -> Result<()> {
    for join in &mut item.joins {
        if let Some((JoinConstraint::Using(_) | JoinConstraint::Natural, Kept::Right | Kept::Both)) =
            constraint_of(&mut join.join_operator)
        {
            return Err(Error::unsupported(
                "NATURAL and USING cannot be resolved in this RIGHT or FULL JOIN",
            )
            .with_hint("Write the condition with ON and the common columns with coalesce(a.c, b.c)."));
        }
    }
    Ok(())
}

impl Joined {
    /// Merges columns of the last relation with those before it; the condition that they are equal.
    fn merge(&mut self, columns: &[ObjectName], kept: Kept) -> Option<Expr> {
        let right = self.names.len() - 1;
        let mut condition: Option<Expr> = None;
        for column in columns {
            let [ObjectNamePart::Identifier(column)] = column.0.as_slice() else {
                return None;
            };
            let name = fold(column);
            let of = |relation: usize| {
                Expr::CompoundIdentifier(vec![self.names[relation].clone(), column.clone()])
            };
            let known = self.merged.iter().position(|merged| merged.name == name);
            let (before, mut owners) = match known {
                Some(known) => {
                    let merged = self.merged.remove(known);
                    (merged.value, merged.owners)
                }
                // The one relation on the left must have it.
                None if right == 1 => (of(0), vec![0]),
                None => return None,
            };
            owners.push(right);
            let equal = Expr::BinaryOp {
                left: Box::new(before.clone()),
                op: BinaryOperator::Eq,
                right: Box::new(of(right)),
            };
            condition = Some(match condition {
                None => equal,
                Some(condition) => Expr::BinaryOp {
                    left: Box::new(condition),
                    op: BinaryOperator::And,
                    right: Box::new(equal),
                },
            });
            let value = match kept {
                Kept::NoneOrLeft => before,
                Kept::Right => of(right),
                Kept::Both => coalesce(before, of(right)),
            };
            self.merged.push(Merged { name, value, owners });
        }
        condition
    }
}

/// The name that columns of the relation are qualified with.
fn name_of(factor: &TableFactor) -> Option<Ident> {
    let (alias, name) = match factor {
        TableFactor::Table {
            alias,
            name,
            args: None,
            ..
        } => (alias, Some(name)),
        TableFactor::Table { alias, .. } => (alias, None),
        TableFactor::Derived { alias, .. }
        | TableFactor::NestedJoin { alias, .. }
        | TableFactor::TableFunction { alias, .. }
        | TableFactor::Function { alias, .. }
        | TableFactor::UNNEST { alias, .. } => (alias, None),
        _ => return None,
    };
    match (alias, name.and_then(|name| name.0.last())) {
        (Some(alias), _) => Some(alias.name.clone()),
        (None, Some(ObjectNamePart::Identifier(name))) => Some(name.clone()),
        _ => None,
    }
}

fn coalesce(a: Expr, b: Expr) -> Expr {
    let argument = |expr| FunctionArg::Unnamed(FunctionArgExpr::Expr(expr));
    Expr::Function(Function {
        name: ObjectName(vec![ObjectNamePart::Identifier(Ident::new("coalesce"))]),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(FunctionArgumentList {
            duplicate_treatment: None,
            args: vec![argument(a), argument(b)],
            clauses: Vec::new(),
        }),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: Vec::new(),
    })
}

/// `*` is the merged columns, then each relation's other columns.
fn expand_wildcards(select: &mut Select, joined: &[Joined]) {
    let items = std::mem::take(&mut select.projection);
    for item in items {
        let SelectItem::Wildcard(options) = &item else {
            select.projection.push(item);
            continue;
        };
        let is_plain = options.opt_except.is_none()
            && options.opt_exclude.is_none()
            && options.opt_replace.is_none()
            && options.opt_rename.is_none();
        if !is_plain {
            select.projection.push(item);
            continue;
        }
        for joined in joined {
            select.projection.extend(joined.merged.iter().map(|merged| {
                let alias = Ident::with_quote('"', merged.name.clone());
                SelectItem::ExprWithAlias {
                    expr: merged.value.clone(),
                    alias,
                }
            }));
            for (relation, name) in joined.names.iter().enumerate() {
                let own = joined
                    .merged
                    .iter()
                    .filter(|merged| merged.owners.contains(&relation));
                let own: Vec<Ident> = own.map(|m| Ident::with_quote('"', m.name.clone())).collect();
                let mut options = WildcardAdditionalOptions::default();
                if let Some((first, others)) = own.split_first() {
                    options.opt_except = Some(ExceptSelectItem {
                        first_element: first.clone(),
                        additional_elements: others.to_vec(),
                    });
                }
                let kind = SelectItemQualifiedWildcardKind::ObjectName(ObjectName(vec![
                    ObjectNamePart::Identifier(name.clone()),
                ]));
                select
                    .projection
                    .push(SelectItem::QualifiedWildcard(kind, options));
            }
        }
    }
}

/// A merged column keeps its name as an output.
fn name_items(select: &mut Select, merged: &[Merged]) {
    for item in &mut select.projection {
        if let SelectItem::UnnamedExpr(Expr::Identifier(name)) = item
            && merged.iter().any(|merged| merged.name == fold(name))
        {
            *item = SelectItem::ExprWithAlias {
                expr: Expr::Identifier(name.clone()),
                alias: name.clone(),
            };
        }
    }
}

fn output_name(item: &SelectItem) -> Option<String> {
    match item {
        SelectItem::ExprWithAlias { alias, .. } => Some(fold(alias)),
        SelectItem::UnnamedExpr(Expr::Identifier(name)) => Some(fold(name)),
        SelectItem::UnnamedExpr(Expr::CompoundIdentifier(names)) => names.last().map(fold),
        _ => None,
    }
}

/// Puts the values of merged columns in the place of their names, outside of subqueries.
fn replace_in(part: &mut impl VisitMut, merged: &[Merged]) {
    change_own(part, |expr| {
        if let Expr::Identifier(name) = expr
            && let Some(merged) = merged.iter().find(|merged| merged.name == fold(name))
        {
            *expr = merged.value.clone();
        }
    });
}
