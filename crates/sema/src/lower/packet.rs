//! What a `.packet` element does with its packet: `pkt` methods, metadata, `emit` and `drop`.

use std::rc::Rc;

use diag::{Code, Diagnostic, Span};
use ir::{Attr, MessageKind, Opcode, ValueId, Width};
use syntax::ast::{self, Expr};

use super::arith::Scalar;
use super::expr::Rvalue;
use super::flit::part_named;
use super::flow::Fate;
use super::place::{Place, Storage, StoredLeaf};
use super::ranges::Range;
use super::{Lowerer, Res, Section};
use crate::suggest::nearest;
use crate::types::{IntType, StructKind, Type};

/// Methods of `pkt`, for suggestions.
pub(super) const METHODS: [&str; 30] = [
    "avail",
    "has",
    "byte",
    "be16",
    "be32",
    "be64",
    "le16",
    "le32",
    "le64",
    "set_byte",
    "set_be16",
    "set_be32",
    "set_be64",
    "set_le16",
    "set_le32",
    "set_le64",
    "header",
    "set_header",
    "push",
    "pop",
    "push_at",
    "pop_at",
    "in_port",
    "time_ns",
    "short",
    "len",
    "truncate",
    "append",
    "error",
    "missing",
];

const HEAD_AND_END: [Section; 2] = [Section::Packet, Section::End];
const WITH_TAIL: [Section; 3] = [Section::Packet, Section::Tail, Section::End];

impl Lowerer<'_, '_> {
    /// `pkt.method(args)`.
    pub fn packet_method(
        &mut self,
        method: &ast::Ident,
        type_args: &[ast::TypeExpr],
        args: &[Expr],
        span: Span,
    ) -> Res<Rvalue> {
        let name = method.text.as_str();
        let what = format!("pkt.{name}");
        if let Some((n_bytes, big_endian)) = part_named(name) {
            self.need_section(&what, &HEAD_AND_END, span)?;
            self.n_args(&what, args, 1, &format!("{what}(offset)"), span)?;
            return self.load_number(&args[0], n_bytes, big_endian);
        }
        if let Some((n_bytes, big_endian)) = name.strip_prefix("set_").and_then(part_named) {
            self.need_section(&what, &HEAD_AND_END, span)?;
            self.need_changeable(&what, span)?;
            self.n_args(&what, args, 2, &format!("{what}(offset, value)"), span)?;
            return self.store_number(args, n_bytes, big_endian);
        }
        match name {
            "avail" => self.ask_packet(&what, Opcode::PktAvail, args, &HEAD_AND_END, span),
            "short" => self.ask_packet(&what, Opcode::PktShort, args, &HEAD_AND_END, span),
            "missing" => self.ask_packet(&what, Opcode::PktMissing, args, &WITH_TAIL, span),
            "error" => self.ask_packet(&what, Opcode::PktError, args, &WITH_TAIL, span),
            "in_port" => self.ask_packet(&what, Opcode::PktInPort, args, &WITH_TAIL, span),
            "time_ns" => self.ask_packet(&what, Opcode::PktTime, args, &WITH_TAIL, span),
            "len" => {
                if self.section == Section::Packet {
                    self.need_store(&what, span)?;
                }
                self.ask_packet(&what, Opcode::PktLen, args, &HEAD_AND_END, span)
            }
            "has" => {
                self.need_section(&what, &HEAD_AND_END, span)?;
                self.n_args(&what, args, 1, "pkt.has(n)", span)?;
                let n = self.scalar(&args[0])?;
                let n = self.saturated_32(n);
                let available = self.emit.ask(Opcode::PktAvail, Attr::None, vec![], Width::of(32));
                let value = self.emit.compare(Opcode::ULe, n, available);
                Ok(Scalar { value, ty: IntType::BOOL, literal: false }.into())
            }
            "header" => self.header(type_args, args, span),
            "set_header" => self.set_header(type_args, args, span),
            "push" | "push_at" => {
                self.need_grow(&what, span)?;
                self.resize_packet(name, args, span)
            }
            "pop" | "pop_at" => self.resize_packet(name, args, span),
            "truncate" | "append" => {
                self.need_store(&what, span)?;
                self.resize_packet(name, args, span)
            }
            "emit" | "drop" => {
                let help = format!("`{name}` stands alone: `emit(port)`, `drop()`");
                Err(self.error(Code::E0312, method.span, format!("a packet has no method `{name}`"), help))
            }
            _ => {
                let help = match nearest(name, METHODS) {
                    Some(near) => format!("did you mean `pkt.{near}`?"),
                    None => "see the methods of `pkt` in the language reference".to_string(),
                };
                Err(self.error(Code::E0312, method.span, format!("a packet has no method `{name}`"), help))
            }
        }
    }

    fn ask_packet(&mut self, what: &str, code: Opcode, args: &[Expr], sections: &[Section], span: Span) -> Res<Rvalue> {
        self.need_section(what, sections, span)?;
        self.n_args(what, args, 0, &format!("{what}()"), span)?;
        let ty = match code {
            Opcode::PktTime => IntType::UINT64,
            Opcode::PktShort | Opcode::PktError => IntType::BOOL,
            _ => IntType::UINT,
        };
        let value = self.emit.ask(code, Attr::None, vec![], ty.width);
        if let (Opcode::PktInPort, Some(input)) = (code, self.input) {
            self.emit.ranges.learn(value, Range { lo: 0, hi: input.inputs.len() as u64 });
        }
        Ok(Scalar { value, ty, literal: false }.into())
    }

    /// A count or offset as 32 bits; what does not fit becomes the largest.
    fn saturated_32(&mut self, scalar: Scalar) -> ValueId {
        let width = Width::of(32);
        if scalar.ty.width.bits() <= 32 {
            return self.emit.resize(scalar.value, width, scalar.ty.signed);
        }
        let limit = self.emit.constant_u64(0xffff_ffff, scalar.ty.width);
        let low = self.emit.resize(scalar.value, width, false);
        let top = self.emit.constant_u64(0xffff_ffff, width);
        let fits = self.emit.compare(Opcode::ULe, scalar.value, limit);
        self.emit.select(fits, low, top)
    }

    fn offset(&mut self, expr: &Expr) -> Res<ValueId> {
        let scalar = self.scalar(expr)?;
        Ok(self.saturated_32(scalar))
    }

    fn load_number(&mut self, offset: &Expr, n_bytes: u32, big_endian: bool) -> Res<Rvalue> {
        let offset = self.offset(offset)?;
        let width = Width::of(8 * n_bytes);
        let mut value = self.emit.ask(Opcode::PktLoad, Attr::None, vec![offset], width);
        if !big_endian && n_bytes > 1 {
            value = self.emit.pure(Opcode::ByteSwap, Attr::None, &[value], width);
        }
        Ok(Scalar { value, ty: IntType::c(8 * n_bytes, false), literal: false }.into())
    }

    fn store_number(&mut self, args: &[Expr], n_bytes: u32, big_endian: bool) -> Res<Rvalue> {
        let offset = self.offset(&args[0])?;
        let ty = IntType::c(8 * n_bytes, false);
        let mut value = self.scalar_as(&args[1], ty)?;
        if !big_endian && n_bytes > 1 {
            value = self.emit.pure(Opcode::ByteSwap, Attr::None, &[value], ty.width);
        }
        self.emit.effect(Opcode::PktStore, Attr::None, vec![offset, value], &[]);
        Ok(Rvalue::void())
    }

    /// `pkt.header<H>(offset)`.
    fn header(&mut self, type_args: &[ast::TypeExpr], args: &[Expr], span: Span) -> Res<Rvalue> {
        self.need_section("pkt.header", &HEAD_AND_END, span)?;
        self.n_args("pkt.header", args, 1, "pkt.header<H>(offset)", span)?;
        let [written] = type_args else {
            return Err(self.error(Code::E0304, span, "which header?", "write `pkt.header<Ipv4>(offset)`"));
        };
        let ty = self.resolve_type(written)?;
        self.need_header(&ty, written.span)?;
        let offset = self.offset(&args[0])?;
        let ints = ty.scalar_types();
        let total: u32 = ints.iter().map(|int| int.width.bits()).sum();
        let whole = self.emit.ask(Opcode::PktLoad, Attr::None, vec![offset], Width::of(total));
        let mut low = total;
        let mut scalars = Vec::new();
        for int in &ints {
            low -= int.width.bits();
            scalars.push(self.emit.extract(whole, low, int.width));
        }
        Ok(Rvalue { ty, scalars, literal: false })
    }

    /// `pkt.set_header(offset, header)`.
    fn set_header(&mut self, type_args: &[ast::TypeExpr], args: &[Expr], span: Span) -> Res<Rvalue> {
        self.need_section("pkt.set_header", &HEAD_AND_END, span)?;
        self.need_changeable("pkt.set_header", span)?;
        self.n_args("pkt.set_header", args, 2, "pkt.set_header(offset, header)", span)?;
        let expected = match type_args {
            [written] => Some(self.resolve_type(written)?),
            _ => None,
        };
        let offset = self.offset(&args[0])?;
        let value = self.value(&args[1], expected.as_ref())?;
        self.need_header(&value.ty, args[1].span)?;
        let mut whole = value.scalars[0];
        for &field in &value.scalars[1..] {
            whole = self.emit.concat(whole, field);
        }
        self.emit.effect(Opcode::PktStore, Attr::None, vec![offset, whole], &[]);
        Ok(Rvalue::void())
    }

    fn need_header(&mut self, ty: &Type, span: Span) -> Res<()> {
        match ty {
            Type::Struct(struct_type) if struct_type.kind == StructKind::Header => Ok(()),
            other => {
                let message = format!("`{}` is no header", other.name());
                Err(self.error(
                    Code::E0303,
                    span,
                    message,
                    "declare it with `.header`, which fixes the layout in the packet",
                ))
            }
        }
    }

    /// `push`, `pop`, `push_at`, `pop_at`, `truncate`, `append`.
    fn resize_packet(&mut self, name: &str, args: &[Expr], span: Span) -> Res<Rvalue> {
        let what = format!("pkt.{name}");
        self.need_section(&what, &HEAD_AND_END, span)?;
        self.need_changeable(&what, span)?;
        let (code, usage, n_args) = match name {
            "push" => (Opcode::PktPush, "pkt.push(n)", 1),
            "pop" => (Opcode::PktPop, "pkt.pop(n)", 1),
            "push_at" => (Opcode::PktPushAt, "pkt.push_at(offset, n)", 2),
            "pop_at" => (Opcode::PktPopAt, "pkt.pop_at(offset, n)", 2),
            "truncate" => (Opcode::PktTruncate, "pkt.truncate(n)", 1),
            _ => (Opcode::PktAppend, "pkt.append(n)", 1),
        };
        self.n_args(&what, args, n_args, usage, span)?;
        let mut operands = Vec::new();
        for arg in args {
            operands.push(self.offset(arg)?);
        }
        self.emit.effect(code, Attr::None, operands, &[]);
        Ok(Rvalue::void())
    }

    fn need_store(&mut self, what: &str, span: Span) -> Res<()> {
        if self.packet.has_store || !matches!(self.section, Section::Packet | Section::End) {
            return Ok(());
        }
        let message = format!("`{what}` needs the whole packet, which streams through here");
        let mut diagnostic = Diagnostic::new(Code::E0417, span, message, "hold it: `.packet (64, store = 1518)`");
        if let Some(options) = self.packet.options_span {
            diagnostic = diagnostic.related(options, "`store` is missing here");
        }
        Err(self.report(diagnostic))
    }

    /// In `.end` the head has left already, unless the packet is stored.
    fn need_changeable(&mut self, what: &str, span: Span) -> Res<()> {
        if self.section == Section::End { self.need_store(what, span) } else { Ok(()) }
    }

    fn need_grow(&mut self, what: &str, span: Span) -> Res<()> {
        if self.packet.has_grow || !matches!(self.section, Section::Packet | Section::End) {
            return Ok(());
        }
        let message = format!("`{what}` needs room for more bytes");
        let mut diagnostic = Diagnostic::new(Code::E0418, span, message, "make room: `.packet (64, grow = 4)`");
        if let Some(options) = self.packet.options_span {
            diagnostic = diagnostic.related(options, "`grow` is missing here");
        }
        Err(self.report(diagnostic))
    }

    // ---- metadata

    /// `pkt.meta.name`.
    pub fn meta_place(&mut self, name: &ast::Ident) -> Res<Place> {
        self.need_section("pkt.meta", &WITH_TAIL, name.span)?;
        let meta = self.input.and_then(|input| input.meta.get(&name.text).map(|meta| (meta.var, meta.first)));
        let Some((var, first)) = meta else {
            let known =
                self.input.map(|input| input.meta.keys().map(String::as_str).collect::<Vec<_>>()).unwrap_or_default();
            let help = match nearest(&name.text, known) {
                Some(near) => format!("did you mean `{near}`?"),
                None => "declare it in this element's `.meta { … }`".to_string(),
            };
            return Err(self.error(
                Code::E0307,
                name.span,
                format!("there is no metadata field `{}`", name.text),
                help,
            ));
        };
        let ty = self.in_file_scope(|lowerer| lowerer.declared_type(&var.ty, &var.dims))?;
        let leaves = ty
            .leaves()
            .into_iter()
            .zip(super::names::leaf_orders(&ty))
            .map(|(leaf, order)| {
                let metas: Vec<Storage> = order.iter().map(|&at| Storage::Meta(first + at as u32)).collect();
                let storage = if leaf.dims.is_empty() { metas[0].clone() } else { Storage::Elements(Rc::new(metas)) };
                StoredLeaf { ty: leaf.ty, dims: leaf.dims, storage }
            })
            .collect();
        let read_only = (self.section == Section::Tail).then_some("metadata, fixed once the head has left,");
        Ok(Place {
            ty,
            leaves: Rc::new(leaves),
            first: 0,
            indices: vec![],
            bits: None,
            read_only,
            body: self.body_id,
            name: name.text.clone(),
        })
    }

    // ---- the packet's fate

    /// `emit(port)`. A wrong one still decides, so that the path is not reported as well.
    pub fn emit_call(&mut self, args: &[Expr], span: Span) -> Res<Rvalue> {
        let result = self.checked_emit(args, span);
        if result.is_err() {
            self.fate = Fate { unknown: true, ..Fate::UNREACHABLE };
        }
        result
    }

    fn checked_emit(&mut self, args: &[Expr], span: Span) -> Res<Rvalue> {
        self.need_section("emit", &HEAD_AND_END, span)?;
        self.n_args("emit", args, 1, "emit(port)", span)?;
        let number = self.scalar(&args[0])?;
        let number = self.saturated_32(number);
        let message = self.output_message_for_packet(number, args[0].span)?;
        if message != MessageKind::Packet && message != MessageKind::Flit {
            let help = "write the struct with `set_output_port(i, v)`";
            return Err(self.error(Code::E0316, args[0].span, "this output carries no packets", help));
        }
        if self.fate.dropped {
            let help = "`return` after `drop()`, or use `else`";
            return Err(self.error(Code::E0416, span, "the packet may have been dropped on the way here", help));
        }
        self.fate = Fate { emitted: true, ..Fate::UNREACHABLE };
        self.emit.effect(Opcode::Emit, Attr::None, vec![number], &[]);
        Ok(Rvalue::void())
    }

    fn output_message_for_packet(&mut self, number: ValueId, span: Span) -> Res<MessageKind> {
        let Some(input) = self.input else { return Ok(MessageKind::Packet) };
        if self.emit.known(number).is_none() {
            // Among outputs of several types, a number at run time means one of those that carry packets.
            let kind_of = |id: &ir::MessageTypeId| input.message_types.get(id.index()).map(|message| message.kind);
            return match input.outputs.iter().filter_map(kind_of).find(|&kind| kind != MessageKind::Struct) {
                Some(kind) => Ok(kind),
                None => {
                    self.output_message(number, span)?;
                    Ok(MessageKind::Struct)
                }
            };
        }
        let id = self.output_message(number, span)?;
        Ok(input.message_types.get(id.index()).map_or(MessageKind::Packet, |message| message.kind))
    }

    /// `drop()`, `drop("reason")`. A wrong one still decides.
    pub fn drop_call(&mut self, args: &[Expr], span: Span) -> Res<Rvalue> {
        let result = self.checked_drop(args, span);
        if result.is_err() {
            self.fate = Fate { unknown: true, ..Fate::UNREACHABLE };
        }
        result
    }

    fn checked_drop(&mut self, args: &[Expr], span: Span) -> Res<Rvalue> {
        self.need_section("drop", &HEAD_AND_END, span)?;
        let reason = match args {
            [] => format!("dropped by {}", self.input.map_or("", |input| input.instance)),
            [text] => self.text(text)?,
            _ => {
                let help = "write `drop()` or `drop(\"reason\")`";
                return Err(self.error(Code::E0304, span, "`drop` takes at most a reason", help));
            }
        };
        if self.fate.emitted {
            let help = "`return` after `emit(…)`, or use `else`";
            return Err(self.error(Code::E0416, span, "the packet may have been emitted on the way here", help));
        }
        self.fate = Fate { dropped: true, ..Fate::UNREACHABLE };
        self.emit.effect(Opcode::Drop, Attr::Text(reason), vec![], &[]);
        Ok(Rvalue::void())
    }

    /// At an end of `.packet`: every path here must have decided.
    pub fn check_fate(&mut self, span: Span) {
        if self.section != Section::Packet || !self.packet.must_decide || !self.fate.open || self.too_large {
            return;
        }
        let help = "call `emit(port)` or `drop()` on every path, for example in an `else`";
        self.error(Code::E0415, span, "a path that ends here neither emits nor drops the packet", help);
    }
}
