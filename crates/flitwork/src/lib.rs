//! Flitwork.
pub mod error;
pub mod library;
pub mod output;
pub mod picture;
pub use error::FileError;
