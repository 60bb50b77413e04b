//! Types that occur only in system tables and in what clients send about them: object identifiers, names, vectors.
//!
//! All identifiers are stored as `UInt32`, which no other SQL type uses, so an expression that lost its metadata is
//! still an `oid`. Users cannot create columns of these types.

use arrow::datatypes::DataType;

/// A type of Postgres' own catalog tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SystemType {
    Oid,
    /// Transaction id.
    Xid,
    /// An identifier, at most 63 bytes.
    Name,
    /// `"char"`: one byte, used for codes such as `relkind`.
    Char,
    RegProc,
    RegProcedure,
    RegOper,
    RegOperator,
    RegClass,
    RegType,
    RegRole,
    RegNamespace,
    RegConfig,
    RegDictionary,
    RegCollation,
    /// Smallints, printed with spaces between them and numbered from zero.
    Int2Vector,
    /// Oids, printed with spaces between them and numbered from zero.
    OidVector,
    /// `pg_node_tree`: an expression; ours is its SQL text.
    NodeTree,
    AclItem,
    Inet,
    /// `pg_lsn`
    Lsn,
    /// The polymorphic array of `pg_statistic`; ours are always NULL.
    AnyArray,
    Void,
}

impl SystemType {
    pub const ALL: [SystemType; 23] = {
        use SystemType::*;
        [
            Oid,
            Xid,
            Name,
            Char,
            RegProc,
            RegProcedure,
            RegOper,
            RegOperator,
            RegClass,
            RegType,
            RegRole,
            RegNamespace,
            RegConfig,
            RegDictionary,
            RegCollation,
            Int2Vector,
            OidVector,
            NodeTree,
            AclItem,
            Inet,
            Lsn,
            AnyArray,
            Void,
        ]
    };

    /// The name that Postgres' `format_type` gives.
    pub fn name(self) -> &'static str {
        match self {
            SystemType::Oid => "oid",
            SystemType::Xid => "xid",
            SystemType::Name => "name",
            SystemType::Char => "\"char\"",
            SystemType::RegProc => "regproc",
            SystemType::RegProcedure => "regprocedure",
            SystemType::RegOper => "regoper",
            SystemType::RegOperator => "regoperator",
            SystemType::RegClass => "regclass",
            SystemType::RegType => "regtype",
            SystemType::RegRole => "regrole",
            SystemType::RegNamespace => "regnamespace",
            SystemType::RegConfig => "regconfig",
            SystemType::RegDictionary => "regdictionary",
            SystemType::RegCollation => "regcollation",
            SystemType::Int2Vector => "int2vector",
            SystemType::OidVector => "oidvector",
            SystemType::NodeTree => "pg_node_tree",
            SystemType::AclItem => "aclitem",
            SystemType::Inet => "inet",
            SystemType::Lsn => "pg_lsn",
            SystemType::AnyArray => "anyarray",
            SystemType::Void => "void",
        }
    }

    /// Whether values are object identifiers, stored as `UInt32`.
    pub fn is_identifier(self) -> bool {
        matches!(self.arrow(), DataType::UInt32)
    }

    /// Whether values are identifiers that print as the name of what they identify.
    pub fn is_named_identifier(self) -> bool {
        self.is_identifier() && !matches!(self, SystemType::Oid | SystemType::Xid)
    }

    pub fn arrow(self) -> DataType {
        match self {
            SystemType::Oid
            | SystemType::Xid
            | SystemType::RegProc
            | SystemType::RegProcedure
            | SystemType::RegOper
            | SystemType::RegOperator
            | SystemType::RegClass
            | SystemType::RegType
            | SystemType::RegRole
            | SystemType::RegNamespace
            | SystemType::RegConfig
            | SystemType::RegDictionary
            | SystemType::RegCollation => DataType::UInt32,
            SystemType::Int2Vector => DataType::new_list(DataType::Int16, true),
            SystemType::OidVector => DataType::new_list(DataType::UInt32, true),
            SystemType::Name
            | SystemType::Char
            | SystemType::NodeTree
            | SystemType::AclItem
            | SystemType::Inet
            | SystemType::Lsn
            | SystemType::AnyArray
            | SystemType::Void => DataType::Utf8,
        }
    }

    /// Oid of the type, and of the array of it (0 where there is none).
    pub(crate) fn oids(self) -> (u32, u32) {
        match self {
            SystemType::Oid => (26, 1028),
            SystemType::Xid => (28, 1011),
            SystemType::Name => (19, 1003),
            SystemType::Char => (18, 1002),
            SystemType::RegProc => (24, 1008),
            SystemType::RegProcedure => (2202, 2207),
            SystemType::RegOper => (2203, 2208),
            SystemType::RegOperator => (2204, 2209),
            SystemType::RegClass => (2205, 2210),
            SystemType::RegType => (2206, 2211),
            SystemType::RegRole => (4096, 4097),
            SystemType::RegNamespace => (4089, 4090),
            SystemType::RegConfig => (3734, 3735),
            SystemType::RegDictionary => (3769, 3770),
            SystemType::RegCollation => (4191, 4192),
            SystemType::Int2Vector => (22, 1006),
            SystemType::OidVector => (30, 1013),
            SystemType::NodeTree => (194, 0),
            SystemType::AclItem => (1033, 1034),
            SystemType::Inet => (869, 1041),
            SystemType::Lsn => (3220, 3221),
            SystemType::AnyArray => (2277, 0),
            SystemType::Void => (2278, 0),
        }
    }

    pub(crate) fn size(self) -> i16 {
        match self {
            SystemType::Name => 64,
            SystemType::Char => 1,
            SystemType::Lsn => 8,
            SystemType::AclItem => 12,
            SystemType::Void => 4,
            other if other.is_identifier() => 4,
            _ => -1,
        }
    }
}
