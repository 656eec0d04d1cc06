//! The Flitwork library and command line.
