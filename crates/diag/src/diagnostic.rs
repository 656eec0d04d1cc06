//! One report about a user's file.

use crate::{Code, Span};

/// How bad it is: errors stop the road, warnings do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// Nothing is run or written.
    Error,
    /// The work goes on.
    Warning,
}

/// A place that takes part in a diagnostic, with a few words on how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// The place.
    pub span: Span,
    /// What is there, in a few words; may be empty.
    pub text: String,
}

/// What is wrong, where, and what to do. Compared and deduplicated by value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Which kind of fault; decides severity and explain page.
    pub code: Code,
    /// The primary place and what is there.
    pub primary: Label,
    /// One line, no full stop, in terms of the user's source.
    pub message: String,
    /// What to write instead.
    pub help: String,
    /// Further places, for example an earlier definition.
    pub related: Vec<Label>,
}

impl Diagnostic {
    /// A diagnostic with an empty primary label and no related places.
    pub fn new(code: Code, span: Span, message: impl Into<String>, help: impl Into<String>) -> Diagnostic {
        let primary = Label { span, text: String::new() };
        Diagnostic { code, primary, message: message.into(), help: help.into(), related: Vec::new() }
    }

    /// Sets the words under the primary place.
    pub fn label(mut self, text: impl Into<String>) -> Diagnostic {
        self.primary.text = text.into();
        self
    }

    /// Adds a related place.
    pub fn related(mut self, span: Span, text: impl Into<String>) -> Diagnostic {
        self.related.push(Label { span, text: text.into() });
        self
    }

    /// Error or warning, by code.
    pub fn severity(&self) -> Severity {
        self.code.severity()
    }
}
