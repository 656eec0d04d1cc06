//! The syntax tree of one `.clnp` file.
//!
//! The tree is what the user wrote, resolved to nothing: names are strings, widths and counts are expressions. Every node
//! that a later report may point at has a span. Nodes that could not be parsed are left out or are [`ExprKind::Error`];
//! whoever walks a tree that had syntax errors must expect both.

use diag::Span;

/// A name and where it stands.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Ident {
    /// The name, without any namespace prefix.
    pub text: String,
    /// Where it stands, prefix excluded.
    pub span: Span,
}

/// One source file.
#[derive(Clone, Debug, Default)]
pub struct File {
    /// Declarations and statements in source order.
    pub items: Vec<Item>,
}

/// A top-level declaration or graph statement.
#[derive(Clone, Debug)]
pub enum Item {
    /// `import "core/Pass.clnp";` (also `.import`).
    Import(Import),
    /// `.element Name <1, 1> (…) { … }`.
    Element(ElementDecl),
    /// `.element_group Name <1, 1> (…) { … }`.
    Group(GroupDecl),
    /// `.alias NewName = Element;`: another name for an element.
    Alias(AliasDecl),
    /// `.header Ipv4 { version: 4; … }`.
    Header(HeaderDecl),
    /// `struct Name { … };`.
    Struct(StructDecl),
    /// `enum [class] Name [: type] { A, B = 2 };`.
    Enum(EnumDecl),
    /// `constexpr type NAME = e;`, `const type NAME = e;`.
    Const(ConstDecl),
    /// `[static] [inline] [constexpr] type name(params) { … }`.
    Function(FunctionDecl),
    /// A statement of the main graph.
    Graph(GraphStmt),
}

/// An import and the path that it names.
#[derive(Clone, Debug)]
pub struct Import {
    /// The path between the quotes.
    pub path: String,
    /// The quoted path.
    pub path_span: Span,
    /// The whole statement.
    pub span: Span,
}

/// A `///` or `/** … */` comment, or a run of `//` lines, directly above a declaration; empty if none.
pub type Doc = String;

/// `.alias Receiver = DropElem;`
#[derive(Clone, Debug)]
pub struct AliasDecl {
    /// The further name.
    pub name: Ident,
    /// The element that it names.
    pub target: Ident,
    /// The whole statement.
    pub span: Span,
}

/// An element type.
#[derive(Clone, Debug)]
pub struct ElementDecl {
    /// The comment above it, comment markers removed.
    pub doc: Doc,
    /// Its name.
    pub name: Ident,
    /// Input port groups.
    pub inputs: PortList,
    /// Output port groups.
    pub outputs: PortList,
    /// Compile-time parameters.
    pub params: Vec<ParamDecl>,
    /// Sections in source order; duplicates are kept for the resolver to report.
    pub sections: Vec<Section>,
    /// From `.element` to the closing brace.
    pub span: Span,
}

/// One side of `<in, out>`: groups of ports joined by `+`, each `count` or `count: Type`.
///
/// `<1, 2>` has one group a side; `<1, 1: packet + 1: FlowKey>` has two groups of outputs. Ports count from 1 through the groups.
#[derive(Clone, Debug)]
pub struct PortList {
    /// Groups in order.
    pub groups: Vec<PortGroup>,
    /// The whole list.
    pub span: Span,
}

/// `count` ports of one message type.
#[derive(Clone, Debug)]
pub struct PortGroup {
    /// How many: a constant expression over the element's parameters.
    pub count: Expr,
    /// The message type; absent: `packet` in an element with `.packet`, else `flit_t`.
    pub ty: Option<TypeExpr>,
}

/// `uint DEPTH = 16` in a parameter list.
#[derive(Clone, Debug)]
pub struct ParamDecl {
    /// Its type.
    pub ty: TypeExpr,
    /// Its name.
    pub name: Ident,
    /// The default.
    pub default: Option<Expr>,
    /// `where` range of `uint DEPTH = 16 in 1..4096` (inclusive), if written.
    pub range: Option<(Expr, Expr)>,
    /// The whole declaration.
    pub span: Span,
}

/// A section of an element.
#[derive(Clone, Debug)]
pub struct Section {
    /// What it holds.
    pub kind: SectionKind,
    /// From the dot to the closing brace.
    pub span: Span,
    /// The section's name with its dot, for reports.
    pub name_span: Span,
}

/// The sections that an element can have.
#[derive(Clone, Debug)]
pub enum SectionKind {
    /// `.state { … }`: declarations only.
    State(Vec<StateDecl>),
    /// `.meta { Type name; … }`.
    Meta(Vec<VarDecl>),
    /// `.init { … }`.
    Init(Block),
    /// `.handler { … }`.
    Handler(Block),
    /// `.packet (W, grow = G, store = B) { … }`.
    Packet(PacketOptions, Block),
    /// `.body (uint<256> &data, uint n_bytes, uint offset) { … }`.
    Body(Vec<FnParam>, Block),
    /// `.end { … }`.
    End(Block),
    /// `.signal …`.
    Signal(SignalDecl),
    /// `.timing { ii = 1; always; }`.
    Timing(TimingDecl),
    /// `.hls_pragma { … }`: the verbatim text between the braces.
    HlsPragma(String),
    /// `.native crypto::aes_ctr`: the name of a kernel, its parts joined by `::`.
    Native(Ident),
}

/// What `.state` may declare.
#[derive(Clone, Debug)]
pub enum StateDecl {
    /// A state variable.
    Var(VarDecl),
    /// A constant of this element.
    Const(ConstDecl),
    /// A struct of this element; variables declared with it (`struct E {…} table[8];`) follow as `Var`.
    Struct(StructDecl),
    /// An enum of this element.
    Enum(EnumDecl),
}

/// Options of `.packet`; absent ones take the language's defaults.
#[derive(Clone, Debug)]
pub struct PacketOptions {
    /// Window in bytes.
    pub window: Option<Expr>,
    /// Bytes that pushes may add in all.
    pub grow: Option<Expr>,
    /// Store-and-forward up to this many bytes.
    pub store: Option<Expr>,
    /// The parenthesised options, or the section name if there are none.
    pub span: Span,
}

/// A `.signal` section.
#[derive(Clone, Debug)]
pub enum SignalDecl {
    /// `.signal (uint cmd, uint p) { … }` or `.signal { … }`: ClickNP's raw form.
    Raw {
        /// Up to two named integers: the command and the small parameter.
        params: Vec<FnParam>,
        /// The code.
        body: Block,
    },
    /// `.signal insert(uint<32> ip) -> (bool ok) { … }`.
    Typed {
        /// The comment above it.
        doc: Doc,
        /// Its name.
        name: Ident,
        /// Arguments.
        params: Vec<FnParam>,
        /// Results: variables that the body assigns (or returns, if there is just one).
        results: Vec<FnParam>,
        /// The code.
        body: Block,
    },
}

/// `.timing { ii = 1; always; }`
#[derive(Clone, Debug, Default)]
pub struct TimingDecl {
    /// The promised initiation interval in cycles.
    pub ii: Option<Expr>,
    /// May fire in every cycle, input or not.
    pub always: Option<Span>,
}

/// A parameter or result of a function, signal or body.
#[derive(Clone, Debug)]
pub struct FnParam {
    /// Its type.
    pub ty: TypeExpr,
    /// `&`: the callee writes the caller's variable.
    pub by_reference: bool,
    /// Its name.
    pub name: Ident,
    /// Array dimensions: `uint32_t h[5]` is passed by reference, as in C.
    pub dims: Vec<Expr>,
    /// `= e`, in the arguments of typed signals only.
    pub default: Option<Expr>,
}

/// A file-level function.
#[derive(Clone, Debug)]
pub struct FunctionDecl {
    /// The comment above it.
    pub doc: Doc,
    /// Result type; `void` for none.
    pub result: TypeExpr,
    /// Its name.
    pub name: Ident,
    /// Parameters.
    pub params: Vec<FnParam>,
    /// The code.
    pub body: Block,
    /// The whole declaration.
    pub span: Span,
}

/// A file- or state-level constant; arrays have dimensions and a braced initialiser.
#[derive(Clone, Debug)]
pub struct ConstDecl {
    /// Its type.
    pub ty: TypeExpr,
    /// Its name.
    pub name: Ident,
    /// Array dimensions, outermost first; an empty bracket (`[]`) is `None`.
    pub dims: Vec<Option<Expr>>,
    /// The value.
    pub value: Expr,
    /// The whole declaration.
    pub span: Span,
}

/// `struct Name { type a, b[4]; };`; the last `;` may be left out
#[derive(Clone, Debug)]
pub struct StructDecl {
    /// Its name.
    pub name: Ident,
    /// One entry a field (declarator lists are split).
    pub fields: Vec<VarDecl>,
    /// The whole declaration.
    pub span: Span,
}

/// `enum Name : uint8_t { A = 1, B };`
#[derive(Clone, Debug)]
pub struct EnumDecl {
    /// Its name; absent for an anonymous enum.
    pub name: Option<Ident>,
    /// `enum class`: values are reached as `Name::A` only.
    pub scoped: bool,
    /// Underlying type.
    pub underlying: Option<TypeExpr>,
    /// Values with their optional initialisers.
    pub values: Vec<(Ident, Option<Expr>)>,
    /// The whole declaration.
    pub span: Span,
}

/// `.header Ipv4 { version: 4; ihl: 4; … }`: fields in network order, widths in bits.
#[derive(Clone, Debug)]
pub struct HeaderDecl {
    /// The comment above it.
    pub doc: Doc,
    /// Its name.
    pub name: Ident,
    /// Fields with their widths.
    pub fields: Vec<(Ident, Expr)>,
    /// The whole declaration.
    pub span: Span,
}

/// A group of elements that is inlined where instantiated.
#[derive(Clone, Debug)]
pub struct GroupDecl {
    /// The comment above it.
    pub doc: Doc,
    /// Its name.
    pub name: Ident,
    /// Input ports; absent in `.element_group Name { … }`.
    pub inputs: Option<PortList>,
    /// Output ports.
    pub outputs: Option<PortList>,
    /// Compile-time parameters.
    pub params: Vec<ParamDecl>,
    /// The statements between the braces.
    pub body: Vec<GraphStmt>,
    /// The whole declaration.
    pub span: Span,
}

/// A statement of a graph.
#[derive(Clone, Debug)]
pub enum GraphStmt {
    /// `Element :: name @ (1, 1, 14)`; several names may share a line: `Pass :: a, b`.
    Instance(InstanceDecl),
    /// `a[1] -> [2]b => c`.
    Chain(Chain),
    /// `.repeat(i, 0, 4) { … $i … }`.
    Repeat(GraphRepeat),
    /// `BREAK`: leaves the innermost `.repeat`; usually under `if`.
    Break(Span),
    /// `if (cond) { … } else { … }` on constants, inside `.repeat`.
    If {
        /// A constant expression, in which `$i` stands for the repeat's variable.
        cond: Expr,
        /// Statements if it is not 0.
        then: Vec<GraphStmt>,
        /// Statements if it is 0.
        otherwise: Vec<GraphStmt>,
        /// The whole statement.
        span: Span,
    },
}

/// `.repeat(i, lo, hi)` around graph statements; `hi` is excluded.
#[derive(Clone, Debug)]
pub struct GraphRepeat {
    /// The variable, used as `$i` in names, counts and arguments.
    pub var: Ident,
    /// First value.
    pub lo: Expr,
    /// One past the last value.
    pub hi: Expr,
    /// What is repeated.
    pub body: Vec<GraphStmt>,
    /// The whole statement.
    pub span: Span,
}

/// A graph name with `$i` holes: `stage$i` is `[Text("stage"), Var("i")]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameTemplate {
    /// Pieces in order, never empty.
    pub parts: Vec<NamePart>,
    /// Where it stands.
    pub span: Span,
}

/// A piece of a graph name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NamePart {
    /// Literal text.
    Text(String),
    /// `$name`, replaced by the value of that repeat variable or parameter.
    Var(String),
}

/// An instance declaration, or, without names, the settings of a boundary port: `nic_out (rate = 1'000'000'000)`.
#[derive(Clone, Debug)]
pub struct InstanceDecl {
    /// `host` before the element name: it runs on the host.
    pub on_host: bool,
    /// The element or group.
    pub element: Ident,
    /// Instance names; none if `element` is a boundary port.
    pub names: Vec<NameTemplate>,
    /// Flags and arguments.
    pub config: InstanceConfig,
    /// The whole statement.
    pub span: Span,
}

/// What stands after the instance name: `@`, `&`, `(in, out*depth, args…)`.
#[derive(Clone, Debug, Default)]
pub struct InstanceConfig {
    /// `@`: its signals can be called.
    pub host_control: bool,
    /// `&`: runs without being started.
    pub autorun: bool,
    /// Overrides the number of inputs.
    pub n_inputs: Option<Expr>,
    /// Overrides the number of outputs.
    pub n_outputs: Option<Expr>,
    /// Depth in messages of the outgoing channels.
    pub depth: Option<Expr>,
    /// Further arguments: positional first, then `NAME = value`.
    pub args: Vec<InstanceArg>,
    /// `rate = R` style settings of boundary ports stand here as named arguments too.
    pub span: Option<Span>,
}

/// One argument of an instance.
#[derive(Clone, Debug)]
pub struct InstanceArg {
    /// The parameter's name; absent: by position.
    pub name: Option<Ident>,
    /// A constant expression.
    pub value: Expr,
}

/// `a[1] -> [2]b[3] => c`: nodes and the links between them.
#[derive(Clone, Debug)]
pub struct Chain {
    /// At least two nodes.
    pub nodes: Vec<ChainNode>,
    /// `nodes.len() - 1` links.
    pub links: Vec<Link>,
    /// The whole statement.
    pub span: Span,
}

/// A link between two nodes of a chain.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    /// `=>` instead of `->`.
    pub lossy: bool,
    /// The arrow.
    pub span: Span,
}

/// One node of a chain: `[in]name[out*depth]`.
#[derive(Clone, Debug)]
pub struct ChainNode {
    /// Input port; default 1.
    pub input: Option<Expr>,
    /// What it is.
    pub target: NodeTarget,
    /// Output port; default 1.
    pub output: Option<Expr>,
    /// `name[1*128]`: depth override. After the target of an arrow it is the depth of that arrow's channel (as published
    /// ClickNP source means it); on the first node of a chain, of the outgoing channel.
    pub depth: Option<Expr>,
    /// The whole node.
    pub span: Span,
}

/// What a chain node names.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "chains are short and few")]
pub enum NodeTarget {
    /// An instance or a boundary port.
    Name(NameTemplate),
    /// An anonymous instance: `Tee(1, 3)`, `HashTable @ (1, 1, 14)`.
    Anonymous(Ident, InstanceConfig),
}

/// `{ … }`.
#[derive(Clone, Debug)]
pub struct Block {
    /// Statements in order.
    pub stmts: Vec<Stmt>,
    /// With the braces.
    pub span: Span,
}

/// A statement in a body.
#[derive(Clone, Debug)]
pub struct Stmt {
    /// What it is.
    pub kind: StmtKind,
    /// Where it stands.
    pub span: Span,
}

/// The statements of bodies.
#[derive(Clone, Debug)]
pub enum StmtKind {
    /// `;`.
    Empty,
    /// Local variables; one entry a declarator.
    Vars(Vec<VarDecl>),
    /// A local constant.
    Const(ConstDecl),
    /// A local struct.
    Struct(StructDecl),
    /// A local enum.
    Enum(EnumDecl),
    /// An expression for its effect.
    Expr(Expr),
    /// `{ … }`.
    Block(Block),
    /// `if`.
    If {
        /// Condition.
        cond: Expr,
        /// Taken when it is not 0.
        then: Box<Stmt>,
        /// Taken when it is 0.
        otherwise: Option<Box<Stmt>>,
    },
    /// `for (init; cond; step) body`.
    For {
        /// Declaration, expression or nothing.
        init: Option<Box<Stmt>>,
        /// Condition; absent: true.
        cond: Option<Expr>,
        /// Step expressions (comma separated).
        step: Vec<Expr>,
        /// Body.
        body: Box<Stmt>,
    },
    /// `while`.
    While {
        /// Condition.
        cond: Expr,
        /// Body.
        body: Box<Stmt>,
    },
    /// `do … while (…);`.
    DoWhile {
        /// Body.
        body: Box<Stmt>,
        /// Condition.
        cond: Expr,
    },
    /// `switch`.
    Switch {
        /// What is compared.
        value: Expr,
        /// Arms in order; fall-through as in C.
        arms: Vec<SwitchArm>,
    },
    /// `break;`.
    Break,
    /// `continue;`.
    Continue,
    /// `return e;`.
    Return(Option<Expr>),
    /// `.repeat(i, lo, hi) { … }` in a body: copies at compile time, with `$i` a constant.
    Repeat {
        /// The variable.
        var: Ident,
        /// First value.
        lo: Expr,
        /// One past the last.
        hi: Expr,
        /// What is copied.
        body: Block,
    },
    /// `BREAK`: no further copies of the innermost `.repeat`.
    RepeatBreak,
    /// `#pragma …`, verbatim, for the HLS target.
    Pragma(String),
}

/// `case A: case B: …` with the statements up to the next label.
#[derive(Clone, Debug)]
pub struct SwitchArm {
    /// Labels; `None` is `default`.
    pub labels: Vec<(Option<Expr>, Span)>,
    /// Statements after them.
    pub body: Vec<Stmt>,
}

/// One declared variable.
#[derive(Clone, Debug)]
pub struct VarDecl {
    /// Its type, or `auto`.
    pub ty: TypeExpr,
    /// `const` or `constexpr` before it.
    pub is_const: bool,
    /// Its name.
    pub name: Ident,
    /// Array dimensions, outermost first.
    pub dims: Vec<Expr>,
    /// `= e`, `{…}` or `= {…}`.
    pub init: Option<Expr>,
    /// The declarator.
    pub span: Span,
}

/// A type as written.
#[derive(Clone, Debug)]
pub struct TypeExpr {
    /// What it is.
    pub kind: TypeKind,
    /// Where it stands.
    pub span: Span,
}

/// Types as written.
#[derive(Clone, Debug)]
pub enum TypeKind {
    /// `bool`, `uint8_t`, `flit_t`, `packet`, `Ipv4`, `unsigned` spellings normalised to `uint`…: any plain name.
    Name(String),
    /// `uint<N>`.
    UInt(Box<Expr>),
    /// `int<N>`.
    Int(Box<Expr>),
    /// `auto`.
    Auto,
    /// `void`.
    Void,
}

/// An expression.
#[derive(Clone, Debug)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Where it stands.
    pub span: Span,
}

/// The expressions.
#[derive(Clone, Debug)]
pub enum ExprKind {
    /// An integer literal: little-endian 64-bit limbs, and its suffix.
    Int(IntLiteral),
    /// `true`, `false`.
    Bool(bool),
    /// `'a'`.
    Char(u8),
    /// `"…"`, escapes resolved; only as an argument of `trace`, `assert`, `drop`.
    Str(String),
    /// A name; a namespace prefix before a built-in is dropped by the parser (`ns::flit_t`), `Enum::A` keeps its qualifier.
    Name {
        /// `Enum` of `Enum::A`.
        qualifier: Option<Ident>,
        /// The name.
        name: Ident,
    },
    /// `$i`: a repeat variable or a parameter.
    Dollar(Ident),
    /// `a.b` (also `_state.b`, `pkt.meta.x`, `f.fd.sop`).
    Field(Box<Expr>, Ident),
    /// `a[i]`.
    Index(Box<Expr>, Box<Expr>),
    /// `a[hi:lo]`.
    Slice(Box<Expr>, Box<Expr>, Box<Expr>),
    /// `f(a, b)`, `pkt.be16(12)` (callee is a `Field`), `pkt.header<Ipv4>(14)` (with type arguments).
    Call {
        /// A `Name` or `Field`.
        callee: Box<Expr>,
        /// Between `<` and `>`.
        type_args: Vec<TypeExpr>,
        /// Arguments.
        args: Vec<Expr>,
    },
    /// `static_cast<T>(e)`, `(T)e`, `T(e)`, `T{e}` of an integer type.
    Cast(TypeExpr, Box<Expr>),
    /// `sizeof(T)` or `sizeof(e)`: bytes.
    SizeOf(Box<SizeOfArg>),
    /// `-a`, `~a`, `!a`, `+a`, `&a[i]` (only as a buffer argument).
    Unary(UnaryOp, Box<Expr>),
    /// `++a`, `a--`, ….
    IncDec {
        /// `++` or `--`.
        increment: bool,
        /// Before the operand: the value is the new one.
        prefix: bool,
        /// The variable.
        target: Box<Expr>,
    },
    /// `a + b`, `a && b`, ….
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// `a = b`, `a += b`.
    Assign {
        /// `None` for plain `=`.
        op: Option<BinaryOp>,
        /// The variable.
        target: Box<Expr>,
        /// The value.
        value: Box<Expr>,
    },
    /// `c ? a : b`.
    Conditional(Box<Expr>, Box<Expr>, Box<Expr>),
    /// `{a, b}`, `{}`, `T{…}` of an aggregate, designated `{.a = 1}`; in an expression of type `uint<N>` a concatenation.
    Braces {
        /// `T` of `T{…}`.
        ty: Option<TypeExpr>,
        /// Elements with optional designators.
        elems: Vec<(Option<Ident>, Expr)>,
    },
    /// Could not be parsed; already reported.
    Error,
}

/// The operand of `sizeof`.
#[derive(Clone, Debug)]
pub enum SizeOfArg {
    /// A type.
    Type(TypeExpr),
    /// An expression.
    Expr(Expr),
}

/// An integer literal of any size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IntLiteral {
    /// Value, least significant limb first, no leading zero limbs; empty is 0.
    pub limbs: Vec<u64>,
    /// `u` or `U` written.
    pub unsigned: bool,
    /// `l`, `ll` written (64 bits).
    pub long: bool,
    /// Hexadecimal, binary or octal (C picks unsigned types for these).
    pub non_decimal: bool,
}

/// Prefix operators without effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnaryOp {
    /// `-`
    Neg,
    /// `+`
    Plus,
    /// `~`
    BitNot,
    /// `!`
    Not,
    /// `&`
    AddressOf,
    /// `*`: always refused, kept so that the report can say what to write.
    Deref,
}

/// Infix operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the operators of C under their usual names")]
pub enum BinaryOp {
    Mul,
    Div,
    Rem,
    Add,
    Sub,
    Shl,
    Shr,
    Lt,
    Le,
    Gt,
    Ge,
    Eq,
    Ne,
    BitAnd,
    BitXor,
    BitOr,
    And,
    Or,
}
