//! Type checking and lowering of element bodies to structured SSA.
//!
//! [`lower_element`] turns the sections of one element instance into the state, bodies and promises of an [`ir::Element`]. A
//! [`Lowerer`] carries what the sections share (state, constants) and what the body being lowered needs: the emitter, the
//! environment of scalar locals (slots that hold the current SSA value) and the names in scope. Branches merge the slots that
//! they changed, loops carry them; `break`, `continue` and `return` set flags that guard what follows.

mod aggregate;
mod arith;
mod bits;
mod call;
mod decl;
mod element;
mod emit;
mod expr;
mod finish;
mod flit;
mod flow;
mod looping;
mod names;
mod packet;
mod place;
mod ports;
mod ranges;
mod raw_signal;
mod run;
pub mod scratch;
mod stmt;
mod unfed;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use diag::{Code, Diagnostic, Severity, Span};
use ir::{BodyKind, ValueId, Var};

use crate::scope::{ConstValue, Decls, Diagnostics, LowerInput, Lowered};
use emit::Emitter;
use flow::Fate;
use names::Entity;

/// Stack of the thread that lowers: nested source is lowered by recursion.
const STACK_BYTES: usize = 256 << 20;
/// Nesting of statements and expressions that still fits that stack, far above what people write.
const NESTING_MAX: u32 = 1500;
/// Statements that one body may have once `.repeat` and functions are written out.
const STATEMENTS_MAX: u32 = 400_000;

/// Lowers the sections of one instance. `None` if, and only if, it added an error.
pub fn lower_element(input: &LowerInput<'_>, diags: &mut Diagnostics) -> Option<Lowered> {
    let (lowered, reports) = on_large_stack(|| {
        let mut lowerer = Lowerer::new(input.decls, Some(input), input.params.iter().cloned().collect());
        let lowered = lowerer.element(input);
        (lowered, lowerer.reports)
    });
    let failed = reports.iter().any(|report| report.severity() == Severity::Error);
    reports.into_iter().for_each(|report| diags.add(report));
    lowered.filter(|_| !failed)
}

/// Runs `f` on a thread with room for deep recursion.
fn on_large_stack<R: Send>(f: impl FnOnce() -> R + Send) -> R {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("lower".to_string()).stack_size(STACK_BYTES);
        match thread.spawn_scoped(scope, f) {
            Ok(handle) => match handle.join() {
                Ok(result) => result,
                Err(panic) => std::panic::resume_unwind(panic),
            },
            Err(error) => panic!("cannot start a thread to lower on: {error}"),
        }
    })
}

/// An error was reported; what failed has no value.
#[derive(Clone, Copy, Debug)]
pub struct Reported;

/// Result of lowering a part; the error is reported already.
pub type Res<T> = Result<T, Reported>;

/// Which section is lowered; decides which built-ins there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    /// `.init`.
    Init,
    /// `.handler`.
    Flit,
    /// `.packet`.
    Packet,
    /// `.body`.
    Tail,
    /// `.end`.
    End,
    /// `.signal`.
    Signal,
    /// A constant expression.
    Constant,
}

/// Lowers the bodies of one element, or one constant expression.
pub struct Lowerer<'a, 'd> {
    pub(crate) decls: &'d Decls<'a>,
    input: Option<&'d LowerInput<'a>>,
    /// Parameters and repeat variables given from outside.
    params: BTreeMap<String, ConstValue>,
    /// Diagnostics in order of finding.
    pub(crate) reports: Vec<Diagnostic>,
    /// State of the element, and memories made for constant arrays.
    vars: Vec<Var>,
    /// State variables, constants, structs and enums of the element.
    element_names: HashMap<String, Entity<'a>>,
    /// File-level constants that were evaluated.
    file_consts: HashMap<String, Entity<'a>>,
    /// Constants being evaluated, to find circles.
    const_stack: Vec<String>,
    structs: HashMap<String, Rc<crate::types::StructType>>,
    struct_stack: Vec<String>,
    /// File-level structs with a fault, which is reported once however often they are used.
    faulty_structs: BTreeSet<String>,
    flit_type: Rc<crate::types::StructType>,

    section: Section,
    emit: Emitter,
    body_id: u32,
    n_bodies: u32,
    in_constant: bool,
    slots: Vec<ValueId>,
    scopes: Vec<HashMap<String, Entity<'a>>>,
    /// Scopes below this one belong to callers and are not visible.
    scope_base: usize,
    frames: Vec<flow::Frame>,
    calls: Vec<(String, Span)>,
    loop_depth: u32,
    fate: Fate,
    nesting: u32,
    n_statements: u32,
    too_large: bool,
    repeat_stopped: bool,
    /// Branches and loops around the place that are decided at run time.
    runtime_depth: u32,
    /// `runtime_depth` at the copies of each `.repeat` around the place.
    repeat_depths: Vec<u32>,
    /// Mask of the outputs that this firing wrote, as a slot.
    written: Option<usize>,
    /// What this firing last wrote to each output, as slots; kept only for `set_output_ready`.
    output_data: Vec<Vec<usize>>,
    packet: element::PacketFacts,
    /// Results that may have wrapped in an exact width, by body and value, and where.
    narrow: HashMap<(u32, ValueId), Span>,
    /// Indices that were reported as not proven, by body, value and array, and where first.
    unproven: HashMap<(u32, ValueId, String), Span>,
}

impl<'a, 'd> Lowerer<'a, 'd> {
    pub(crate) fn new(
        decls: &'d Decls<'a>,
        input: Option<&'d LowerInput<'a>>,
        params: BTreeMap<String, ConstValue>,
    ) -> Lowerer<'a, 'd> {
        let flit_type = Rc::new(flit::flit_type(input));
        Lowerer {
            decls,
            input,
            params,
            reports: Vec::new(),
            vars: Vec::new(),
            element_names: HashMap::new(),
            file_consts: HashMap::new(),
            const_stack: Vec::new(),
            structs: HashMap::new(),
            struct_stack: Vec::new(),
            faulty_structs: BTreeSet::new(),
            flit_type,
            section: Section::Constant,
            emit: Emitter::new(BodyKind::Signal, &[]),
            body_id: 1,
            n_bodies: 1,
            in_constant: input.is_none(),
            slots: Vec::new(),
            scopes: vec![HashMap::new()],
            scope_base: 0,
            frames: Vec::new(),
            calls: Vec::new(),
            loop_depth: 0,
            fate: Fate::START,
            nesting: 0,
            n_statements: 0,
            too_large: false,
            repeat_stopped: false,
            runtime_depth: 0,
            repeat_depths: Vec::new(),
            written: None,
            output_data: Vec::new(),
            packet: element::PacketFacts::default(),
            narrow: HashMap::new(),
            unproven: HashMap::new(),
        }
    }

    /// Reports an error.
    fn error(&mut self, code: Code, span: Span, message: impl Into<String>, help: impl Into<String>) -> Reported {
        self.report(Diagnostic::new(code, span, message, help))
    }

    /// Reports a diagnostic; names the calls that led here.
    fn report(&mut self, mut diagnostic: Diagnostic) -> Reported {
        for (name, span) in self.calls.iter().rev().take(3) {
            diagnostic = diagnostic.related(*span, format!("in this call of `{name}`"));
        }
        self.reports.push(diagnostic);
        Reported
    }

    /// Reports a warning, once a place.
    fn warn(&mut self, code: Code, span: Span, message: impl Into<String>, help: impl Into<String>) {
        let seen = self.reports.iter().any(|old| old.code == code && old.primary.span == span);
        if !seen && !self.in_constant {
            self.reports.push(Diagnostic::new(code, span, message, help));
        }
    }

    /// A new slot of the environment.
    fn add_slot(&mut self, value: ValueId) -> usize {
        self.slots.push(value);
        self.slots.len() - 1
    }

    /// Goes one level deeper into nested source; refuses what would exhaust the stack.
    fn nested<R>(&mut self, span: Span, f: impl FnOnce(&mut Self) -> Res<R>) -> Res<R> {
        if self.nesting >= NESTING_MAX {
            if !self.too_large {
                self.too_large = true;
                let help = "split it into smaller parts, or use a loop";
                self.error(Code::E0321, span, "this is nested too deep", help);
            }
            return Err(Reported);
        }
        self.nesting += 1;
        let result = f(self);
        self.nesting -= 1;
        result
    }
}
