//! Options of connector `file`.

use std::num::NonZeroU64;
use std::time::Duration;

use crate::options::{ByteSize, options};

options! {
    /// Which files are read and how fast.
    pub struct FileOptions {
        /// A folder, a file or a pattern such as `/data/in/2024-*.json`. Names that begin with `.` or `_` and those of
        /// unfinished files (`.tmp`, `.part`, `.partial`, `.inprogress`, `.crdownload`, `._COPYING_`, `~`) are passed
        /// over. A relative path begins at the server's working directory.
        path: String = required,
        /// How the files' bytes are read: `json`. The format's own options are given beside these.
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
        /// Also read the folders inside `path`.
        recursive_file_lookup ["recursive"]: bool = "false",
        /// Only files whose name matches this pattern.
        path_glob_filter: String = none,
        /// How often the folder is listed while there is nothing else to read.
        poll_interval: Duration = "200 ms",
    }
}
