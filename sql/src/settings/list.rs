//! The one list of settings. Those that Postgres clients set or read at start are here even where nothing depends on
//! them, because refusing them would lock the client out; `doc` says so.

use super::{Setting, SettingType};
use SettingType::{Bool, DateStyle, Encoding, Fixed, Integer, Milliseconds, Text, TimeZone, Word};

const fn setting(
    name: &'static str,
    aliases: &'static [&'static str],
    setting_type: SettingType,
    default: &'static str,
    doc: &'static str,
) -> Setting {
    Setting {
        name,
        aliases,
        setting_type,
        default,
        doc,
        reported: false,
    }
}

/// A setting that clients are told about.
const fn reported(
    name: &'static str,
    setting_type: SettingType,
    default: &'static str,
    doc: &'static str,
) -> Setting {
    Setting {
        name,
        aliases: &[],
        setting_type,
        default,
        doc,
        reported: true,
    }
}

const ISOLATION: &[&str] = &[
    "serializable",
    "repeatable read",
    "read committed",
    "read uncommitted",
];
const LEVELS: &[&str] = &[
    "debug5", "debug4", "debug3", "debug2", "debug1", "log", "notice", "warning", "error", "info",
];
const NO_EFFECT: &str = "Accepted for clients that set it; changes nothing.";

/// Every setting, by topic.
pub static SETTINGS: &[Setting] = &[
    // How values are read and shown.
    reported(
        "DateStyle",
        DateStyle,
        "ISO, MDY",
        "Form of dates. Output is always ISO; the order is that of input.",
    ),
    reported(
        "IntervalStyle",
        Word(&["postgres", "postgres_verbose", "sql_standard", "iso_8601"]),
        "postgres",
        "Form of intervals in output.",
    ),
    Setting {
        aliases: &["time zone"],
        ..reported(
            "TimeZone",
            TimeZone,
            "UTC",
            "Zone in which `timestamptz` is read and shown.",
        )
    },
    reported("client_encoding", Encoding, "UTF8", "Always UTF8."),
    setting(
        "extra_float_digits",
        &[],
        Integer { min: -15, max: 3 },
        "1",
        "Floats are always shown exactly.",
    ),
    setting(
        "bytea_output",
        &[],
        Word(&["hex", "escape"]),
        "hex",
        "Form of `bytea` in output.",
    ),
    reported(
        "standard_conforming_strings",
        Word(&["on"]),
        "on",
        "A backslash in '..' is an ordinary character.",
    ),
    setting("escape_string_warning", &[], Bool, "on", NO_EFFECT),
    setting(
        "backslash_quote",
        &[],
        Word(&["safe_encoding", "on", "off"]),
        "safe_encoding",
        NO_EFFECT,
    ),
    setting("lc_messages", &[], Text, "C", NO_EFFECT),
    setting("lc_monetary", &[], Text, "C", NO_EFFECT),
    setting("lc_numeric", &[], Text, "C", NO_EFFECT),
    setting("lc_time", &[], Text, "C", NO_EFFECT),
    setting(
        "xmloption",
        &[],
        Word(&["content", "document"]),
        "content",
        NO_EFFECT,
    ),
    // The session.
    reported(
        "application_name",
        Text,
        "",
        "Name of the client, shown in pg_stat_activity.",
    ),
    setting(
        "search_path",
        &[],
        Text,
        "public",
        "Schemas to look an unqualified name up in.",
    ),
    setting(
        "client_min_messages",
        &[],
        Word(LEVELS),
        "notice",
        "Least severe message that is sent to the client.",
    ),
    setting(
        "statement_timeout",
        &[],
        Milliseconds,
        "0",
        "A statement that takes longer is cancelled; 0 = never.",
    ),
    setting("lock_timeout", &[], Milliseconds, "0", NO_EFFECT),
    setting(
        "idle_in_transaction_session_timeout",
        &[],
        Milliseconds,
        "0",
        NO_EFFECT,
    ),
    setting("idle_session_timeout", &[], Milliseconds, "0", NO_EFFECT),
    setting("role", &[], Text, "none", NO_EFFECT),
    reported("session_authorization", Fixed, "millpond", "User of the session."),
    reported("is_superuser", Fixed, "on", "Whether the user may do everything."),
    // Transactions: BEGIN and COMMIT are accepted, every statement is on its own.
    Setting {
        aliases: &["transaction isolation level"],
        ..setting(
            "transaction_isolation",
            &[],
            Word(ISOLATION),
            "read committed",
            "Isolation of this transaction.",
        )
    },
    setting(
        "default_transaction_isolation",
        &[],
        Word(ISOLATION),
        "read committed",
        NO_EFFECT,
    ),
    setting("transaction_read_only", &[], Bool, "off", NO_EFFECT),
    reported("default_transaction_read_only", Bool, "off", NO_EFFECT),
    setting("transaction_deferrable", &[], Bool, "off", NO_EFFECT),
    setting("default_transaction_deferrable", &[], Bool, "off", NO_EFFECT),
    setting(
        "synchronous_commit",
        &[],
        Word(&["on", "off", "local", "remote_write", "remote_apply"]),
        "on",
        NO_EFFECT,
    ),
    reported(
        "in_hot_standby",
        Fixed,
        "off",
        "Whether the server only follows another.",
    ),
    // Streaming queries.
    setting(
        "streaming_parallelism",
        &["spark.sql.shuffle.partitions"],
        Integer { min: 0, max: 4096 },
        "0",
        "Accepted; state is spread over all workers (`--workers`).",
    ),
    setting(
        "streaming_no_data_batches",
        &["spark.sql.streaming.noDataMicroBatches.enabled"],
        Bool,
        "on",
        "Default of the view option `no_data_batches`.",
    ),
    setting(
        "streaming_multiple_watermark_policy",
        &["spark.sql.streaming.multipleWatermarkPolicy"],
        Word(&["min"]),
        "min",
        "How the watermarks of several inputs combine.",
    ),
    setting(
        "streaming_recent_progress",
        &["spark.sql.streaming.numRecentProgressUpdates"],
        Word(&["100"]),
        "100",
        "Progress reports kept per query.",
    ),
    setting(
        "streaming_schema_inference",
        &["spark.sql.streaming.schemaInference"],
        Word(&["off"]),
        "off",
        "Sources declare their columns.",
    ),
    // What planners of other servers look at.
    setting("jit", &[], Bool, "off", NO_EFFECT),
    setting("row_security", &[], Bool, "on", NO_EFFECT),
    setting("check_function_bodies", &[], Bool, "on", NO_EFFECT),
    setting("default_tablespace", &[], Text, "", NO_EFFECT),
    setting("default_table_access_method", &[], Text, "heap", NO_EFFECT),
    setting("enable_seqscan", &[], Bool, "on", NO_EFFECT),
    setting("enable_indexscan", &[], Bool, "on", NO_EFFECT),
    setting("enable_bitmapscan", &[], Bool, "on", NO_EFFECT),
    setting("enable_hashjoin", &[], Bool, "on", NO_EFFECT),
    setting("enable_nestloop", &[], Bool, "on", NO_EFFECT),
    setting(
        "plan_cache_mode",
        &[],
        Word(&["auto", "force_generic_plan", "force_custom_plan"]),
        "auto",
        NO_EFFECT,
    ),
    setting("work_mem", &[], Text, "4MB", NO_EFFECT),
    setting(
        "max_parallel_workers_per_gather",
        &[],
        Integer { min: 0, max: 1024 },
        "2",
        NO_EFFECT,
    ),
    setting("quote_all_identifiers", &[], Bool, "off", NO_EFFECT),
    setting(
        "gin_fuzzy_search_limit",
        &[],
        Integer {
            min: 0,
            max: i32::MAX as i64,
        },
        "0",
        NO_EFFECT,
    ),
    setting(
        "tcp_keepalives_idle",
        &[],
        Integer {
            min: 0,
            max: i32::MAX as i64,
        },
        "0",
        NO_EFFECT,
    ),
    setting(
        "tcp_keepalives_interval",
        &[],
        Integer {
            min: 0,
            max: i32::MAX as i64,
        },
        "0",
        NO_EFFECT,
    ),
    setting(
        "tcp_keepalives_count",
        &[],
        Integer {
            min: 0,
            max: i32::MAX as i64,
        },
        "0",
        NO_EFFECT,
    ),
    setting(
        "ssl_renegotiation_limit",
        &[],
        Integer { min: 0, max: 0 },
        "0",
        NO_EFFECT,
    ),
    // The server.
    reported(
        "server_version",
        Fixed,
        "15.0",
        "Version of PostgreSQL whose protocol and catalog are followed.",
    ),
    setting(
        "server_version_num",
        &[],
        Fixed,
        "150000",
        "The same as a number.",
    ),
    reported("server_encoding", Fixed, "UTF8", "Encoding of stored text."),
    reported("integer_datetimes", Fixed, "on", "Times are whole microseconds."),
    setting(
        "max_identifier_length",
        &[],
        Fixed,
        "63",
        "Longest name of an object or column.",
    ),
    setting("max_index_keys", &[], Fixed, "32", "Most columns of a key."),
    setting(
        "max_connections",
        &[],
        Fixed,
        "1000",
        "Most clients at a time, unless configured.",
    ),
    setting("block_size", &[], Fixed, "8192", "As PostgreSQL."),
    setting("lc_collate", &[], Fixed, "C", "Text is compared by code points."),
    setting(
        "lc_ctype",
        &[],
        Fixed,
        "C.UTF-8",
        "Character classes are those of Unicode.",
    ),
    setting("wal_level", &[], Fixed, "replica", "As PostgreSQL."),
    setting("ssl", &[], Fixed, "off", "Whether connections can be encrypted."),
];
