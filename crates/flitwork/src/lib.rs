//! Flitwork as a library: source in, diagnostics, designs, pictures and runs out.
//!
//! [`compile::compile`] takes an application through the whole front end, with sources from [`loader::FileLoader`] (files, library
//! folders, the embedded library). [`run::run`] runs the design on packets. The command line in [`cli`] is a user of both.

pub mod app;
pub mod catalogue;
pub mod cli;
pub mod compile;
pub mod error;
pub mod library;
pub mod live;
pub mod loader;
pub mod output;
pub mod picture;
pub mod run;

pub use error::FileError;
