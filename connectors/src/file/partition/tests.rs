//! What paths say.

use arrow::array::{Array, Int64Array};
use arrow::util::display::array_value_to_string;
use millpond_catalog::SqlType::*;

use super::*;
use crate::memory_notes::column;

#[test]
fn folders_name_columns() {
    let columns = [column("day", Date), column("a", Int8), column("page", Text)];
    let values = |path| values(path, &columns);
    assert_eq!(values("/data/x.csv"), []);
    assert_eq!(
        values("/data/Day=2026-01-02/page=a%2Fb%20c/other=1/x.csv"),
        [(0, Some("2026-01-02".to_owned())), (2, Some("a/b c".to_owned()))]
    );
    assert_eq!(
        values("/data/page=__HIVE_DEFAULT_PARTITION__/a=1/x"),
        [(1, Some("1".to_owned())), (2, None)]
    );
    // The file's own name is no folder; an inner folder wins; what is no escape stays.
    assert_eq!(
        values("/a=1/a=2/page=100%/a=3"),
        [(1, Some("2".to_owned())), (2, Some("100%".to_owned()))]
    );
}

#[test]
fn values_are_put_in_their_places() {
    let columns = [column("day", Date), column("a", Int8), column("page", Text)];
    let values = values("/day=2026-01-02/page=p/x", &columns);
    let path_columns = PathColumns::new(&columns, &[0, 1, 2], &values, OnBadRow::Quarantine).unwrap();
    assert_eq!(
        (&*path_columns.content, &*path_columns.from_path),
        ([1].as_slice(), [0, 2].as_slice())
    );
    let rows = RecordBatch::try_new(
        projected_schema(&columns, &[1]),
        vec![Arc::new(Int64Array::from(vec![7, 8]))],
    );
    let rows = path_columns.add(rows.unwrap());
    let text = |column: usize, row| array_value_to_string(rows.column(column), row).unwrap();
    assert_eq!([text(0, 0), text(1, 0), text(2, 0)], ["2026-01-02", "7", "p"]);
    assert_eq!([text(0, 1), text(1, 1), text(2, 1)], ["2026-01-02", "8", "p"]);
    // Columns of the path alone are repeated as often as there are rows.
    let only = PathColumns::new(&columns, &[2], &values, OnBadRow::Quarantine).unwrap();
    let options = RecordBatchOptions::new().with_row_count(Some(3));
    let empty = RecordBatch::try_new_with_options(projected_schema(&columns, &[]), vec![], &options);
    assert_eq!(only.add(empty.unwrap()).num_rows(), 3);
}

#[test]
fn a_value_that_does_not_fit_is_the_files_fault() {
    let mut columns = [column("a", Int4)];
    let values = values("/a=x/f", &columns);
    let error = PathColumns::new(&columns, &[0], &values, OnBadRow::Quarantine).unwrap_err();
    assert_eq!(
        error,
        "in the path: column \"a\": invalid input syntax for type integer: \"x\""
    );
    let kept = PathColumns::new(&columns, &[0], &values, OnBadRow::Null).unwrap();
    assert!(kept.values[0].1.is_null(0));
    assert!(PathColumns::new(&columns, &[], &values, OnBadRow::Quarantine).is_ok());
    columns[0].nullable = false;
    let null = super::values("/a=__HIVE_DEFAULT_PARTITION__/f", &columns);
    assert!(PathColumns::new(&columns, &[0], &null, OnBadRow::Quarantine).is_err());
}
