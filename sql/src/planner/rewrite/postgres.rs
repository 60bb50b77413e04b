//! Postgres' spellings of expressions: qualified functions and operators, casts to `reg*`, clocks.

use sqlparser::ast::{
    AccessExpr, Array, BinaryOperator, CastKind, CharacterLength, DataType, ExactNumberInfo, Expr, Function,
    FunctionArg, FunctionArgExpr, FunctionArgumentClause, FunctionArgumentList, FunctionArguments, Ident,
    Interval, ObjectName, ObjectNamePart, Subscript, TimezoneInfo, UnaryOperator, Value,
};

use crate::error::{Error, Result};
use crate::function::row::period;
use crate::function::{ArrayCompare, AtTimeZone, Extract};
use crate::planner::Purpose;
use crate::planner::names::fold;

use super::number;

pub fn rewrite_expr(expr: &mut Expr, purpose: Purpose) -> Result<()> {
    match expr {
        Expr::Function(function) => {
            strip_schema(&mut function.name);
            if let Some(array) = array_of_subquery(function) {
                *expr = array;
                return Ok(());
            }
            let replaced = clock(function, purpose)
                .or_else(|| modulo(function))
                .or_else(|| ordered_set(function))
                .or_else(|| written_out(function));
            match replaced {
                Some(replaced) => *expr = replaced,
                None => rename(function),
            }
        }
        // Functions that are called without parentheses.
        Expr::Identifier(ident)
            if ident.quote_style.is_none()
                && ["current_schema", "current_role"].contains(&fold(ident).as_str()) =>
        {
            *expr = call(&fold(ident), Vec::new());
        }
        Expr::AnyOp { .. } | Expr::AllOp { .. } => quantified(expr),
        Expr::Extract {
            field, expr: time, ..
        } => {
            let field = Value::SingleQuotedString(field.to_string().to_lowercase());
            let time = std::mem::replace(time.as_mut(), null());
            *expr = call(Extract::EXTRACT, vec![Expr::Value(field.into()), time]);
        }
        Expr::Value(value) => {
            if let Value::Number(number, _) = &value.value
                && let Some(literal) = number::rewrite(number)
            {
                *expr = literal;
            }
        }
        Expr::Interval(interval) => {
            if let Some(text) = interval_text(interval) {
                let text = Expr::Value(Value::SingleQuotedString(text).into());
                *expr = cast(
                    text,
                    DataType::Interval {
                        fields: None,
                        precision: None,
                    },
                );
            }
        }
        // `(f(x)).n`: behind anything but a name, the library takes the name of a field as text.
        Expr::CompoundFieldAccess { root, access_chain } => {
            let is_named = matches!(**root, Expr::Identifier(_));
            for access in access_chain {
                bound_slice(access);
                if !is_named && let AccessExpr::Dot(Expr::Identifier(field)) = access {
                    let field = sqlparser::ast::Value::SingleQuotedString(fold(field));
                    *access = AccessExpr::Dot(Expr::Value(field.into()));
                }
            }
        }
        Expr::AtTimeZone { timestamp, time_zone } => {
            let time = std::mem::replace(timestamp.as_mut(), null());
            let zone = std::mem::replace(time_zone.as_mut(), null());
            *expr = call(AtTimeZone::NAME, vec![zone, time]);
        }
        Expr::SimilarTo { .. } => similar_to(expr),
        Expr::Like { .. } | Expr::ILike { .. } => like_any(expr),
        Expr::UnaryOp {
            op: UnaryOperator::BitwiseNot,
            expr: inner,
        } => *expr = ones_complement(std::mem::replace(inner.as_mut(), null())),
        Expr::UnaryOp { op, expr: inner } if unary_function(*op).is_some() => {
            if let Some(function) = unary_function(*op) {
                *expr = call(function, vec![std::mem::replace(inner.as_mut(), null())]);
            }
        }
        Expr::Substring { .. } => substring_of_pattern(expr),
        Expr::Collate { expr: inner, .. } => {
            let inner = std::mem::replace(inner.as_mut(), null());
            *expr = inner;
        }
        Expr::BinaryOp { op, .. } => {
            if let BinaryOperator::PGCustomBinaryOperator(parts) = op {
                *op = custom_operator(parts)?;
            }
        }
        Expr::Cast { .. } => rewrite_cast(expr)?,
        _ => {}
    }
    Ok(())
}

/// Casts whose target means something else in the library.
fn rewrite_cast(expr: &mut Expr) -> Result<()> {
    let Expr::Cast {
        expr: inner,
        data_type,
        ..
    } = expr
    else {
        return Ok(());
    };
    if is_oid(data_type) && !matches!(**inner, Expr::Value(_)) {
        // The number of a `regclass`, which is kept like an oid and would stay one.
        let number = std::mem::replace(inner.as_mut(), null());
        **inner = cast(number, DataType::BigInt(None));
    } else if *data_type == DataType::Uuid
        && let Expr::Value(value) = inner.as_mut()
        && let Value::SingleQuotedString(text) = &mut value.value
    {
        *text = crate::planner::literal::uuid(text)?;
    } else if let Some(function) = registry_type(data_type) {
        let inner = std::mem::replace(inner.as_mut(), null());
        *expr = call(function, vec![inner]);
    } else if let Some(digits) = digits_of_second(data_type) {
        let digits = Expr::Value(Value::Number(digits.to_string(), false).into());
        let cast = std::mem::replace(expr, null());
        *expr = call(period::ROUND, vec![cast, digits]);
    } else if let Some(length) = varchar_length(data_type) {
        // An explicit cast cuts what is too long.
        let text = cast(std::mem::replace(inner.as_mut(), null()), DataType::Text);
        let length = Expr::Value(Value::Number(length.to_string(), false).into());
        **inner = call("left", vec![text, length]);
    }
    Ok(())
}

/// Takes the precision from a type of times.
fn digits_of_second(data_type: &mut DataType) -> Option<u64> {
    match data_type {
        DataType::Timestamp(precision, _) | DataType::Time(precision, _) => precision.take(),
        DataType::Interval { precision, .. } => precision.take(),
        _ => None,
    }
}

fn null() -> Expr {
    Expr::Value(Value::Null.into())
}

/// The function that an operator of one number is.
fn unary_function(operator: UnaryOperator) -> Option<&'static str> {
    match operator {
        UnaryOperator::PGAbs => Some("abs"),
        UnaryOperator::PGSquareRoot => Some("sqrt"),
        UnaryOperator::PGCubeRoot => Some("cbrt"),
        _ => None,
    }
}

/// `substring(text FROM 'pattern')`: the first group of the match, or all of it where there is none.
fn substring_of_pattern(expr: &mut Expr) {
    if let Expr::Substring {
        expr: text,
        substring_from: Some(pattern),
        substring_for: None,
        ..
    } = expr
        && let Expr::Value(value) = pattern.as_ref()
        && matches!(value.value, Value::SingleQuotedString(_))
    {
        let text = std::mem::replace(text.as_mut(), null());
        let groups = call("regexp_match", vec![text, pattern.as_ref().clone()]);
        let first = Expr::Value(Value::Number("1".to_owned(), false).into());
        *expr = Expr::CompoundFieldAccess {
            root: Box::new(Expr::Nested(Box::new(groups))),
            access_chain: vec![AccessExpr::Subscript(Subscript::Index { index: first })],
        };
    }
}

/// A slice without a bound begins, or ends, where the array does.
fn bound_slice(access: &mut AccessExpr) {
    let number = |number: &str| Some(Expr::Value(Value::Number(number.to_owned(), false).into()));
    if let AccessExpr::Subscript(Subscript::Slice {
        lower_bound,
        upper_bound,
        ..
    }) = access
    {
        *lower_bound = lower_bound.take().or_else(|| number("1"));
        *upper_bound = upper_bound.take().or_else(|| number("2147483647"));
    }
}

/// The library has no operator for it; it is the difference from a word of ones.
fn ones_complement(value: Expr) -> Expr {
    let ones = Expr::Value(Value::Number("-1".to_owned(), false).into());
    Expr::Nested(Box::new(Expr::BinaryOp {
        left: Box::new(Expr::Nested(Box::new(value))),
        op: BinaryOperator::PGBitwiseXor,
        right: Box::new(ones),
    }))
}

/// `a SIMILAR TO b` as a call.
fn similar_to(expr: &mut Expr) {
    let Expr::SimilarTo {
        negated,
        expr: value,
        pattern,
        escape_char,
    } = expr
    else {
        return;
    };
    let mut arguments = vec![
        std::mem::replace(value.as_mut(), null()),
        std::mem::replace(pattern.as_mut(), null()),
    ];
    arguments.extend(escape_char.take().map(Expr::Value));
    let similar = call("similar_to", arguments);
    *expr = if *negated {
        Expr::Nested(Box::new(Expr::UnaryOp {
            op: UnaryOperator::Not,
            expr: Box::new(similar),
        }))
    } else {
        similar
    };
}

/// A call of a function by its plain name.
pub fn call(name: &str, arguments: Vec<Expr>) -> Expr {
    let args = arguments
        .into_iter()
        .map(|a| FunctionArg::Unnamed(FunctionArgExpr::Expr(a)))
        .collect();
    Expr::Function(Function {
        name: ObjectName(vec![ObjectNamePart::Identifier(Ident::new(name))]),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(FunctionArgumentList {
            duplicate_treatment: None,
            args,
            clauses: Vec::new(),
        }),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: Vec::new(),
    })
}

/// `pg_catalog.f` is `f`.
fn strip_schema(name: &mut ObjectName) {
    let schema = name.0.first().and_then(|part| part.as_ident()).map(fold);
    if name.0.len() == 2 && matches!(schema.as_deref(), Some("pg_catalog" | "public")) {
        name.0.remove(0);
    }
}

/// The function that stands for `ARRAY(SELECT ..)`.
pub const ARRAY_OF_SUBQUERY: &str = "array_of_subquery";

/// `ARRAY(SELECT ..)` as a function of a subquery, for the implementor of `Relations` to carry out.
fn array_of_subquery(function: &mut Function) -> Option<Expr> {
    let is_array =
        matches!(function.name.0.as_slice(), [part] if part.as_ident().is_some_and(|i| fold(i) == "array"));
    match &function.args {
        FunctionArguments::Subquery(query) if is_array => {
            Some(call(ARRAY_OF_SUBQUERY, vec![Expr::Subquery(query.clone())]))
        }
        _ => None,
    }
}

/// Functions of two names, and `age`, which is also one of transactions.
fn rename(function: &mut Function) {
    let arguments = match &function.args {
        FunctionArguments::List(list) => list.args.len(),
        _ => 0,
    };
    if let [ObjectNamePart::Identifier(name)] = function.name.0.as_mut_slice() {
        match (fold(name).as_str(), arguments) {
            ("every", 1) => *name = Ident::new("bool_and"),
            ("age", 2) => *name = Ident::new("timestamp_age"),
            _ => {}
        }
    }
}

/// The name of a function without a schema, and its arguments.
fn plain_call(function: &Function) -> Option<(String, Vec<Expr>)> {
    let [ObjectNamePart::Identifier(name)] = function.name.0.as_slice() else {
        return None;
    };
    let FunctionArguments::List(list) = &function.args else {
        return None;
    };
    let argument = |argument: &FunctionArg| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr.clone()),
        _ => None,
    };
    Some((fold(name), list.args.iter().map(argument).collect::<Option<_>>()?))
}

/// Ordered-set aggregates that the library lacks, as functions of the array of the values in order.
fn ordered_set(function: &Function) -> Option<Expr> {
    let (name, fractions) = plain_call(function)?;
    let [order] = function.within_group.as_slice() else {
        return None;
    };
    let several = matches!(fractions.first(), Some(Expr::Array(_)));
    let (of_array, element) = match name.as_str() {
        "percentile_cont" if several => ("array_percentile_cont", Some(DataType::DoublePrecision)),
        _ => return None,
    };
    let value = match element {
        Some(element) => cast(order.expr.clone(), element),
        None => order.expr.clone(),
    };
    let mut values = call("array_agg", vec![value]);
    if let Expr::Function(aggregate) = &mut values {
        aggregate.filter.clone_from(&function.filter);
        if let FunctionArguments::List(list) = &mut aggregate.args {
            list.clauses
                .push(FunctionArgumentClause::OrderBy(vec![order.clone()]));
        }
    }
    let mut arguments = vec![values];
    arguments.extend(fractions);
    Some(call(of_array, arguments))
}

/// `num_nulls(a, b)` and `div(a, b)` in other words.
fn written_out(function: &Function) -> Option<Expr> {
    let number = |text: &str| Expr::Value(Value::Number(text.to_owned(), false).into());
    let binary = |left: Expr, op: BinaryOperator, right: Expr| {
        Expr::Nested(Box::new(Expr::BinaryOp {
            left: Box::new(left),
            op,
            right: Box::new(right),
        }))
    };
    let (name, arguments) = plain_call(function)?;
    match (name.as_str(), arguments.as_slice()) {
        ("num_nulls" | "num_nonnulls", [_, ..]) => {
            let one = |argument: Expr| {
                let nested = Box::new(Expr::Nested(Box::new(argument)));
                let found = if name == "num_nulls" {
                    Expr::IsNull(nested)
                } else {
                    Expr::IsNotNull(nested)
                };
                cast(Expr::Nested(Box::new(found)), DataType::Int(None))
            };
            arguments
                .into_iter()
                .map(one)
                .reduce(|sum, next| binary(sum, BinaryOperator::Plus, next))
        }
        ("div", [left, right]) => {
            let numeric = |expr: &Expr| cast(expr.clone(), DataType::Numeric(ExactNumberInfo::None));
            let (left, right) = (numeric(left), numeric(right));
            let rest = binary(left.clone(), BinaryOperator::Modulo, right.clone());
            let whole = binary(left, BinaryOperator::Minus, rest);
            let quotient = binary(whole, BinaryOperator::Divide, right);
            // The quotient is whole already; its digits behind the point are not shown.
            Some(call("round", vec![quotient, number("0")]))
        }
        // Arrays have one dimension.
        ("array_fill", [value, Expr::Array(Array { elem, .. })]) if elem.len() == 1 => {
            Some(call("array_repeat", vec![value.clone(), elem[0].clone()]))
        }
        (name, [value]) => cast_of_name(name).map(|data_type| cast(value.clone(), data_type)),
        _ => None,
    }
}

/// The type that is a function of that name, too.
fn cast_of_name(name: &str) -> Option<DataType> {
    Some(match name {
        "bool" => DataType::Bool,
        "int2" => DataType::Int2(None),
        "int4" => DataType::Int4(None),
        "int8" => DataType::Int8(None),
        "float4" => DataType::Float4,
        "float8" => DataType::Float8,
        "numeric" => DataType::Numeric(ExactNumberInfo::None),
        "text" => DataType::Text,
        "timestamptz" => DataType::Timestamp(None, TimezoneInfo::Tz),
        "uuid" => DataType::Uuid,
        "jsonb" => DataType::JSONB,
        _ => return None,
    })
}

/// `a LIKE ANY (ARRAY[..])` as alternatives.
fn like_any(expr: &mut Expr) {
    let (Expr::Like {
        negated,
        any,
        expr: value,
        pattern,
        escape_char,
    }
    | Expr::ILike {
        negated,
        any,
        expr: value,
        pattern,
        escape_char,
    }) = &*expr
    else {
        return;
    };
    let mut patterns = pattern.as_ref();
    while let Expr::Nested(inner) = patterns {
        patterns = inner;
    }
    let patterns = match patterns {
        Expr::Array(array) => array.elem.clone(),
        Expr::Tuple(patterns) => patterns.clone(),
        _ => match array_literal(patterns) {
            Some(patterns) => patterns,
            None => return,
        },
    };
    if !any {
        return;
    }
    let insensitive = matches!(expr, Expr::ILike { .. });
    let one = |pattern: Expr| {
        let (negated, any, escape_char) = (*negated, false, escape_char.clone());
        let (expr, pattern) = (value.clone(), Box::new(pattern));
        if insensitive {
            Expr::ILike {
                negated,
                any,
                expr,
                pattern,
                escape_char,
            }
        } else {
            Expr::Like {
                negated,
                any,
                expr,
                pattern,
                escape_char,
            }
        }
    };
    let alternatives = patterns
        .into_iter()
        .map(one)
        .reduce(|left, right| Expr::BinaryOp {
            left: Box::new(left),
            op: BinaryOperator::Or,
            right: Box::new(right),
        });
    if let Some(alternatives) = alternatives {
        *expr = Expr::Nested(Box::new(alternatives));
    }
}

/// `mod(a, b)` is `a % b`.
fn modulo(function: &Function) -> Option<Expr> {
    let FunctionArguments::List(list) = &function.args else {
        return None;
    };
    let is_mod =
        matches!(function.name.0.as_slice(), [part] if part.as_ident().is_some_and(|i| fold(i) == "mod"));
    match list.args.as_slice() {
        [
            FunctionArg::Unnamed(FunctionArgExpr::Expr(left)),
            FunctionArg::Unnamed(FunctionArgExpr::Expr(right)),
        ] if is_mod => {
            let nested = |operand: &Expr| Box::new(Expr::Nested(Box::new(operand.clone())));
            Some(Expr::Nested(Box::new(Expr::BinaryOp {
                left: nested(left),
                op: BinaryOperator::Modulo,
                right: nested(right),
            })))
        }
        _ => None,
    }
}

/// What "now" is: in a one-off query the time of the statement, in a view the processing time of the epoch.
fn clock(function: &Function, purpose: Purpose) -> Option<Expr> {
    let name = match function.name.0.as_slice() {
        [part] => fold(part.as_ident()?),
        _ => return None,
    };
    let now = match purpose {
        Purpose::View => "processing_time",
        Purpose::Select | Purpose::Insert => "now",
    };
    let data_type = match name.as_str() {
        "now"
        | "current_timestamp"
        | "transaction_timestamp"
        | "statement_timestamp"
        | "clock_timestamp"
        | "proctime" => DataType::Timestamp(None, TimezoneInfo::Tz),
        "localtimestamp" => DataType::Timestamp(None, TimezoneInfo::None),
        "current_date" | "today" => DataType::Date,
        "localtime" | "current_time" => DataType::Time(None, TimezoneInfo::None),
        _ => return None,
    };
    // `CAST(now() AS ..)` is visited only once: the visitor does not look into what it is given back.
    Some(cast(call(now, Vec::new()), data_type))
}

pub fn cast(expr: Expr, data_type: DataType) -> Expr {
    Expr::Cast {
        kind: CastKind::Cast,
        expr: Box::new(expr),
        data_type,
        array: false,
        format: None,
    }
}

/// `x = ANY (array)` as the call that knows of NULLs; over a subquery it stays.
fn quantified(expr: &mut Expr) {
    let all = matches!(expr, Expr::AllOp { .. });
    let (Expr::AnyOp {
        left,
        compare_op,
        right,
        ..
    }
    | Expr::AllOp {
        left,
        compare_op,
        right,
    }) = expr
    else {
        return;
    };
    if let Some(elements) = array_literal(right) {
        **right = Expr::Array(Array {
            elem: elements,
            named: true,
        });
    }
    let mut inner = right.as_ref();
    while let Expr::Nested(nested) = inner {
        inner = nested;
    }
    if matches!(inner, Expr::Subquery(_)) {
        return;
    }
    if let Some(name) = ArrayCompare::name_for(compare_op, all) {
        let left = std::mem::replace(left.as_mut(), null());
        let right = std::mem::replace(right.as_mut(), null());
        *expr = call(name, vec![left, right]);
    }
}

/// The elements of `'{a,b}'` beside ANY or ALL.
fn array_literal(expr: &Expr) -> Option<Vec<Expr>> {
    let Expr::Value(value) = expr else { return None };
    let Value::SingleQuotedString(text) = &value.value else {
        return None;
    };
    let inner = text.strip_prefix('{')?.strip_suffix('}')?;
    let element = |element: &str| {
        let plain = element.trim().trim_matches('"');
        match plain.parse::<i64>() {
            Ok(_) if plain.len() == element.trim().len() => Value::Number(plain.to_owned(), false),
            _ if plain.eq_ignore_ascii_case("null") => Value::Null,
            _ => Value::SingleQuotedString(plain.to_owned()),
        }
    };
    Some(
        inner
            .split(',')
            .filter(|e| !e.is_empty())
            .map(|e| Expr::Value(element(e).into()))
            .collect(),
    )
}

/// The text of a constant interval, with its unit: the library reads fewer forms than Postgres.
fn interval_text(interval: &Interval) -> Option<String> {
    let Interval {
        value,
        leading_field,
        leading_precision: None,
        last_field: None,
        ..
    } = interval
    else {
        return None;
    };
    let Expr::Value(value) = value.as_ref() else {
        return None;
    };
    let amount = match &value.value {
        Value::SingleQuotedString(text) | Value::Number(text, _) => text,
        _ => return None,
    };
    Some(match leading_field {
        Some(unit) => format!("{amount} {}", unit.to_string().to_lowercase()),
        None => amount.clone(),
    })
}

fn varchar_length(data_type: &DataType) -> Option<u64> {
    match data_type {
        DataType::Varchar(length) | DataType::CharacterVarying(length) | DataType::CharVarying(length) => {
            match length {
                Some(CharacterLength::IntegerLength { length, .. }) => Some(*length),
                _ => None,
            }
        }
        DataType::Char(length) | DataType::Character(length) => match length {
            Some(CharacterLength::IntegerLength { length, .. }) => Some(*length),
            Some(CharacterLength::Max) => None,
            None => Some(1),
        },
        _ => None,
    }
}

fn custom_operator(parts: &[String]) -> Result<BinaryOperator> {
    let symbol = parts.last().map(String::as_str).unwrap_or_default();
    Ok(match symbol {
        "~" => BinaryOperator::PGRegexMatch,
        "~*" => BinaryOperator::PGRegexIMatch,
        "!~" => BinaryOperator::PGRegexNotMatch,
        "!~*" => BinaryOperator::PGRegexNotIMatch,
        "~~" => BinaryOperator::PGLikeMatch,
        "~~*" => BinaryOperator::PGILikeMatch,
        "!~~" => BinaryOperator::PGNotLikeMatch,
        "!~~*" => BinaryOperator::PGNotILikeMatch,
        "=" => BinaryOperator::Eq,
        "<>" | "!=" => BinaryOperator::NotEq,
        "<" => BinaryOperator::Lt,
        "<=" => BinaryOperator::LtEq,
        ">" => BinaryOperator::Gt,
        ">=" => BinaryOperator::GtEq,
        "+" => BinaryOperator::Plus,
        "-" => BinaryOperator::Minus,
        "*" => BinaryOperator::Multiply,
        "/" => BinaryOperator::Divide,
        "%" => BinaryOperator::Modulo,
        "||" => BinaryOperator::StringConcat,
        other => return Err(Error::unsupported(format!("operator {other} is not supported"))),
    })
}

fn is_oid(data_type: &DataType) -> bool {
    let DataType::Custom(name, _) = data_type else {
        return false;
    };
    let last = name.0.last().and_then(|part| part.as_ident()).map(fold);
    last.as_deref() == Some("oid")
}

/// The function that stands for a cast to a type whose text is looked up in the catalog.
fn registry_type(data_type: &DataType) -> Option<&'static str> {
    let name = match data_type {
        DataType::Regclass => return Some("regclass"),
        DataType::Custom(name, _) => name.0.last().and_then(|part| part.as_ident()).map(fold)?,
        _ => return None,
    };
    [
        "regclass",
        "regtype",
        "regproc",
        "regprocedure",
        "regnamespace",
        "regrole",
        "regoper",
        "regoperator",
        "regconfig",
        "regdictionary",
        "regcollation",
    ]
    .into_iter()
    .find(|known| *known == name)
}
