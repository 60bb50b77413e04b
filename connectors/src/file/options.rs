//! Options of connector `file`.

use std::num::NonZeroU64;
use std::time::Duration;

use super::clean::CleanSource;
use super::compression::CompressionOption;
use crate::options::{ByteSize, options};

options! {
    /// Which files are read and how fast.
    pub struct FileOptions {
        /// A folder, a file or a pattern such as `/data/in/2024-*.json` or `/data/**/*.csv`. Names that begin with `.` or `_` and those of
        /// unfinished files (`.tmp`, `.part`, `.partial`, `.inprogress`, `.crdownload`, `._COPYING_`, `~`) are passed
        /// over. A relative path begins at the server's working directory.
        path: String = required,
        /// How the files' bytes are read: `json`, `csv`, `parquet` or `text`. The format's own options are given beside
        /// these.
        format ["data_format"]: String = required,
        /// At most so many new files per epoch.
        max_files_per_trigger: NonZeroU64 = none,
        /// At most about so many bytes per epoch; a file larger than that is read over several epochs.
        max_bytes_per_trigger: ByteSize = none,
        /// Of the files found at a time, read the newest first.
        latest_first: bool = "false",
        /// A file found after the first listing is ignored when it is older than the newest file by more than this. Has no
        /// effect together with `latest_first` and a cap per trigger.
        max_file_age: Duration = "1 week",
        /// Two paths with the same file name are the same file.
        file_name_only: bool = "false",
        /// Also read the folders inside `path`. Folders named `key=value` are always read.
        recursive_file_lookup ["recursive"]: bool = "false",
        /// How files are packed. `auto` goes by the name: `.gz` and `.zst` are unpacked. Parquet has its own compression.
        compression: CompressionOption = "auto",
        /// What becomes of a file that all queries have read to its end: it stays (`off`), is moved into
        /// `source_archive_dir` under its own path (`archive`), or is deleted. A view created later does not see its rows.
        clean_source: CleanSource = "off",
        /// Where `clean_source = 'archive'` moves files; a folder outside of `path`, on the same disk.
        source_archive_dir: String = none,
        /// Only files whose name matches this pattern.
        path_glob_filter: String = none,
        /// How often the folder is listed while there is nothing else to read.
        poll_interval: Duration = "200 ms",
    }
}
