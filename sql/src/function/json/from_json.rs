//! `from_json(text, 'a int, b text')`: the members of a JSON object as a row.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, ListArray, StructArray};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{DataType, FieldRef, Fields};
use datafusion::common::{ScalarValue, exec_err};
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};
use millpond_catalog::SqlType;

use super::document::{Document, Kind};
use crate::error::Error;
use crate::function::text_cast::array_of;
use crate::planner::fields_of;

/// A text that is no JSON object gives NULL. A member that is missing, or is not of its type, is NULL.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct FromJson {
    signature: Signature,
}

impl Default for FromJson {
    fn default() -> Self {
        Self {
            signature: Signature::exact(vec![DataType::Utf8, DataType::Utf8], Volatility::Stable),
        }
    }
}

impl ScalarUDFImpl for FromJson {
    fn name(&self) -> &str {
        "from_json"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arguments: &[DataType]) -> Result<DataType> {
        exec_err!("the type of from_json follows from its schema")
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let Some(Some(ScalarValue::Utf8(Some(schema)))) = args.scalar_arguments.get(1) else {
            let error = Error::invalid("the schema of from_json is a literal")
                .with_hint("from_json(value, 'id bigint, name text')");
            return Err(DataFusionError::External(Box::new(error)));
        };
        let fields = fields_of(schema).map_err(|error| DataFusionError::External(Box::new(error)))?;
        Ok(Arc::new(SqlType::Struct(fields).field("from_json", true)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let texts = args.args[0].to_array(args.number_rows)?;
        let zone = args
            .config_options
            .execution
            .time_zone
            .as_deref()
            .unwrap_or("UTC");
        let texts = texts.as_string::<i32>();
        let documents: Vec<_> = texts.iter().map(|text| text.and_then(Document::parse)).collect();
        Ok(ColumnarValue::Array(column(
            &documents,
            &args.return_field,
            zone,
        )?))
    }
}

/// The values of a column, one for each document.
fn column(documents: &[Option<Document<'_>>], field: &FieldRef, zone: &str) -> Result<ArrayRef> {
    match (SqlType::of(field), field.data_type()) {
        (SqlType::Struct(_), DataType::Struct(fields)) => objects(documents, fields, zone),
        (SqlType::Array(_), DataType::List(element)) => arrays(documents, element, zone),
        (sql_type, data_type) => {
            let null = ScalarValue::try_from(data_type)?;
            let values = documents.iter().map(|document| {
                let value = document.and_then(|document| scalar(document, &sql_type, zone));
                value.unwrap_or_else(|| null.clone())
            });
            array_of(values.collect(), data_type)
        }
    }
}

fn objects(documents: &[Option<Document<'_>>], fields: &Fields, zone: &str) -> Result<ArrayRef> {
    let objects = documents
        .iter()
        .map(|document| document.filter(|d| d.kind() == Kind::Object));
    let objects: Vec<_> = objects.map(|object| object.map(Document::members)).collect();
    let columns = fields.iter().map(|field| {
        // Of members of one name the last counts.
        let members = objects.iter().map(|object| {
            let mut members = object.as_ref()?.iter().rev();
            members
                .find(|(name, _)| name == field.name())
                .map(|(_, value)| *value)
        });
        let members: Vec<_> = members.collect();
        column(&members, field, zone)
    });
    let columns = columns.collect::<Result<Vec<_>>>()?;
    let is_object: Vec<bool> = objects.iter().map(Option::is_some).collect();
    Ok(Arc::new(StructArray::try_new(
        fields.clone(),
        columns,
        Some(is_object.into()),
    )?))
}

fn arrays(documents: &[Option<Document<'_>>], element: &FieldRef, zone: &str) -> Result<ArrayRef> {
    let lists: Vec<Option<Vec<Document<'_>>>> = documents
        .iter()
        .map(|document| {
            document
                .filter(|d| d.kind() == Kind::Array)
                .map(Document::elements)
        })
        .collect();
    let lengths = lists.iter().map(|list| list.as_ref().map_or(0, Vec::len));
    let offsets = OffsetBuffer::from_lengths(lengths);
    let is_list: Vec<bool> = lists.iter().map(Option::is_some).collect();
    let elements: Vec<_> = lists.into_iter().flatten().flatten().map(Some).collect();
    let values = column(&elements, element, zone)?;
    Ok(Arc::new(ListArray::try_new(
        Arc::clone(element),
        offsets,
        values,
        Some(is_list.into()),
    )?))
}

fn scalar(document: Document<'_>, sql_type: &SqlType, zone: &str) -> Option<ScalarValue> {
    match (document.kind(), sql_type) {
        (Kind::Null, _) => None,
        (_, SqlType::Json | SqlType::Jsonb) => Some(ScalarValue::Utf8(Some(document.written().to_owned()))),
        // What is no text is one as written.
        (_, SqlType::Text) => Some(ScalarValue::Utf8(Some(document.content()))),
        (Kind::Array | Kind::Object, _) => None,
        _ => crate::read_text(&document.content(), sql_type, zone).ok(),
    }
}
