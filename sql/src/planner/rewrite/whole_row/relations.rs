//! What the relations in FROM are called and which columns they have, as far as the catalog and the text tell.

use millpond_catalog::SqlType;
use sqlparser::ast::helpers::attached_token::AttachedToken;
use sqlparser::ast::{
    BinaryOperator, CaseWhen, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, JoinOperator,
    Query, SelectItem, SetExpr, TableAlias, TableFactor, TableWithJoins, Value,
};

use crate::planner::names::fold;
use crate::planner::rewrite::output_names::expr_name;
use crate::planner::rewrite::postgres::call;
use crate::planner::{PlanContext, fields_of, names};

/// A column, with its type where that is known.
#[derive(Clone)]
pub struct Column {
    pub name: String,
    pub sql_type: Option<SqlType>,
}

/// Queries of WITH, by name, the innermost last. `None` is one whose columns are not known.
#[derive(Default)]
pub struct Named(Vec<(String, Option<Vec<Column>>)>);

/// A relation of FROM.
pub struct Relation {
    pub name: Ident,
    /// `None` where they are not known.
    pub columns: Option<Vec<Column>>,
    /// An outer join makes all of them NULL where there is no partner.
    may_miss: bool,
}

impl Named {
    /// Adds the queries that `query` names.
    pub fn enter(&mut self, query: &Query, context: &PlanContext<'_>) {
        for cte in query.with.iter().flat_map(|with| &with.cte_tables) {
            let columns = aliased(self.outputs(&cte.query, context), Some(&cte.alias));
            self.0.push((fold(&cte.alias.name), columns));
        }
    }

    /// Takes them away again.
    pub fn leave(&mut self, query: &Query) {
        let names = query.with.as_ref().map_or(0, |with| with.cte_tables.len());
        self.0.truncate(self.0.len() - names);
    }

    pub fn relations(&self, from: &[TableWithJoins], context: &PlanContext<'_>) -> Vec<Relation> {
        let mut relations = Vec::new();
        for item in from {
            let first = relations.len();
            relations.extend(self.relation(&item.relation, context));
            for join in &item.joins {
                let (left, right) = may_miss(&join.join_operator);
                for before in &mut relations[first..] {
                    before.may_miss |= left;
                }
                let joined = self.relation(&join.relation, context);
                relations.extend(joined.map(|joined| Relation {
                    may_miss: right,
                    ..joined
                }));
            }
        }
        relations
    }

    fn relation(&self, factor: &TableFactor, context: &PlanContext<'_>) -> Option<Relation> {
        let (name, alias, columns) = match factor {
            TableFactor::Table {
                name, alias, args, ..
            } => {
                let own = name.0.last()?.as_ident()?.clone();
                let columns = match args {
                    None => self.columns(name, context),
                    Some(_) => None,
                };
                (own, alias.as_ref(), columns)
            }
            TableFactor::Derived { subquery, alias, .. } => {
                let alias = alias.as_ref()?;
                (alias.name.clone(), Some(alias), self.outputs(subquery, context))
            }
            _ => return None,
        };
        Some(Relation {
            name: alias.map_or(name, |alias| alias.name.clone()),
            columns: aliased(columns, alias),
            may_miss: false,
        })
    }

    /// Columns of a relation of that name.
    fn columns(&self, name: &sqlparser::ast::ObjectName, context: &PlanContext<'_>) -> Option<Vec<Column>> {
        let (schema, last) = names::split(name).ok()?;
        if schema.is_none()
            && let Some((_, columns)) = self.0.iter().rev().find(|(name, _)| *name == last)
        {
            return columns.clone();
        }
        let object = names::find(schema.as_deref(), &last, context)?;
        let columns = object.columns.iter().map(|column| Column {
            name: column.name.clone(),
            sql_type: Some(column.sql_type.clone()),
        });
        Some(columns.collect())
    }

    /// What a query gives.
    fn outputs(&self, query: &Query, context: &PlanContext<'_>) -> Option<Vec<Column>> {
        let mut body = query.body.as_ref();
        while let SetExpr::SetOperation { left, .. } = body {
            body = left;
        }
        let select = match body {
            SetExpr::Select(select) if query.with.is_none() => select,
            SetExpr::Query(query) => return self.outputs(query, context),
            _ => return None,
        };
        let relations = self.relations(&select.from, context);
        let is_merged = select.from.iter().any(|item| !item.joins.is_empty());
        let mut outputs = Vec::new();
        for item in &select.projection {
            match item {
                SelectItem::UnnamedExpr(expr) => outputs.push(Column {
                    name: expr_name(expr),
                    sql_type: type_of(expr),
                }),
                SelectItem::ExprWithAlias { expr, alias } => outputs.push(Column {
                    name: fold(alias),
                    sql_type: type_of(expr),
                }),
                // USING and NATURAL would make one of two columns.
                SelectItem::Wildcard(options) if !is_merged && options.opt_except.is_none() => {
                    for relation in &relations {
                        outputs.extend(relation.columns.clone()?);
                    }
                }
                _ => return None,
            }
        }
        Some(outputs)
    }
}

/// Whether rows of the left and of the right side may be without a partner's columns.
fn may_miss(join: &JoinOperator) -> (bool, bool) {
    match join {
        JoinOperator::Left(_) | JoinOperator::LeftOuter(_) => (false, true),
        JoinOperator::Right(_) | JoinOperator::RightOuter(_) => (true, false),
        JoinOperator::FullOuter(_) => (true, true),
        _ => (false, false),
    }
}

/// Columns under the names that an alias gives them.
fn aliased(columns: Option<Vec<Column>>, alias: Option<&TableAlias>) -> Option<Vec<Column>> {
    let mut columns = columns?;
    for (column, name) in columns
        .iter_mut()
        .zip(alias.iter().flat_map(|alias| &alias.columns))
    {
        column.name = fold(&name.name);
    }
    Some(columns)
}

/// The type of a row that is made where it is used.
pub fn type_of(expr: &Expr) -> Option<SqlType> {
    let Expr::Function(function) = expr else {
        return None;
    };
    let name = function.name.0.last()?.as_ident()?;
    let FunctionArguments::List(list) = &function.args else {
        return None;
    };
    match (fold(name).as_str(), list.args.as_slice()) {
        (
            "from_json",
            [
                _,
                FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(schema))),
            ],
        ) => {
            let schema = schema.value.clone().into_string()?;
            fields_of(&schema).ok().map(SqlType::Struct)
        }
        _ => None,
    }
}

impl Relation {
    pub fn column(&self, column: &Column) -> Expr {
        let column = Ident::with_quote('"', &column.name);
        Expr::CompoundIdentifier(vec![self.name.clone(), column])
    }

    pub fn items(&self) -> Option<Vec<SelectItem>> {
        let columns = self.columns.as_ref()?.iter();
        Some(
            columns
                .map(|column| SelectItem::UnnamedExpr(self.column(column)))
                .collect(),
        )
    }

    pub fn row(&self) -> Expr {
        let columns = self.columns.iter().flatten();
        let arguments = columns
            .clone()
            .flat_map(|column| [text(&column.name), self.column(column)]);
        let row = call("named_struct", arguments.collect());
        let is_null = columns.map(|column| Expr::IsNull(Box::new(self.column(column))));
        let all_null = is_null.reduce(|left, right| Expr::BinaryOp {
            left: Box::new(left),
            op: BinaryOperator::And,
            right: Box::new(right),
        });
        match all_null.filter(|_| self.may_miss) {
            Some(condition) => Expr::Case {
                case_token: AttachedToken::empty(),
                end_token: AttachedToken::empty(),
                operand: None,
                conditions: vec![CaseWhen {
                    condition,
                    result: Expr::Value(Value::Null.into()),
                }],
                else_result: Some(Box::new(row)),
            },
            None => row,
        }
    }
}

pub fn text(text: &str) -> Expr {
    Expr::Value(Value::SingleQuotedString(text.to_owned()).into())
}
