//! Turns the tokens of one column into an array.
//!
//! A value that does not fit becomes NULL and a flaw of its row; what that means for the row is decided above. Elements of
//! arrays and fields of structs are columns of their own, whose flaws count for the row that holds them.

mod nested;

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, ArrowPrimitiveType, BinaryBuilder, BooleanBuilder, NullBufferBuilder, PrimitiveArray,
    StringArray, StringBuilder,
};
use arrow::compute::kernels::cast_utils::parse_interval_month_day_nano;
use arrow::datatypes::{
    DataType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type,
    IntervalMonthDayNanoType, Time64MicrosecondType, TimestampMicrosecondType,
};
use millpond_catalog::{Column, SqlType};

use super::json;
use super::token::{Kind, Token};
use crate::format::csv::Quoting;
use crate::literal;
use crate::options::OptionValue;

/// How a format writes values.
#[derive(Debug, Clone, Copy)]
pub struct Writing {
    pub escapes: Escapes,
    /// What a number in a column of timestamps counts.
    pub epoch_unit: Option<EpochUnit>,
}

/// What [`Kind::EscapedText`] stands for.
#[derive(Debug, Clone, Copy)]
pub enum Escapes {
    Json,
    Csv(Quoting),
    /// There is none.
    None,
}

/// The unit of times given as numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EpochUnit {
    Seconds,
    Milliseconds,
    Microseconds,
}

impl OptionValue for EpochUnit {
    const KIND: &'static str = "`s`, `ms` or `us`";

    fn parse(text: &str) -> Result<Self, String> {
        match text.trim().to_ascii_lowercase().as_str() {
            "s" | "sec" | "seconds" => Ok(EpochUnit::Seconds),
            "ms" | "millis" | "milliseconds" => Ok(EpochUnit::Milliseconds),
            "us" | "micros" | "microseconds" => Ok(EpochUnit::Microseconds),
            _ => Err(format!("\"{text}\" is not s, ms or us")),
        }
    }
}

/// What is wrong with values, by row.
#[derive(Debug, Default)]
pub struct Flaws(Vec<(usize, String)>);

impl Flaws {
    /// Per row, what is wrong in its first column that is at fault.
    pub fn first_per_row(self) -> BTreeMap<usize, String> {
        let mut first = BTreeMap::new();
        for (row, error) in self.0 {
            first.entry(row).or_insert(error);
        }
        first
    }
}

/// Decodes one column.
#[derive(Debug, Clone)]
pub struct ColumnReader {
    name: String,
    nullable: bool,
    sql_type: SqlType,
    writing: Writing,
    /// Readers of what is inside: the element of an array, the fields of a struct.
    children: Vec<ColumnReader>,
}

/// The tokens of one column: every `width`-th, beginning with `index`.
#[derive(Clone, Copy)]
struct Tokens<'a> {
    text: &'a str,
    tokens: &'a [Token],
    index: usize,
    width: usize,
    rows: usize,
}

impl<'a> Tokens<'a> {
    #[inline]
    fn iter(self) -> impl Iterator<Item = Token> + 'a {
        (0..self.rows).map(move |row| self.tokens[row * self.width + self.index])
    }
}

impl ColumnReader {
    pub fn new(column: &Column, writing: Writing) -> Self {
        Self::of_type(column.name.clone(), column.nullable, &column.sql_type, writing)
    }

    fn of_type(name: String, nullable: bool, sql_type: &SqlType, writing: Writing) -> Self {
        let child = |name: &str, sql_type: &SqlType| Self::of_type(name.to_owned(), true, sql_type, writing);
        let children = match sql_type {
            SqlType::Array(element) => vec![child("element", element)],
            SqlType::Struct(fields) => fields
                .iter()
                .map(|(name, sql_type)| child(name, sql_type))
                .collect(),
            _ => Vec::new(),
        };
        ColumnReader {
            name,
            nullable,
            sql_type: sql_type.clone(),
            writing,
            children,
        }
    }

    /// The array of `rows` values whose tokens are every `width`-th of `tokens`, beginning with `index`.
    pub fn decode(
        &self,
        text: &str,
        tokens: &[Token],
        index: usize,
        width: usize,
        rows: usize,
        flaws: &mut Flaws,
    ) -> ArrayRef {
        let first_flaw = flaws.0.len();
        let tokens = Tokens {
            text,
            tokens,
            index,
            width,
            rows,
        };
        let array = self.array(tokens, flaws);
        if !self.nullable {
            for (row, token) in tokens.iter().enumerate() {
                if matches!(token.kind, Kind::Missing | Kind::Null) {
                    flaws.0.push((row, "a NOT NULL column has no value".to_owned()));
                }
            }
        }
        for (_, error) in &mut flaws.0[first_flaw..] {
            *error = format!("column \"{}\": {error}", self.name);
        }
        array
    }

    fn array(&self, tokens: Tokens<'_>, flaws: &mut Flaws) -> ArrayRef {
        match &self.sql_type {
            SqlType::Bool => self.booleans(tokens, flaws),
            SqlType::Int2 => self.numbers::<Int16Type>(tokens, flaws, literal::int2),
            SqlType::Int4 => self.numbers::<Int32Type>(tokens, flaws, literal::int4),
            SqlType::Int8 => self.numbers::<Int64Type>(tokens, flaws, literal::int8),
            SqlType::Float4 => self.numbers::<Float32Type>(tokens, flaws, literal::float4),
            SqlType::Float8 => self.numbers::<Float64Type>(tokens, flaws, literal::float8),
            SqlType::Numeric(_) => self.decimals(tokens, flaws),
            SqlType::Date => self.texts_as::<Date32Type>(tokens, flaws, literal::date),
            SqlType::Time => self.texts_as::<Time64MicrosecondType>(tokens, flaws, literal::time),
            SqlType::Timestamp | SqlType::TimestampTz => self.timestamps(tokens, flaws),
            SqlType::Interval => self.texts_as::<IntervalMonthDayNanoType>(tokens, flaws, |text| {
                parse_interval_month_day_nano(text).map_err(|_| {
                    format!(
                        "invalid input syntax for type interval: \"{}\"",
                        literal::shortened(text)
                    )
                })
            }),
            SqlType::Text | SqlType::Varchar(None) => self.texts(tokens, flaws, |text, output| {
                output.append_value(text);
                Ok(())
            }),
            SqlType::Varchar(Some(length)) => self.texts(tokens, flaws, |text, output| {
                output.append_value(literal::varchar(text, *length)?);
                Ok(())
            }),
            SqlType::Uuid => self.texts(tokens, flaws, |text, output| {
                output.append_value(literal::uuid(text)?);
                Ok(())
            }),
            SqlType::Json | SqlType::Jsonb => self.documents(tokens, flaws),
            SqlType::Bytea => self.bytes(tokens, flaws),
            SqlType::Array(_) => self.lists(tokens, flaws),
            SqlType::Struct(_) => self.structs(tokens, flaws),
            SqlType::System(_) => unreachable!("refused when the source is created"),
        }
    }

    /// Fixed-size values; `parse` gets each token's kind and text.
    #[inline]
    fn primitives<T: ArrowPrimitiveType>(
        &self,
        tokens: Tokens<'_>,
        flaws: &mut Flaws,
        parse: impl Fn(Kind, &str) -> Result<T::Native, String>,
    ) -> PrimitiveArray<T> {
        let mut values = Vec::with_capacity(tokens.rows);
        let mut nulls = NullBufferBuilder::new(tokens.rows);
        let mut scratch = String::new();
        for (row, token) in tokens.iter().enumerate() {
            let value = match token.kind {
                Kind::Missing | Kind::Null => None,
                Kind::Number | Kind::Text => Some(parse(
                    token.kind,
                    &tokens.text[token.start as usize..token.end as usize],
                )),
                _ => Some(
                    self.scalar(tokens.text, token, &mut scratch)
                        .and_then(|text| parse(token.kind, text)),
                ),
            };
            match value {
                Some(Ok(value)) => {
                    values.push(value);
                    nulls.append_non_null();
                    continue;
                }
                Some(Err(error)) => flaws.0.push((row, error)),
                None => {}
            }
            values.push(T::Native::default());
            nulls.append_null();
        }
        PrimitiveArray::new(values.into(), nulls.finish())
    }

    /// Values written as numbers or as text.
    fn numbers<T: ArrowPrimitiveType>(
        &self,
        tokens: Tokens<'_>,
        flaws: &mut Flaws,
        parse: impl Fn(&str) -> Result<T::Native, String>,
    ) -> ArrayRef {
        Arc::new(self.primitives::<T>(tokens, flaws, |kind, text| match kind {
            Kind::True | Kind::False => Err(self.wrong_kind(kind)),
            _ => parse(text),
        }))
    }

    /// Values written as text only.
    fn texts_as<T: ArrowPrimitiveType>(
        &self,
        tokens: Tokens<'_>,
        flaws: &mut Flaws,
        parse: impl Fn(&str) -> Result<T::Native, String>,
    ) -> ArrayRef {
        Arc::new(self.primitives::<T>(tokens, flaws, |kind, text| match kind {
            Kind::Text | Kind::EscapedText => parse(text),
            _ => Err(self.wrong_kind(kind)),
        }))
    }

    fn decimals(&self, tokens: Tokens<'_>, flaws: &mut Flaws) -> ArrayRef {
        let data_type = self.sql_type.arrow();
        let DataType::Decimal128(precision, scale) = data_type else {
            unreachable!("numeric is stored as Decimal128")
        };
        let parse = |kind, text: &str| match kind {
            Kind::True | Kind::False => Err(self.wrong_kind(kind)),
            _ => literal::decimal(text, precision, scale),
        };
        Arc::new(
            self.primitives::<Decimal128Type>(tokens, flaws, parse)
                .with_data_type(data_type),
        )
    }

    fn timestamps(&self, tokens: Tokens<'_>, flaws: &mut Flaws) -> ArrayRef {
        let timestamp = match self.sql_type {
            SqlType::TimestampTz => literal::timestamptz,
            _ => literal::timestamp,
        };
        // CSV does not tell numbers from text.
        let numbers_are_text = matches!(self.writing.escapes, Escapes::Csv(_));
        let parse = |kind, text: &str| match (kind, self.writing.epoch_unit) {
            (Kind::Text, Some(unit)) if numbers_are_text && is_number(text) => since_epoch(text, unit),
            (Kind::Text | Kind::EscapedText, _) => timestamp(text),
            (Kind::Number, Some(unit)) => since_epoch(text, unit),
            (Kind::Number, None) => Err(format!(
                "{}; the option epoch_unit says what numbers mean",
                self.wrong_kind(kind)
            )),
            _ => Err(self.wrong_kind(kind)),
        };
        let array = self.primitives::<TimestampMicrosecondType>(tokens, flaws, parse);
        Arc::new(array.with_data_type(self.sql_type.arrow()))
    }

    fn booleans(&self, tokens: Tokens<'_>, flaws: &mut Flaws) -> ArrayRef {
        let mut builder = BooleanBuilder::with_capacity(tokens.rows);
        let mut scratch = String::new();
        for (row, token) in tokens.iter().enumerate() {
            let value = match token.kind {
                Kind::Missing | Kind::Null => None,
                Kind::True => Some(true),
                Kind::False => Some(false),
                _ => match self
                    .scalar(tokens.text, token, &mut scratch)
                    .and_then(literal::boolean)
                {
                    Ok(value) => Some(value),
                    Err(error) => {
                        flaws.0.push((row, error));
                        None
                    }
                },
            };
            builder.append_option(value);
        }
        Arc::new(builder.finish())
    }

    /// Text; numbers, booleans and containers stand for their JSON text. `append` adds one value or none.
    fn texts(
        &self,
        tokens: Tokens<'_>,
        flaws: &mut Flaws,
        append: impl Fn(&str, &mut StringBuilder) -> Result<(), String>,
    ) -> ArrayRef {
        let mut builder = StringBuilder::with_capacity(tokens.rows, encoded_bytes(tokens));
        let mut scratch = String::new();
        for (row, token) in tokens.iter().enumerate() {
            let text = match token.kind {
                Kind::Missing | Kind::Null => {
                    builder.append_null();
                    continue;
                }
                Kind::EscapedText => self.unescaped(tokens.text, token, &mut scratch),
                _ => Ok(&tokens.text[token.start as usize..token.end as usize]),
            };
            if let Err(error) = text.and_then(|text| append(text, &mut builder)) {
                builder.append_null();
                flaws.0.push((row, error));
            }
        }
        Arc::new(builder.finish())
    }

    /// The JSON text of each value.
    fn documents(&self, tokens: Tokens<'_>, flaws: &mut Flaws) -> ArrayRef {
        if !matches!(self.writing.escapes, Escapes::Json) {
            return self.texts(tokens, flaws, |text, output| {
                output.append_value(literal::json(text)?);
                Ok(())
            });
        }
        let documents = tokens.iter().map(|token| match token.kind {
            Kind::Missing | Kind::Null => None,
            _ => {
                let (start, end) = token.quoted();
                Some(&tokens.text[start..end])
            }
        });
        Arc::new(documents.collect::<StringArray>())
    }

    fn bytes(&self, tokens: Tokens<'_>, flaws: &mut Flaws) -> ArrayRef {
        let mut builder = BinaryBuilder::with_capacity(tokens.rows, encoded_bytes(tokens));
        let mut scratch = String::new();
        for (row, token) in tokens.iter().enumerate() {
            let bytes = match token.kind {
                Kind::Missing | Kind::Null => None,
                Kind::Text | Kind::EscapedText => Some(
                    self.scalar(tokens.text, token, &mut scratch)
                        .and_then(literal::bytea),
                ),
                kind => Some(Err(self.wrong_kind(kind))),
            };
            match bytes {
                Some(Ok(bytes)) => builder.append_value(bytes),
                Some(Err(error)) => {
                    builder.append_null();
                    flaws.0.push((row, error));
                }
                None => builder.append_null(),
            }
        }
        Arc::new(builder.finish())
    }

    /// The text of a value that is no container.
    fn scalar<'a>(&self, text: &'a str, token: Token, scratch: &'a mut String) -> Result<&'a str, String> {
        match token.kind {
            Kind::EscapedText => self.unescaped(text, token, scratch),
            Kind::Array | Kind::Object => Err(self.wrong_kind(token.kind)),
            _ => Ok(&text[token.start as usize..token.end as usize]),
        }
    }

    fn unescaped<'a>(&self, text: &str, token: Token, scratch: &'a mut String) -> Result<&'a str, String> {
        scratch.clear();
        let raw = &text[token.start as usize..token.end as usize];
        match self.writing.escapes {
            Escapes::Json => json::unescape(raw.as_bytes(), scratch)?,
            Escapes::Csv(quoting) => quoting.unquote(raw, scratch),
            Escapes::None => scratch.push_str(raw),
        }
        Ok(scratch)
    }

    fn wrong_kind(&self, kind: Kind) -> String {
        let what = match kind {
            Kind::Missing | Kind::Null => "null",
            Kind::False | Kind::True => "a boolean",
            Kind::Number => "a number",
            Kind::Text | Kind::EscapedText => "a string",
            Kind::Array => "an array",
            Kind::Object => "an object",
        };
        let wanted = match &self.sql_type {
            SqlType::Struct(_) => "an object".to_owned(),
            sql_type => sql_type.to_string(),
        };
        format!("{what} cannot be read as {wanted}")
    }
}

/// How long the values are before they are decoded.
fn encoded_bytes(tokens: Tokens<'_>) -> usize {
    tokens
        .iter()
        .map(|token| (token.end - token.start) as usize)
        .sum()
}

fn is_number(text: &str) -> bool {
    text.trim().parse::<f64>().is_ok_and(f64::is_finite)
}

/// Microseconds from a number of `unit`s, which may have a fraction.
fn since_epoch(text: &str, unit: EpochUnit) -> Result<i64, String> {
    let scale = match unit {
        EpochUnit::Seconds => 6,
        EpochUnit::Milliseconds => 3,
        EpochUnit::Microseconds => 0,
    };
    let micros = literal::decimal(text, 38, scale)
        .ok()
        .and_then(|micros| i64::try_from(micros).ok());
    micros.ok_or_else(|| {
        format!(
            "value \"{}\" is out of range for type timestamp",
            literal::shortened(text)
        )
    })
}

/// The one value that `text` stands for.
pub fn single(column: &Column, text: Option<&str>) -> Result<ArrayRef, String> {
    let writing = Writing {
        escapes: Escapes::None,
        epoch_unit: None,
    };
    let token = match text {
        Some(text) => Token::new(Kind::Text, 0, text.len()),
        None => Token::new(Kind::Null, 0, 0),
    };
    let mut flaws = Flaws::default();
    let reader = ColumnReader::new(column, writing);
    let array = reader.decode(text.unwrap_or_default(), &[token], 0, 1, 1, &mut flaws);
    match flaws.first_per_row().into_values().next() {
        Some(error) => Err(error),
        None => Ok(array),
    }
}
