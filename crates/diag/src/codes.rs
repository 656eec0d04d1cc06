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
    E0002 Error "import cannot be read";
    // Syntax.
    E0101 Error "unexpected token";
    E0102 Error "missing semicolon";
    E0103 Error "missing closing brace";
    E0104 Error "missing closing bracket";
    E0105 Error "unmatched closing brace";
    E0106 Error "unterminated comment";
    E0107 Error "unterminated string or character";
    E0108 Error "malformed number";
    E0109 Error "number too large";
    E0110 Error "unknown character";
    E0111 Error "unknown section or directive";
    E0112 Error "section outside an element";
    E0113 Error "nested too deeply";
    E0114 Error "reserved word as a name";
    E0115 Error "pointers";
    E0116 Error "floating point";
    E0117 Error "goto and labels";
    E0118 Error "exceptions";
    E0119 Error "heap";
    E0120 Error "lambdas";
    E0121 Error "preprocessor";
    E0122 Error "templates";
    E0123 Error "other constructs of C++";
    E0124 Error "comma operator";
    E0125 Error "malformed character or escape";
    E0126 Error "malformed graph statement";
    E0127 Error "constant without value or array without size";
    E0128 Error "unknown or repeated option";
    E0129 Error "statement before the first case";
    E0130 Error "declaration or statement in the wrong place";
    E0131 Error "references";
    W0101 Warning "assignment in a condition";
    W0102 Warning "empty body";
    // The graph.
    E0201 Error "unknown element";
    E0202 Error "unknown instance";
    E0203 Error "port out of range";
    E0204 Error "port used twice";
    E0205 Error "port not connected";
    E0206 Error "channel types differ";
    E0207 Error "lossless cycle without a buffer";
    E0208 Error "group contains itself";
    E0209 Error "parameter out of range";
    E0210 Error "unknown parameter";
    E0211 Error "missing parameter";
    E0212 Error "too many arguments";
    E0213 Error "instance declared twice";
    E0214 Error "instance never connected";
    E0215 Error "boundary port misused";
    E0216 Error "count or depth out of range";
    E0217 Error "not a message type";
    E0218 Error "metadata fields differ";
    E0219 Error "too much metadata";
    E0220 Error "graph too large";
    E0221 Error "unknown repeat variable";
    E0222 Error "BREAK outside .repeat";
    E0223 Error "parameter given twice";
    E0224 Error "unknown boundary setting";
    E0225 Error "parameter of no integer type";
    W0201 Warning "graph of an imported file ignored";
    W0202 Warning "nothing can enter the graph";
    W0203 Warning "arguments ignored";
    // Types and names in bodies.
    E0301 Error "unknown name";
    E0302 Error "unknown type";
    E0303 Error "types do not fit";
    E0304 Error "wrong number of arguments";
    E0305 Error "cannot be assigned";
    E0306 Error "not a constant";
    E0307 Error "unknown field";
    E0308 Error "cannot be indexed";
    E0309 Error "unknown function";
    E0310 Error "recursion";
    E0311 Error "not possible here";
    E0312 Error "unknown method";
    E0314 Error "built-in not available in this section";
    E0315 Error "port number out of range";
    E0316 Error "message type differs";
    E0317 Error "nothing to leave";
    E0318 Error "local name declared twice";
    E0319 Error "width out of range";
    E0320 Error "initialiser does not fit";
    E0321 Error "too large or nested too deep";
    E0322 Error "array size out of range";
    E0323 Error "return value";
    E0324 Error "case label used twice";
    E0325 Error "bit range";
    E0326 Error "constant defined by itself";
    W0301 Warning "bound not proven";
    W0302 Warning "index out of range";
    W0303 Warning "writes without input, waits for input";
    W0304 Warning "wraps before it is widened";
    // Element structure.
    E0401 Error "element declared twice";
    E0402 Error "type declared twice";
    E0403 Error "constant or function declared twice";
    E0404 Error "parameter declared twice";
    E0405 Error "alias names itself";
    E0410 Error "missing return";
    E0411 Error "section given twice";
    E0412 Error "no handler";
    E0413 Error "both kinds of handler";
    E0414 Error "section without `.packet`";
    E0415 Error "packet neither emitted nor dropped";
    E0416 Error "packet emitted and dropped";
    E0417 Error "needs `store`";
    E0418 Error "needs `grow`";
    E0419 Error "packet option out of range";
    E0420 Error "parameters of a section";
    E0421 Error "header of broken bytes";
    E0422 Error "struct contains itself";
    E0423 Error "timing option out of range";
    E0424 Error "unknown kernel";
    E0425 Error "kernel does not fit the element";
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
