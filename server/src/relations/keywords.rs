//! `pg_get_keywords()` in FROM: the words of SQL, and which of them can be names. Clients quote names by it.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, RecordBatch, StringArray};
use datafusion::datasource::{MemTable, provider_as_source};
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::{Expr, TableSource};
use millpond_sql::{Error, ErrorKind, KEYWORDS};

pub const NAME: &str = "pg_get_keywords";

/// Words that name nothing unless they are quoted.
const RESERVED: &str = "all analyse analyze and any array as asc asymmetric both case cast check collate column \
     constraint create current_catalog current_date current_role current_time current_timestamp current_user default \
     deferrable desc distinct do else end except false fetch for foreign from grant group having in initially intersect \
     into lateral leading limit localtime localtimestamp not null offset on only or order placing primary references \
     returning select session_user some symmetric table then to trailing true union unique user using variadic when \
     where window with";
/// Reserved words that may name a function or type.
const TYPES: &str = "authorization binary collation concurrently cross current_schema freeze full ilike inner is isnull \
     join left like natural notnull outer overlaps right similar tablesample verbose";
/// Words that may name a column and not a function or type.
const COLUMNS: &str = "between bigint bit boolean char character coalesce dec decimal exists extract float greatest \
     grouping inout int integer interval least national nchar none normalize nullif numeric out overlay position \
     precision real row setof smallint substring time timestamp treat trim values varchar xmlattributes xmlconcat \
     xmlelement xmlexists xmlforest xmlnamespaces xmlparse xmlpi xmlroot xmlserialize xmltable";

pub fn pg_get_keywords(arguments: &[Expr]) -> Result<Arc<dyn TableSource>> {
    if !arguments.is_empty() {
        let message = format!("function {NAME} takes no arguments");
        let error = Error::new(ErrorKind::UndefinedFunction, message);
        return Err(DataFusionError::External(Box::new(error)));
    }
    let class = |word: &str| {
        let is_in = |words: &str| words.split_whitespace().any(|w| w == word);
        if is_in(RESERVED) {
            ("R", "reserved")
        } else if is_in(TYPES) {
            ("T", "reserved (can be function or type name)")
        } else if is_in(COLUMNS) {
            ("C", "unreserved (cannot be function or type name)")
        } else {
            ("U", "unreserved")
        }
    };
    let mut words: Vec<String> = KEYWORDS.iter().map(|word| word.to_lowercase()).collect();
    let known = [RESERVED, TYPES, COLUMNS]
        .into_iter()
        .flat_map(str::split_whitespace);
    words.extend(known.map(str::to_owned));
    words.sort_unstable();
    words.dedup();
    let classes: Vec<_> = words.iter().map(|word| class(word)).collect();
    let bare = classes
        .iter()
        .map(|(code, _)| Some(*code != "R"))
        .collect::<BooleanArray>();
    let labels = bare.iter().map(|bare| match bare {
        Some(true) => "can be bare label",
        _ => "requires AS",
    });
    let labels: ArrayRef = Arc::new(StringArray::from_iter_values(labels));
    let codes: ArrayRef = Arc::new(StringArray::from_iter_values(classes.iter().map(|c| c.0)));
    let meanings: ArrayRef = Arc::new(StringArray::from_iter_values(classes.iter().map(|c| c.1)));
    let words: ArrayRef = Arc::new(StringArray::from(words));
    let columns = [
        ("word", words),
        ("catcode", codes),
        ("barelabel", Arc::new(bare) as ArrayRef),
        ("catdesc", meanings),
        ("baredesc", labels),
    ];
    let batch = RecordBatch::try_from_iter(columns)?;
    let table = MemTable::try_new(batch.schema(), vec![vec![batch]])?;
    Ok(provider_as_source(Arc::new(table)))
}
