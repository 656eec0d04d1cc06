//! Wire formats, checksums and capture files.
