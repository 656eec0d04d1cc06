//! The table of error codes.
//!
//! One line a code: name, severity, title. Each code has a page `explain/<CODE>.md` (what it means, a wrong
//! example, a right one) and at least one test file that shows it. `E00xx` files and imports, `E01xx` syntax,
//! `E02xx` the graph, `E03xx` types and names in bodies, `E04xx` element structure, `W…` warnings of the same groups.

use crate::Severity;

macro_rules! codes {
    ($($code:ident $severity:ident $title:literal;)*) => {
        /// A kind of fault. Its text form is the code that users see, such as `E0203`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[allow(missing_docs, reason = "each code carries its title and explain page in the table")]
        pub enum Code { $($code),* }

        impl Code {
            /// Every code, in order.
            pub const ALL: &'static [Code] = &[$(Code::$code),*];

            /// The code as users see it.
            pub fn name(self) -> &'static str {
                match self { $(Code::$code => stringify!($code)),* }
            }

            /// A few words that name the fault.
            pub fn title(self) -> &'static str {
                match self { $(Code::$code => $title),* }
            }

            /// Whether the fault stops the road.
            pub fn severity(self) -> Severity {
                match self { $(Code::$code => Severity::$severity),* }
            }

            /// The page that `flitwork explain` shows, as Markdown.
            pub fn page(self) -> &'static str {
                match self { $(Code::$code => include_str!(concat!("../explain/", stringify!($code), ".md"))),* }
            }
        }
    };
}

codes! {
    // Files and imports.
    E0001 Error "import not found";
    // Syntax.
    E0101 Error "unexpected token";
    // The graph.
    E0201 Error "unknown element";
    // Types and names in bodies.
    E0301 Error "unknown name";
    // Element structure.
    E0401 Error "element declared twice";
}

impl Code {
    /// The code with this name, in either case.
    pub fn parse(name: &str) -> Option<Code> {
        Code::ALL.iter().copied().find(|code| code.name().eq_ignore_ascii_case(name))
    }
}

impl std::fmt::Display for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
