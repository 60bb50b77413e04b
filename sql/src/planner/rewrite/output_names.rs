//! Names of output columns, as Postgres chooses them.
//!
//! Every item of a SELECT that is not a plain column gets an alias, so that no name of the library's making ever shows.
//! The library wants distinct names: a repeated name gets a suffix, and [`OutputNames`] remembers what to show.

use std::collections::{HashMap, HashSet};

use sqlparser::ast::{
    AccessExpr, DataType, Expr, Function, Ident, Query, Select, SelectItem, SetExpr, TrimWhereField, Value,
};

use crate::planner::names::fold;

/// From the name in the plan to the name to show, where they differ.
#[derive(Debug, Clone, Default)]
pub struct OutputNames {
    shown: HashMap<String, String>,
}

/// How sure a name is: one from a column or function wins over that of a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Strength {
    None,
    Type,
    Name,
}

impl OutputNames {
    /// The name to show for a field of the plan.
    pub fn show(&self, name: &str) -> String {
        self.shown.get(name).cloned().unwrap_or_else(|| name.to_owned())
    }

    /// Gives an alias to every unnamed item. At the top the first of a repeated name keeps it, so that ORDER BY finds it;
    /// below, no column of a repeated name can be referred to by it.
    pub fn name_select(&mut self, select: &mut Select, top: bool) {
        let has_wildcard = select
            .projection
            .iter()
            .any(|item| matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..)));
        let mut counts = HashMap::<String, usize>::new();
        for item in &select.projection {
            if let Some(name) = item_name(item) {
                *counts.entry(name).or_default() += 1;
            }
        }
        let mut seen = HashSet::new();
        for item in &mut select.projection {
            let Some(name) = item_name(item) else { continue };
            let repeated = counts.get(&name).is_some_and(|n| *n > 1);
            let first = seen.insert(name.clone());
            let plain = matches!(
                item,
                SelectItem::UnnamedExpr(Expr::Identifier(_) | Expr::CompoundIdentifier(_))
            );
            let rename = (repeated && !(top && first)) || (has_wildcard && plain);
            if rename {
                let unique = self.unique(&name);
                set_alias(item, &unique);
            } else if !plain && let SelectItem::UnnamedExpr(_) = item {
                set_alias(item, &name);
            }
        }
    }

    fn unique(&mut self, name: &str) -> String {
        let mut n = self.shown.len() + 1;
        let mut unique = format!("{name}:{n}");
        while self.shown.contains_key(&unique) {
            n += 1;
            unique = format!("{name}:{n}");
        }
        self.shown.insert(unique.clone(), self.show(name));
        unique
    }
}

fn set_alias(item: &mut SelectItem, name: &str) {
    let expr = match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => {
            std::mem::replace(expr, Expr::Value(Value::Null.into()))
        }
        _ => return,
    };
    *item = SelectItem::ExprWithAlias {
        expr,
        alias: Ident::with_quote('"', name),
    };
}

fn item_name(item: &SelectItem) -> Option<String> {
    match item {
        SelectItem::UnnamedExpr(expr) => Some(expr_name(expr)),
        SelectItem::ExprWithAlias { alias, .. } => Some(fold(alias)),
        _ => None,
    }
}

/// The name that Postgres gives to an unnamed expression.
pub fn expr_name(expr: &Expr) -> String {
    figure(expr).1.unwrap_or_else(|| "?column?".to_owned())
}

fn named(name: impl Into<String>) -> (Strength, Option<String>) {
    (Strength::Name, Some(name.into()))
}

const UNNAMED: (Strength, Option<String>) = (Strength::None, None);

fn figure(expr: &Expr) -> (Strength, Option<String>) {
    match expr {
        Expr::Identifier(ident) => named(fold(ident)),
        Expr::CompoundIdentifier(idents) => idents.last().map_or(UNNAMED, |ident| named(fold(ident))),
        Expr::CompoundFieldAccess { root, access_chain } => {
            let field = access_chain.iter().rev().find_map(|access| match access {
                AccessExpr::Dot(Expr::Identifier(ident)) => Some(fold(ident)),
                _ => None,
            });
            field.map_or_else(|| figure(root), named)
        }
        Expr::Function(function) => function_name(function).map_or(UNNAMED, named),
        Expr::Cast { expr, data_type, .. } => cast_name(figure(expr), data_type),
        Expr::TypedString(typed) => cast_name(UNNAMED, &typed.data_type),
        Expr::Interval(_) => (Strength::Type, Some("interval".to_owned())),
        Expr::Value(value) => match value.value {
            Value::Boolean(_) => (Strength::Type, Some("bool".to_owned())),
            _ => UNNAMED,
        },
        Expr::Nested(inner) | Expr::Collate { expr: inner, .. } => figure(inner),
        Expr::Case { else_result, .. } => match else_result.as_deref().map(figure) {
            Some((Strength::Name, name)) => (Strength::Name, name),
            _ => (Strength::Type, Some("case".to_owned())),
        },
        Expr::Exists { .. } => named("exists"),
        Expr::Subquery(query) => subquery_name(query),
        Expr::Array(_) => named("array"),
        Expr::Tuple(_) => named("row"),
        Expr::Extract { .. } => named("extract"),
        Expr::Ceil { .. } => named("ceil"),
        Expr::Floor { .. } => named("floor"),
        Expr::Position { .. } => named("position"),
        Expr::Substring { .. } => named("substring"),
        Expr::Overlay { .. } => named("overlay"),
        Expr::Trim { trim_where, .. } => named(match trim_where {
            Some(TrimWhereField::Leading) => "ltrim",
            Some(TrimWhereField::Trailing) => "rtrim",
            _ => "btrim",
        }),
        Expr::AtTimeZone { .. } => named("timezone"),
        _ => UNNAMED,
    }
}

fn function_name(function: &Function) -> Option<String> {
    function.name.0.last().and_then(|part| part.as_ident()).map(fold)
}

fn cast_name(inner: (Strength, Option<String>), data_type: &DataType) -> (Strength, Option<String>) {
    if inner.0 == Strength::Name {
        inner
    } else {
        (Strength::Type, Some(type_name(data_type)))
    }
}

/// The name in the catalog of a type: `int4`, not `integer`.
fn type_name(data_type: &DataType) -> String {
    let name = match data_type {
        DataType::Boolean | DataType::Bool => "bool",
        DataType::SmallInt(_) | DataType::Int2(_) => "int2",
        DataType::Int(_) | DataType::Integer(_) | DataType::Int4(_) => "int4",
        DataType::BigInt(_) | DataType::Int8(_) => "int8",
        DataType::Real | DataType::Float4 => "float4",
        DataType::Float(_) | DataType::Float8 | DataType::Double(_) | DataType::DoublePrecision => "float8",
        DataType::Numeric(_) | DataType::Decimal(_) | DataType::Dec(_) => "numeric",
        DataType::Varchar(_) | DataType::CharacterVarying(_) | DataType::CharVarying(_) => "varchar",
        DataType::Char(_) | DataType::Character(_) => "bpchar",
        DataType::Timestamp(
            _,
            sqlparser::ast::TimezoneInfo::WithTimeZone | sqlparser::ast::TimezoneInfo::Tz,
        ) => "timestamptz",
        DataType::Timestamp(..) => "timestamp",
        DataType::Time(..) => "time",
        DataType::Interval { .. } => "interval",
        DataType::Custom(name, _) => {
            return name
                .0
                .last()
                .and_then(|part| part.as_ident())
                .map_or_else(|| name.to_string(), fold);
        }
        DataType::Array(sqlparser::ast::ArrayElemTypeDef::SquareBracket(element, _)) => {
            return type_name(element);
        }
        other => return other.to_string().to_lowercase(),
    };
    name.to_owned()
}

fn subquery_name(query: &Query) -> (Strength, Option<String>) {
    match query.body.as_ref() {
        SetExpr::Select(select) => match select.projection.first() {
            Some(SelectItem::UnnamedExpr(expr)) => figure(expr),
            Some(SelectItem::ExprWithAlias { alias, .. }) => named(fold(alias)),
            _ => UNNAMED,
        },
        SetExpr::Values(_) => named("column1"),
        _ => UNNAMED,
    }
}
