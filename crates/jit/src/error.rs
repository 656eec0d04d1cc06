//! Why there is no native code.

use std::fmt;

/// Why an element could not be compiled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// This processor is not one that code can be made for; the user takes the interpreter instead.
    Host(String),
    /// The code generator refused a body, for instance because it is too large; the user takes the interpreter instead.
    Body {
        /// Element instance.
        element: String,
        /// Section, as in [`ir::Element::bodies`].
        body: String,
        /// What the code generator said.
        message: String,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Host(message) => write!(f, "no native code for this processor: {message}"),
            Error::Body { element, body, message } => write!(f, "no native code for `{body}` of {element}: {message}"),
        }
    }
}

impl std::error::Error for Error {}
