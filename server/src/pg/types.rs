//! Types on the wire: the OID, size and modifier by which a client knows a SQL type.
//!
//! The system catalog uses types that user tables cannot have (`name`, `oid`, `"char"`, ...). A column of such a type
//! says so in its field's metadata, see [`CatalogType::field`].

use arrow::datatypes::{DataType, Field};
use millpond_catalog::SqlType;

/// How RowDescription and `pg_attribute` describe a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WireType {
    pub oid: u32,
    /// Bytes of a value, -1 when they vary.
    pub size: i16,
    /// Length or precision, -1 without.
    pub modifier: i32,
}

/// A value's form on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Text,
    Binary,
}

impl Format {
    pub fn code(self) -> i16 {
        match self {
            Format::Text => 0,
            Format::Binary => 1,
        }
    }

    pub fn from_code(code: i16) -> Option<Self> {
        match code {
            0 => Some(Format::Text),
            1 => Some(Format::Binary),
            _ => None,
        }
    }
}

/// Declares the types of the system catalog: variant, name, OID, size, Arrow type.
macro_rules! catalog_types {
    ($($variant:ident $name:literal $oid:literal $size:literal $arrow:expr;)*) => {
        /// A type that only the system catalog's columns have.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum CatalogType { $($variant),* }

        impl CatalogType {
            pub const ALL: &[CatalogType] = &[$(CatalogType::$variant),*];

            /// The type's name in `pg_type`.
            pub fn name(self) -> &'static str {
                match self { $(CatalogType::$variant => $name),* }
            }

            pub fn wire(self) -> WireType {
                match self { $(CatalogType::$variant => WireType { oid: $oid, size: $size, modifier: -1 }),* }
            }

            /// The Arrow type that stores it.
            pub fn arrow(self) -> DataType {
                match self { $(CatalogType::$variant => $arrow),* }
            }
        }
    };
}

// The `reg` types hold the text that Postgres prints for them.
catalog_types! {
    Char "char" 18 1 DataType::Utf8;
    Name "name" 19 64 DataType::Utf8;
    Int2Vector "int2vector" 22 -1 list(DataType::Int16);
    RegProc "regproc" 24 4 DataType::Utf8;
    Oid "oid" 26 4 DataType::Int64;
    OidVector "oidvector" 30 -1 list(DataType::Int64);
    Xid "xid" 28 4 DataType::Int64;
    NodeTree "pg_node_tree" 194 -1 DataType::Utf8;
    CharArray "_char" 1002 -1 list(DataType::Utf8);
    NameArray "_name" 1003 -1 list(DataType::Utf8);
    OidArray "_oid" 1028 -1 list(DataType::Int64);
    AclItemArray "_aclitem" 1034 -1 list(DataType::Utf8);
    RegClass "regclass" 2205 4 DataType::Utf8;
    RegType "regtype" 2206 4 DataType::Utf8;
    RegTypeArray "_regtype" 2211 -1 list(DataType::Utf8);
    RegNamespace "regnamespace" 4089 4 DataType::Utf8;
}

fn list(element: DataType) -> DataType {
    DataType::List(std::sync::Arc::new(Field::new_list_field(element, true)))
}

impl CatalogType {
    /// Key of the Arrow field metadata entry that holds the catalog type's name.
    pub const METADATA_KEY: &'static str = "millpond.catalog_type";

    pub fn field(self, name: &str, nullable: bool) -> Field {
        let metadata = [(Self::METADATA_KEY.to_owned(), self.name().to_owned())];
        Field::new(name, self.arrow(), nullable).with_metadata(metadata.into())
    }

    /// The catalog type of an Arrow field, if it has one. An expression may keep the metadata of its input while
    /// changing the type: then the field has none.
    pub fn of(field: &Field) -> Option<Self> {
        let name = field.metadata().get(Self::METADATA_KEY)?;
        let catalog_type = Self::ALL.iter().copied().find(|t| t.name() == name)?;
        let arrow = catalog_type.arrow();
        (std::mem::discriminant(&arrow) == std::mem::discriminant(field.data_type())).then_some(catalog_type)
    }

    /// The type of the elements, for arrays.
    pub fn element(self) -> Option<ElementType> {
        Some(match self {
            CatalogType::CharArray => ElementType::Catalog(CatalogType::Char),
            CatalogType::NameArray => ElementType::Catalog(CatalogType::Name),
            CatalogType::OidArray | CatalogType::OidVector => ElementType::Catalog(CatalogType::Oid),
            CatalogType::RegTypeArray => ElementType::Catalog(CatalogType::RegType),
            CatalogType::Int2Vector => ElementType::Sql(SqlType::Int2),
            CatalogType::AclItemArray => ElementType::Sql(SqlType::Text),
            CatalogType::Char
            | CatalogType::Name
            | CatalogType::RegProc
            | CatalogType::Oid
            | CatalogType::Xid
            | CatalogType::NodeTree
            | CatalogType::RegClass
            | CatalogType::RegType
            | CatalogType::RegNamespace => return None,
        })
    }
}

/// The type of an array's elements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ElementType {
    Sql(SqlType),
    Catalog(CatalogType),
}

/// How a column is described.
pub fn wire_type_of(field: &Field) -> WireType {
    match CatalogType::of(field) {
        Some(catalog_type) => catalog_type.wire(),
        None => wire_type(&SqlType::of(field)),
    }
}

/// How a SQL type is described.
pub fn wire_type(sql_type: &SqlType) -> WireType {
    let (oid, size) = match sql_type {
        SqlType::Bool => (16, 1),
        SqlType::Bytea => (17, -1),
        SqlType::Int8 => (20, 8),
        SqlType::Int2 => (21, 2),
        SqlType::Int4 => (23, 4),
        SqlType::Text => (25, -1),
        SqlType::Json => (114, -1),
        SqlType::Float4 => (700, 4),
        SqlType::Float8 => (701, 8),
        SqlType::Varchar(_) => (1043, -1),
        SqlType::Date => (1082, 4),
        SqlType::Time => (1083, 8),
        SqlType::Timestamp => (1114, 8),
        SqlType::TimestampTz => (1184, 8),
        SqlType::Interval => (1186, 16),
        SqlType::Numeric(_) => (1700, -1),
        SqlType::Uuid => (2950, 16),
        SqlType::Jsonb => (3802, -1),
        SqlType::Struct(_) => (2249, -1),
        SqlType::Array(element) => (array_oid(element), -1),
    };
    WireType { oid, size, modifier: modifier(sql_type) }
}

fn modifier(sql_type: &SqlType) -> i32 {
    match sql_type {
        SqlType::Numeric(Some((precision, scale))) => {
            ((i32::from(*precision) << 16) | (i32::from(*scale) & 0x7ff)) + 4
        }
        SqlType::Varchar(Some(length)) => i32::try_from(*length).map_or(-1, |n| n.saturating_add(4)),
        SqlType::Array(element) => modifier(element),
        _ => -1,
    }
}

/// The OID of the array over `element`; arrays of arrays are one type with more dimensions.
pub fn array_oid(element: &SqlType) -> u32 {
    match element {
        SqlType::Bool => 1000,
        SqlType::Bytea => 1001,
        SqlType::Int8 => 1016,
        SqlType::Int2 => 1005,
        SqlType::Int4 => 1007,
        SqlType::Text => 1009,
        SqlType::Json => 199,
        SqlType::Float4 => 1021,
        SqlType::Float8 => 1022,
        SqlType::Varchar(_) => 1015,
        SqlType::Date => 1182,
        SqlType::Time => 1183,
        SqlType::Timestamp => 1115,
        SqlType::TimestampTz => 1185,
        SqlType::Interval => 1187,
        SqlType::Numeric(_) => 1231,
        SqlType::Uuid => 2951,
        SqlType::Jsonb => 3807,
        SqlType::Struct(_) => 2287,
        SqlType::Array(inner) => array_oid(inner),
    }
}

/// The SQL type that holds values of the wire type `oid`, for parameters. `None` for types we do not know, and for
/// 0 and `unknown`, whose type is inferred.
pub fn sql_type(oid: u32) -> Option<SqlType> {
    Some(match oid {
        16 => SqlType::Bool,
        17 => SqlType::Bytea,
        20 => SqlType::Int8,
        21 => SqlType::Int2,
        23 => SqlType::Int4,
        // "char", name, text, character
        18 | 19 | 25 | 1042 => SqlType::Text,
        // oid, xid
        26 | 28 => SqlType::Int8,
        114 => SqlType::Json,
        700 => SqlType::Float4,
        701 => SqlType::Float8,
        1043 => SqlType::Varchar(None),
        1082 => SqlType::Date,
        1083 => SqlType::Time,
        1114 => SqlType::Timestamp,
        1184 => SqlType::TimestampTz,
        1186 => SqlType::Interval,
        1700 => SqlType::Numeric(None),
        2950 => SqlType::Uuid,
        3802 => SqlType::Jsonb,
        199 => array(SqlType::Json),
        1000 => array(SqlType::Bool),
        1001 => array(SqlType::Bytea),
        1005 => array(SqlType::Int2),
        1007 => array(SqlType::Int4),
        1002 | 1003 | 1009 | 1014 => array(SqlType::Text),
        1015 => array(SqlType::Varchar(None)),
        1016 | 1028 => array(SqlType::Int8),
        1021 => array(SqlType::Float4),
        1022 => array(SqlType::Float8),
        1115 => array(SqlType::Timestamp),
        1182 => array(SqlType::Date),
        1183 => array(SqlType::Time),
        1185 => array(SqlType::TimestampTz),
        1187 => array(SqlType::Interval),
        1231 => array(SqlType::Numeric(None)),
        2951 => array(SqlType::Uuid),
        3807 => array(SqlType::Jsonb),
        _ => return None,
    })
}

fn array(element: SqlType) -> SqlType {
    SqlType::Array(Box::new(element))
}

/// The OID behind a `regtype` value's text. Other `reg` values are known by name only and have none.
pub fn oid_of_name(name: &str) -> u32 {
    const NAMED: &[SqlType] = &[
        SqlType::Bool,
        SqlType::Bytea,
        SqlType::Int2,
        SqlType::Int4,
        SqlType::Int8,
        SqlType::Float4,
        SqlType::Float8,
        SqlType::Numeric(None),
        SqlType::Text,
        SqlType::Varchar(None),
        SqlType::Date,
        SqlType::Time,
        SqlType::Timestamp,
        SqlType::TimestampTz,
        SqlType::Interval,
        SqlType::Uuid,
        SqlType::Json,
        SqlType::Jsonb,
    ];
    let array = name.strip_suffix("[]");
    let element = array.unwrap_or(name);
    let named = NAMED.iter().find(|sql_type| sql_type.to_string() == element);
    match named {
        Some(sql_type) if array.is_some() => array_oid(sql_type),
        Some(sql_type) => wire_type(sql_type).oid,
        None => CatalogType::ALL.iter().find(|t| t.name() == name).map_or(0, |t| t.wire().oid),
    }
}

/// Parameters that are four bytes on the wire although they are held as 64-bit integers.
pub fn is_oid(oid: u32) -> bool {
    matches!(oid, 26 | 28)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameter_types_come_back_under_their_oid() {
        for sql in [
            SqlType::Bool,
            SqlType::Bytea,
            SqlType::Int8,
            SqlType::Int2,
            SqlType::Int4,
            SqlType::Text,
            SqlType::Json,
            SqlType::Float4,
            SqlType::Float8,
            SqlType::Varchar(None),
            SqlType::Date,
            SqlType::Time,
            SqlType::Timestamp,
            SqlType::TimestampTz,
            SqlType::Interval,
            SqlType::Numeric(None),
            SqlType::Uuid,
            SqlType::Jsonb,
        ] {
            assert_eq!(sql_type(wire_type(&sql).oid), Some(sql.clone()));
            assert_eq!(sql_type(array_oid(&sql)), Some(array(sql)));
        }
    }

    #[test]
    fn modifiers() {
        assert_eq!(wire_type(&SqlType::Numeric(Some((10, 2)))).modifier, (10 << 16 | 2) + 4);
        assert_eq!(wire_type(&SqlType::Varchar(Some(20))).modifier, 24);
        assert_eq!(wire_type(&SqlType::Text).modifier, -1);
    }

    #[test]
    fn a_changed_type_is_no_catalog_type() {
        let field = CatalogType::Oid.field("c", true);
        assert_eq!(CatalogType::of(&field), Some(CatalogType::Oid));
        assert_eq!(CatalogType::of(&field.with_data_type(DataType::Utf8)), None);
    }
}
