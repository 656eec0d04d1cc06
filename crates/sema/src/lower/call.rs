//! Calls: file-level functions, written out in place, and built-ins that exist in every section.

use diag::{Code, Diagnostic, Span};
use ir::{Attr, Opcode, ValueId, Width};
use syntax::ast::{self, Expr, ExprKind};

use super::arith::Scalar;
use super::expr::Rvalue;
use super::flow::{Fate, Frame};
use super::names::Entity;
use super::place::Place;
use super::{Lowerer, Res};
use crate::suggest::{instead_of_c_function, nearest};
use crate::types::{IntType, Type};

/// Every built-in function, for suggestions.
const BUILT_INS: [&str; 31] = [
    "input_ready",
    "test_input_port",
    "read_input_port",
    "peek_input_port",
    "get_input_port",
    "get_input_data",
    "clear_input_ready",
    "clear_input_port",
    "set_output_port",
    "set_port_output",
    "set_output_ready",
    "clear_output_ready",
    "last_output_failed",
    "last_output_success",
    "PORT_BIT",
    "now_ns",
    "wake_at",
    "assert",
    "trace",
    "concat",
    "emit",
    "drop",
    "csum_update16",
    "csum_update32",
    "csum_fold",
    "sizeof",
    "set_signal",
    "__builtin_popcount",
    "__builtin_ctz",
    "__builtin_clz",
    "__builtin_bswap32",
];

enum Argument {
    Alias(Place),
    Value(Rvalue),
    /// The packet of the firing, under its one name.
    Packet,
}

impl<'a> Lowerer<'a, '_> {
    /// A call expression.
    pub fn call(
        &mut self,
        callee: &Expr,
        type_args: &[ast::TypeExpr],
        args: &[Expr],
        span: Span,
        expected: Option<&Type>,
    ) -> Res<Rvalue> {
        match &callee.kind {
            ExprKind::Field(receiver, method) => {
                if self.is_object(receiver, "pkt")? {
                    return self.packet_method(method, type_args, args, span);
                }
                self.flit_method(receiver, method, args, span)
            }
            ExprKind::Name { qualifier: Some(qualifier), name } => {
                let message = format!("`{}::{}` is not in the language or its library", qualifier.text, name.text);
                let help = "declare the function in a file and import it, or use the element that does this";
                Err(self.error(Code::E0309, callee.span, message, help))
            }
            ExprKind::Name { qualifier: None, name } => {
                if let Some(&function) = self.decls.functions.get(name.text.as_str()) {
                    return self.function(function, args, span);
                }
                self.built_in(name, args, span, expected)
            }
            ExprKind::Error => {
                Err(self.error(Code::E0311, span, "this call could not be read", "see the syntax error above"))
            }
            _ => Err(self.error(Code::E0309, callee.span, "this cannot be called", "call a function by its name")),
        }
    }

    /// Exactly `n` arguments.
    pub fn n_args(&mut self, what: &str, args: &[Expr], n: usize, usage: &str, span: Span) -> Res<()> {
        if args.len() == n {
            return Ok(());
        }
        let plural = if n == 1 { "" } else { "s" };
        let message = format!("`{what}` takes {n} argument{plural}, here are {}", args.len());
        Err(self.error(Code::E0304, span, message, format!("write `{usage}`")))
    }

    // ---- functions

    fn function(&mut self, function: &'a ast::FunctionDecl, args: &[Expr], span: Span) -> Res<Rvalue> {
        let name = &function.name.text;
        if let Some(at) = self.calls.iter().position(|(caller, _)| caller == name) {
            let mut cycle: Vec<&str> = self.calls[at..].iter().map(|(caller, _)| caller.as_str()).collect();
            cycle.push(name);
            let message = format!("recursion: {}", cycle.join(" -> "));
            let help = "functions are written out where they are called; use a loop";
            let diagnostic =
                Diagnostic::new(Code::E0310, span, message, help).related(function.name.span, "declared here");
            self.reports.push(diagnostic);
            return Err(super::Reported);
        }
        if args.len() != function.params.len() {
            let (wanted, given) = (function.params.len(), args.len());
            let message = format!("`{name}` takes {wanted} arguments, here are {given}");
            let diagnostic = Diagnostic::new(Code::E0304, span, message, "pass one argument for each parameter");
            return Err(self.report(diagnostic.related(function.name.span, "declared here")));
        }
        let mut bound = Vec::new();
        for (param, arg) in function.params.iter().zip(args) {
            bound.push(self.argument(param, arg)?);
        }
        let result_type = self.in_file_scope(|lowerer| lowerer.resolve_type(&function.result))?;
        self.nested(span, |lowerer| lowerer.inlined(function, bound, result_type, span))
    }

    fn argument(&mut self, param: &'a ast::FnParam, arg: &Expr) -> Res<Argument> {
        if matches!(&param.ty.kind, ast::TypeKind::Name(name) if name == "packet") {
            return self.packet_argument(param, arg);
        }
        let ty = self.in_file_scope(|lowerer| lowerer.declared_type(&param.ty, &param.dims))?;
        if !param.by_reference && param.dims.is_empty() {
            return Ok(Argument::Value(self.initial_value(arg, &ty)?));
        }
        let Some(place) = self.place(arg)? else {
            // A value where the callee wants a reference: its writes go to a copy.
            return Ok(Argument::Value(self.initial_value(arg, &ty)?));
        };
        let fits = match (&place.ty, &ty) {
            // As in C, the length of an array parameter is not checked; bounds are those of the array passed.
            (Type::Array(given, _), Type::Array(wanted, _)) => given == wanted,
            (given, wanted) => given == wanted,
        };
        if !fits {
            let message = format!(
                "`{}` refers to a variable of type `{}`, this is `{}`",
                param.name.text,
                ty.name(),
                place.ty.name()
            );
            let diagnostic = Diagnostic::new(Code::E0303, arg.span, message, "pass a variable of exactly that type");
            return Err(self.report(diagnostic.related(param.name.span, "the parameter")));
        }
        Ok(Argument::Alias(place))
    }

    /// `pkt` handed on to a function.
    fn packet_argument(&mut self, param: &'a ast::FnParam, arg: &Expr) -> Res<Argument> {
        if !param.by_reference || !param.dims.is_empty() || param.name.text != "pkt" {
            let message = format!("the packet cannot be passed as `{}`", param.name.text);
            return Err(self.error(Code::E0302, param.name.span, message, "declare the parameter as `packet &pkt`"));
        }
        if !self.is_object(arg, "pkt")? {
            let diagnostic = Diagnostic::new(Code::E0303, arg.span, "this is not the packet", "pass `pkt`");
            return Err(self.report(diagnostic.related(param.name.span, "the parameter")));
        }
        Ok(Argument::Packet)
    }

    fn inlined(
        &mut self,
        function: &'a ast::FunctionDecl,
        args: Vec<Argument>,
        result_type: Type,
        span: Span,
    ) -> Res<Rvalue> {
        self.check_scalar_count(&result_type, span)?;
        let n_slots = self.slots.len();
        let scope_base = std::mem::replace(&mut self.scope_base, self.scopes.len());
        let repeat_depths = std::mem::take(&mut self.repeat_depths);
        self.scopes.push(Default::default());
        self.calls.push((function.name.text.clone(), span));
        let mut result = Ok(());
        for (param, arg) in function.params.iter().zip(args) {
            let place = match arg {
                Argument::Packet => continue,
                Argument::Alias(place) => place,
                Argument::Value(value) => {
                    let place = self.new_local(&param.name.text, &value.ty);
                    result = result.and(self.store(&place, &value.scalars, span));
                    place
                }
            };
            self.declare(&param.name, Entity::Place(place));
        }
        let frame = self.new_frame(result_type.clone(), false);
        self.frames.push(frame);
        let flow = self.block(&function.body);
        let frame = self.frames.pop().expect("pushed above");
        self.calls.pop();
        self.scopes.pop();
        self.scope_base = scope_base;
        self.repeat_depths = repeat_depths;
        let flow = result.and(flow);
        let scalars: Vec<ValueId> = frame.values.iter().map(|&slot| self.slots[slot]).collect();
        self.slots.truncate(n_slots);
        let flow = flow?;
        self.fate = if flow.falls { self.fate.or(frame.fate) } else { frame.fate };
        if flow.falls && result_type != Type::Void {
            let at = Self::closing_brace(function.body.span);
            let message = format!("`{}` may end without returning a value", function.name.text);
            return Err(self.error(Code::E0323, at, message, "add a `return` at the end"));
        }
        Ok(Rvalue { ty: result_type, scalars, literal: false })
    }

    /// A frame whose result starts as zero.
    pub fn new_frame(&mut self, ty: Type, value_is_optional: bool) -> Frame {
        let zero = self.emit.constant_bool(false);
        let returns = self.add_slot(zero);
        let mut values = Vec::new();
        for int in ty.scalar_types() {
            let zero = self.emit.zero(int.width);
            values.push(self.add_slot(zero));
        }
        Frame { returns, values, ty, targets: vec![], fate: Fate::UNREACHABLE, value_is_optional }
    }

    // ---- built-ins

    fn built_in(&mut self, name: &ast::Ident, args: &[Expr], span: Span, expected: Option<&Type>) -> Res<Rvalue> {
        match name.text.as_str() {
            "concat" => {
                if args.is_empty() {
                    return Err(self.error(Code::E0304, span, "`concat` needs operands", "write `concat(high, low)`"));
                }
                let parts: Vec<&Expr> = args.iter().collect();
                self.concatenation(&parts, span)
            }
            "PORT_BIT" => {
                self.n_args("PORT_BIT", args, 1, "PORT_BIT(i)", span)?;
                let port = self.scalar(&args[0])?;
                let amount = self.shift_amount(port);
                let one = self.emit.constant_u64(1, Width::of(32));
                let value = self.emit.binary(Opcode::Shl, one, amount);
                Ok(Scalar { value, ty: IntType::UINT, literal: false }.into())
            }
            "csum_update16" => {
                self.n_args("csum_update16", args, 3, "csum_update16(checksum, old, new)", span)?;
                let [sum, old, new] = self.words(args, 16)?;
                Ok(self.checksum_update(sum, &[(old, new)]))
            }
            "csum_update32" => {
                self.n_args("csum_update32", args, 3, "csum_update32(checksum, old, new)", span)?;
                let sum = self.scalar_as(&args[0], IntType::c(16, false))?;
                let old = self.scalar_as(&args[1], IntType::UINT)?;
                let new = self.scalar_as(&args[2], IntType::UINT)?;
                let half = Width::of(16);
                let halves = [0, 16].map(|bit| (self.emit.extract(old, bit, half), self.emit.extract(new, bit, half)));
                Ok(self.checksum_update(sum, &halves))
            }
            "csum_fold" => {
                self.n_args("csum_fold", args, 1, "csum_fold(sum)", span)?;
                let sum = self.scalar_as(&args[0], IntType::UINT)?;
                Ok(self.checksum_fold(sum))
            }
            "assert" => self.assert_call(args, span),
            "trace" => self.trace_call(args, span),
            "now_ns" => {
                self.n_args("now_ns", args, 0, "now_ns()", span)?;
                self.not_in_constant("now_ns", span)?;
                let value = self.emit.ask(Opcode::Now, Attr::None, vec![], Width::of(64));
                Ok(Scalar { value, ty: IntType::UINT64, literal: false }.into())
            }
            "wake_at" => {
                self.n_args("wake_at", args, 1, "wake_at(t)", span)?;
                self.need_section("wake_at", &[super::Section::Flit, super::Section::Packet], span)?;
                let time = self.scalar_as(&args[0], IntType::UINT64)?;
                self.emit.effect(Opcode::WakeAt, Attr::None, vec![time], &[]);
                Ok(Rvalue::void())
            }
            "emit" => self.emit_call(args, span),
            "drop" => self.drop_call(args, span),
            _ => {
                if let Some(value) = self.bit_call(&name.text, args, span)? {
                    return Ok(value);
                }
                match self.port_call(name, args, span, expected)? {
                    Some(value) => Ok(value),
                    None => Err(self.unknown_function(name)),
                }
            }
        }
    }

    fn unknown_function(&mut self, name: &ast::Ident) -> super::Reported {
        let known = self.decls.functions.keys().copied().chain(BUILT_INS);
        let help = match (instead_of_c_function(&name.text), nearest(&name.text, known)) {
            (Some(instead), _) => instead.to_string(),
            (None, Some(near)) => format!("did you mean `{near}`?"),
            (None, None) => "declare the function in this file or import the file that does".to_string(),
        };
        self.error(Code::E0309, name.span, format!("unknown function `{}`", name.text), help)
    }

    fn not_in_constant(&mut self, what: &str, span: Span) -> Res<()> {
        if !self.in_constant {
            return Ok(());
        }
        let help = "use literals, parameters, enum values and `constexpr` names here";
        Err(self.error(Code::E0306, span, format!("`{what}` is not known at compile time"), help))
    }

    /// Checks that a built-in exists in the section being lowered.
    pub fn need_section(&mut self, what: &str, sections: &[super::Section], span: Span) -> Res<()> {
        self.not_in_constant(what, span)?;
        if sections.contains(&self.section) {
            return Ok(());
        }
        let names: Vec<&str> = sections.iter().map(|section| section.name()).collect();
        let message = format!("`{what}` is not available in {}", self.section.name());
        let help = format!("it is there in {}", names.join(", "));
        Err(self.error(Code::E0314, span, message, help))
    }

    fn words<const N: usize>(&mut self, args: &[Expr], bits: u32) -> Res<[ValueId; N]> {
        let mut words = Vec::new();
        for arg in args {
            words.push(self.scalar_as(arg, IntType::c(bits, false))?);
        }
        Ok(words.try_into().expect("the number of arguments is checked"))
    }

    /// RFC 1624, equation 3: `HC' = ~(~HC + ~m + m')`, in one's complement.
    fn checksum_update(&mut self, checksum: ValueId, changes: &[(ValueId, ValueId)]) -> Rvalue {
        let wide = Width::of(32);
        let inverse = self.emit.not(checksum);
        let mut sum = self.emit.resize(inverse, wide, false);
        for &(old, new) in changes {
            let old = self.emit.not(old);
            for part in [old, new] {
                let part = self.emit.resize(part, wide, false);
                sum = self.emit.binary(Opcode::Add, sum, part);
            }
        }
        self.checksum_fold(sum)
    }

    /// The Internet checksum of a 32-bit sum of 16-bit words: carries added in, then complemented (RFC 1071 §4.1).
    fn checksum_fold(&mut self, sum: ValueId) -> Rvalue {
        let (wide, half) = (Width::of(32), Width::of(16));
        let mut folded = sum;
        for _ in 0..2 {
            let low = self.emit.extract(folded, 0, half);
            let low = self.emit.resize(low, wide, false);
            let high = self.emit.extract(folded, 16, half);
            let high = self.emit.resize(high, wide, false);
            folded = self.emit.binary(Opcode::Add, low, high);
        }
        let folded = self.emit.extract(folded, 0, half);
        Scalar { value: self.emit.not(folded), ty: IntType::c(16, false), literal: false }.into()
    }

    fn assert_call(&mut self, args: &[Expr], span: Span) -> Res<Rvalue> {
        let text = match args {
            [_] => "assertion failed".to_string(),
            [_, text] => self.text(text)?,
            _ => {
                let help = "write `assert(condition)` or `assert(condition, \"text\")`";
                return Err(self.error(Code::E0304, span, "`assert` takes a condition and an optional text", help));
            }
        };
        let condition = self.condition(&args[0])?;
        if !self.in_constant {
            self.emit.effect(Opcode::Assert, Attr::Text(text), vec![condition], &[]);
        }
        Ok(Rvalue::void())
    }

    fn trace_call(&mut self, args: &[Expr], span: Span) -> Res<Rvalue> {
        let Some((format, values)) = args.split_first() else {
            let help = "write `trace(\"text {} and {}\", a, b)`";
            return Err(self.error(Code::E0304, span, "`trace` needs a text", help));
        };
        let text = self.text(format)?;
        let n_holes = text.matches("{}").count();
        if n_holes != values.len() {
            let message = format!("the text has {n_holes} `{{}}`, and {} values follow", values.len());
            return Err(self.error(Code::E0304, span, message, "write one `{}` for each value"));
        }
        let mut operands = Vec::new();
        for value in values {
            operands.push(self.scalar(value)?.value);
        }
        if !self.in_constant {
            self.emit.effect(Opcode::Trace, Attr::Text(text), operands, &[]);
        }
        Ok(Rvalue::void())
    }

    /// The text of a string literal.
    pub fn text(&mut self, expr: &Expr) -> Res<String> {
        match &expr.kind {
            ExprKind::Str(text) => Ok(text.clone()),
            _ => Err(self.error(Code::E0303, expr.span, "a text is needed here", "write it in double quotes")),
        }
    }
}
