//! `information_schema._pg_expandarray(array)`: each element `x` with its number `n`, which pgJDBC reads keys with.
//!
//! Gives the list of the pairs; planning unfolds it into rows.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int32Array, ListArray, StructArray};
use arrow::datatypes::{DataType, Field, FieldRef, Fields};
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

pub fn expand_array() -> Arc<ScalarUDF> {
    let signature = Signature::any(1, Volatility::Immutable);
    Arc::new(ScalarUDF::new_from_impl(ExpandArray { signature }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct ExpandArray {
    signature: Signature,
}

fn pair_fields(element: &DataType) -> Fields {
    vec![
        Field::new("x", element.clone(), true),
        Field::new("n", DataType::Int32, true),
    ]
    .into()
}

impl ScalarUDFImpl for ExpandArray {
    fn name(&self) -> &str {
        "information_schema._pg_expandarray"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, given: &[DataType]) -> Result<DataType> {
        match given {
            [DataType::List(element)] => Ok(DataType::new_list(
                DataType::Struct(pair_fields(element.data_type())),
                true,
            )),
            _ => Err(DataFusionError::Plan("_pg_expandarray takes an array".to_owned())),
        }
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let given: Vec<_> = args.arg_fields.iter().map(|f| f.data_type().clone()).collect();
        Ok(Arc::new(Field::new(self.name(), self.return_type(&given)?, true)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let array = args.args[0].to_array(args.number_rows)?;
        let lists = array.as_list_opt::<i32>();
        let lists =
            lists.ok_or_else(|| DataFusionError::Plan("_pg_expandarray takes an array".to_owned()))?;
        let numbers = (0..lists.len()).flat_map(|row| 1..=lists.value_length(row));
        let numbers: ArrayRef = Arc::new(Int32Array::from_iter_values(numbers));
        // Offsets may begin behind zero; the elements between the first and the last are those that are numbered.
        let (first, last) = (lists.value_offsets()[0], lists.value_offsets()[lists.len()]);
        let elements = lists.values().slice(first as usize, (last - first) as usize);
        if elements.len() != numbers.len() {
            return Err(DataFusionError::Internal(
                "lists with gaps between them".to_owned(),
            ));
        }
        let fields = pair_fields(elements.data_type());
        let pairs = StructArray::try_new(fields.clone(), vec![elements, numbers], None)?;
        let offsets = arrow::buffer::OffsetBuffer::from_lengths(
            (0..lists.len()).map(|row| lists.value_length(row) as usize),
        );
        let field = Arc::new(Field::new_list_field(DataType::Struct(fields), true));
        let list = ListArray::try_new(field, offsets, Arc::new(pairs), lists.nulls().cloned())?;
        Ok(ColumnarValue::Array(Arc::new(list)))
    }
}
