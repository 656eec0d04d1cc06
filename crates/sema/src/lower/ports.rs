//! Ports of an element: the built-ins that test, read and write them, and the names that stand for masks.

use diag::{Code, Diagnostic, Span};
use ir::{Attr, MessageKind, MessageTypeId, Opcode, Value, ValueId, Width};
use syntax::ast::{self, BinaryOp, Expr, ExprKind};

use super::arith::Scalar;
use super::expr::Rvalue;
use super::flow::{Flow, Side};
use super::{Lowerer, Res, Section};
use crate::types::{IntType, Type};

/// Port names go up to here; there are more ports than that only by number.
const PORT_NAMES_MAX: u32 = 16;

/// Value of `PAYLOAD_BYTES`.
const FLIT_PAYLOAD_BYTES: u64 = 32;

impl Section {
    /// As the user writes it.
    pub fn name(self) -> &'static str {
        match self {
            Section::Init => "`.init`",
            Section::Flit => "`.handler`",
            Section::Packet => "`.packet`",
            Section::Tail => "`.body`",
            Section::End => "`.end`",
            Section::Signal => "`.signal`",
            Section::Constant => "a constant",
        }
    }
}

/// The `i` of `PORT_i`.
fn named_port(name: &str) -> Option<u32> {
    let number = name.strip_prefix("PORT_")?.parse().ok()?;
    (1..=PORT_NAMES_MAX).contains(&number).then_some(number)
}

fn mask_of(number: u32) -> u64 {
    1_u64.checked_shl(number).unwrap_or(0) & 0xffff_ffff
}

impl Lowerer<'_, '_> {
    /// Names such as `PORT_1`, `NUM_OUTPORT`, `_input_port`.
    pub fn port_name(&mut self, name: &ast::Ident) -> Res<Option<Rvalue>> {
        let text = name.text.as_str();
        if let Some(number) = named_port(text) {
            return Ok(Some(self.number(mask_of(number), IntType::UINT).into()));
        }
        // Published sources write it with their toolchain's prefix, as a macro.
        if text == "PAYLOAD_BYTES" || text.ends_with("_PAYLOAD_BYTES") {
            return Ok(Some(self.number(FLIT_PAYLOAD_BYTES, IntType::INT).into()));
        }
        let n_ports = |ports: &[MessageTypeId]| ports.len() as u64;
        let known = match (text, self.input) {
            ("PORT_ALL", _) => Some(0xffff_ffff),
            ("PORT_NULL", _) => Some(0),
            ("NUM_INPORT", Some(input)) => Some(n_ports(input.inputs)),
            ("NUM_OUTPORT", Some(input)) => Some(n_ports(input.outputs)),
            _ => None,
        };
        if let Some(known) = known {
            return Ok(Some(self.number(known, IntType::UINT).into()));
        }
        let code = match text {
            "_input_port" => Opcode::InMask,
            "last_rport" => Opcode::LastMask,
            "_output_port" => {
                self.need_section(text, &[Section::Flit], name.span)?;
                let slot = self.written.expect("kept where the name is used");
                let value = self.slots[slot];
                return Ok(Some(Scalar { value, ty: IntType::UINT, literal: false }.into()));
            }
            _ => return Ok(None),
        };
        self.need_section(text, &[Section::Flit], name.span)?;
        let ports = self.emit.ask(code, Attr::None, vec![], Width::of(32));
        let value = self.mask_of_ports(ports);
        Ok(Some(Scalar { value, ty: IntType::UINT, literal: false }.into()))
    }

    /// Port built-ins; none if the name is no such thing.
    pub fn port_call(
        &mut self,
        name: &ast::Ident,
        args: &[Expr],
        span: Span,
        _expected: Option<&Type>,
    ) -> Res<Option<Rvalue>> {
        let text = name.text.as_str();
        let value = match text {
            "input_ready" | "test_input_port" => {
                let mask = self.mask_argument(text, args, span)?;
                let ports = self.ports_of_mask(mask);
                let value = self.emit.ask(Opcode::InReady, Attr::None, vec![ports], Width::BOOL);
                Scalar { value, ty: IntType::BOOL, literal: false }.into()
            }
            "read_input_port" => self.read_input(args, span)?,
            "peek_input_port" | "get_input_data" => {
                self.n_args(text, args, 1, &format!("{text}(i)"), span)?;
                self.peek(&args[0], span)?
            }
            "get_input_port" => {
                self.n_args(text, args, 0, "get_input_port()", span)?;
                self.need_section(text, &[Section::Flit], span)?;
                let ports = self.emit.ask(Opcode::InMask, Attr::None, vec![], Width::of(32));
                let value = self.mask_of_ports(ports);
                Scalar { value, ty: IntType::UINT, literal: false }.into()
            }
            "clear_input_ready" | "clear_input_port" => {
                let mask = self.mask_argument(text, args, span)?;
                let ports = self.ports_of_mask(mask);
                self.emit.effect(Opcode::InClear, Attr::None, vec![ports], &[]);
                Rvalue::void()
            }
            "set_output_port" | "set_port_output" => self.write_output(text, args, span)?,
            "set_signal" => self.set_signal(args, span)?,
            "set_output_ready" => {
                let mask = self.mask_argument(text, args, span)?;
                self.write_again(mask)?;
                Rvalue::void()
            }
            "clear_output_ready" => {
                let mask = self.mask_argument(text, args, span)?;
                let ports = self.ports_of_mask(mask);
                self.emit.effect(Opcode::OutClear, Attr::None, vec![ports], &[]);
                if let Some(slot) = self.written {
                    let kept = self.emit.not(mask);
                    self.slots[slot] = self.emit.binary(Opcode::And, self.slots[slot], kept);
                }
                Rvalue::void()
            }
            "last_output_failed" | "last_output_success" => {
                let mask = self.mask_argument(text, args, span)?;
                let code = if text == "last_output_failed" { Opcode::OutFailed } else { Opcode::OutWritten };
                let ports = self.emit.ask(code, Attr::None, vec![], Width::of(32));
                let asked = self.ports_of_mask(mask);
                let both = self.emit.binary(Opcode::And, ports, asked);
                Scalar { value: self.emit.is_true(both), ty: IntType::BOOL, literal: false }.into()
            }
            _ => return Ok(None),
        };
        Ok(Some(value))
    }

    /// A mask of the language, which has bit `i` for port `i`, as the set of ports that ops take: bit `i` for port `i + 1`.
    pub fn ports_of_mask(&mut self, mask: ValueId) -> ValueId {
        let one = self.emit.constant_u64(1, Width::of(32));
        self.emit.binary(Opcode::LShr, mask, one)
    }

    /// The other way round.
    fn mask_of_ports(&mut self, ports: ValueId) -> ValueId {
        let one = self.emit.constant_u64(1, Width::of(32));
        self.emit.binary(Opcode::Shl, ports, one)
    }

    fn mask_argument(&mut self, what: &str, args: &[Expr], span: Span) -> Res<ValueId> {
        self.n_args(what, args, 1, &format!("{what}(PORT_1)"), span)?;
        self.need_section(what, &[Section::Flit], span)?;
        self.scalar_as(&args[0], IntType::UINT)
    }

    /// `read_input_port(M)`.
    fn read_input(&mut self, args: &[Expr], span: Span) -> Res<Rvalue> {
        let mask = self.mask_argument("read_input_port", args, span)?;
        let (message, ty) = self.input_message(mask, args[0].span)?;
        let widths: Vec<Width> = ty.scalar_types().iter().map(|int| int.width).collect();
        let ports = self.ports_of_mask(mask);
        let scalars = self.emit.effect(Opcode::InRead, Attr::Message(message), vec![ports], &widths);
        Ok(Rvalue { ty, scalars, literal: false })
    }

    /// `peek_input_port(i)`, `_input_data[i]`.
    pub fn peek(&mut self, port: &Expr, span: Span) -> Res<Rvalue> {
        self.need_section("peek_input_port", &[Section::Flit], span)?;
        let number = self.port_number(port)?;
        let one = self.emit.constant_u64(1, Width::of(32));
        let mask = match self.emit.known_u64(number) {
            Some(_) => self.emit.binary(Opcode::Shl, one, number),
            None => self.emit.constant_u64(0xffff_ffff, Width::of(32)),
        };
        let (message, ty) = self.input_message(mask, port.span)?;
        let widths: Vec<Width> = ty.scalar_types().iter().map(|int| int.width).collect();
        let scalars = self.emit.effect(Opcode::InPeek, Attr::Message(message), vec![number], &widths);
        Ok(Rvalue { ty, scalars, literal: false })
    }

    /// The message type that the inputs of a mask share; of a mask not known at compile time: of all inputs.
    fn input_message(&mut self, mask: ValueId, span: Span) -> Res<(MessageTypeId, Type)> {
        let Some(input) = self.input else {
            return Err(self.error(Code::E0314, span, "there are no ports here", "read ports in `.handler`"));
        };
        let known = self.emit.known(mask).and_then(Value::to_u64);
        let in_mask = |port: usize| known.is_none_or(|mask| mask & mask_of(port as u32 + 1) != 0);
        let ports: Vec<usize> = (0..input.inputs.len()).filter(|&port| in_mask(port)).collect();
        let Some(&first) = ports.first() else {
            let n = input.inputs.len();
            let message = format!("no input of `{}` is in this mask", input.element.name.text);
            let help = match n {
                0 => "the element has no inputs".to_string(),
                1 => "its input is `PORT_1`".to_string(),
                n => format!("its inputs are `PORT_1` to `PORT_{n}`"),
            };
            let diagnostic = Diagnostic::new(Code::E0315, span, message, help);
            return Err(self.report(diagnostic.related(input.element.inputs.span, "the inputs")));
        };
        let message = input.inputs[first];
        if let Some(&other) = ports.iter().find(|&&port| input.inputs[port] != message) {
            let name =
                |id: MessageTypeId| input.message_types.get(id.index()).map_or("?", |message| message.name.as_str());
            let text = format!(
                "inputs {} and {} carry different messages, `{}` and `{}`",
                first + 1,
                other + 1,
                name(message),
                name(input.inputs[other])
            );
            let help = "read inputs of one type at a time, by a constant mask";
            let diagnostic = Diagnostic::new(Code::E0316, span, text, help);
            return Err(self.report(diagnostic.related(input.element.inputs.span, "the inputs")));
        }
        let ty = self.message_type(message, span)?;
        Ok((message, ty))
    }

    /// The type of a message as a variable.
    fn message_type(&mut self, id: MessageTypeId, span: Span) -> Res<Type> {
        let Some(message) = self.input.and_then(|input| input.message_types.get(id.index())) else {
            return Err(self.error(
                Code::E0316,
                span,
                "the message type of this port is not known",
                "declare it at the port",
            ));
        };
        match message.kind {
            MessageKind::Flit => Ok(Type::Struct(self.flit_type.clone())),
            MessageKind::Packet => {
                let help = "make the port a `flit_t` port, or write a `.packet` element, which uses `pkt` and `emit`";
                Err(self.error(Code::E0316, span, "packets are not read or written as values", help))
            }
            MessageKind::Struct => match self.in_file_scope(|lowerer| lowerer.type_name(&message.name))? {
                Some(super::names::Entity::Struct(struct_type)) => Ok(Type::Struct(struct_type)),
                _ => {
                    let text = format!("`{}` is no struct", message.name);
                    Err(self.error(Code::E0316, span, text, "declare it with `struct`"))
                }
            },
        }
    }

    /// `set_output_port(i, v)`.
    /// The number of a port. The name `PORT_i`, a mask elsewhere, stands for `i` here: sources of ClickNP's first years name the
    /// port of `set_output_port` so.
    fn port_number(&mut self, port: &Expr) -> Res<ValueId> {
        if let ExprKind::Name { qualifier: None, name } = &port.kind
            && let Some(number) = named_port(&name.text)
            && self.lookup(&name.text)?.is_none()
        {
            return Ok(self.emit.constant_u64(u64::from(number), Width::of(32)));
        }
        self.scalar_as(port, IntType::UINT)
    }

    fn write_output(&mut self, what: &str, args: &[Expr], span: Span) -> Res<Rvalue> {
        self.n_args(what, args, 2, &format!("{what}(i, message)"), span)?;
        self.need_section(what, &[Section::Flit, Section::Packet, Section::End], span)?;
        let number = self.port_number(&args[0])?;
        let message = self.output_message(number, args[0].span)?;
        let ty = self.message_type(message, args[0].span)?;
        let value = self.value(&args[1], Some(&ty))?;
        if value.ty != ty {
            let text = format!("this port carries `{}`, the value is of type `{}`", ty.name(), value.ty.name());
            let related = self.input.map(|input| input.element.outputs.span);
            let mut diagnostic = Diagnostic::new(Code::E0316, args[1].span, text, "write a message of the port's type");
            if let Some(span) = related {
                diagnostic = diagnostic.related(span, "the outputs");
            }
            return Err(self.report(diagnostic));
        }
        self.remember_output(number, &value.scalars);
        let operands = [vec![number], value.scalars].concat();
        self.emit.effect(Opcode::OutWrite, Attr::Message(message), operands, &[]);
        Ok(Rvalue::void())
    }

    /// Checks an output number and gives its message type; of a number not known at compile time: what all outputs carry.
    pub fn output_message(&mut self, number: ValueId, span: Span) -> Res<MessageTypeId> {
        let Some(input) = self.input else {
            return Err(self.error(Code::E0314, span, "there are no ports here", "write to ports in a handler"));
        };
        let n = input.outputs.len();
        let outputs_span = input.element.outputs.span;
        if let Some(known) = self.emit.known_u64(number) {
            if known >= 1 && known <= n as u64 {
                return Ok(input.outputs[known as usize - 1]);
            }
            let message = format!("`{}` has no output {known}", input.element.name.text);
            let help = match n {
                0 => "the element has no outputs".to_string(),
                1 => "its output is 1".to_string(),
                n => format!("its outputs are 1 to {n}"),
            };
            let diagnostic = Diagnostic::new(Code::E0315, span, message, help).related(outputs_span, "the outputs");
            return Err(self.report(diagnostic));
        }
        let Some(&first) = input.outputs.first() else {
            let message = format!("`{}` has no outputs", input.element.name.text);
            let diagnostic = Diagnostic::new(Code::E0315, span, message, "declare one: `<1, 1>`");
            return Err(self.report(diagnostic.related(outputs_span, "the outputs")));
        };
        if input.outputs.iter().any(|&other| other != first) {
            let help = "write to outputs of one type at a time, by a constant number";
            let diagnostic = Diagnostic::new(Code::E0316, span, "the outputs carry different messages", help);
            return Err(self.report(diagnostic.related(outputs_span, "the outputs")));
        }
        Ok(first)
    }

    // ---- `_output_port` and `set_output_ready`

    /// Keeps what `_output_port` and `set_output_ready` need, if the body uses them.
    fn remember_output(&mut self, number: ValueId, scalars: &[ValueId]) {
        if let Some(slot) = self.written {
            let one = self.emit.constant_u64(1, Width::of(32));
            let bit = self.emit.binary(Opcode::Shl, one, number);
            self.slots[slot] = self.emit.binary(Opcode::Or, self.slots[slot], bit);
        }
        for port in 0..self.output_data.len() {
            let position = self.emit.constant_u64(port as u64 + 1, Width::of(32));
            let here = self.emit.compare(Opcode::Eq, number, position);
            let slots = self.output_data[port].clone();
            if slots.len() == scalars.len() && self.emit.known(here).is_none_or(|known| !known.is_zero()) {
                for (&slot, &value) in slots.iter().zip(scalars) {
                    self.slots[slot] = self.emit.select(here, value, self.slots[slot]);
                }
            }
        }
    }

    /// `set_output_ready(M)`: writes to the outputs in the mask what was last given to them in this firing, zero at first.
    fn write_again(&mut self, mask: ValueId) -> Res<()> {
        let Some(input) = self.input else { return Ok(()) };
        for (port, slots) in self.output_data.clone().into_iter().enumerate() {
            let number = port as u32 + 1;
            let bit = self.emit.constant_u64(mask_of(number), Width::of(32));
            let hit = self.emit.binary(Opcode::And, mask, bit);
            let hit = self.emit.is_true(hit);
            let message = input.outputs[port];
            self.branch(
                hit,
                |lowerer| {
                    let mut operands = vec![lowerer.emit.constant_u64(u64::from(number), Width::of(32))];
                    operands.extend(slots.iter().map(|&slot| lowerer.slots[slot]));
                    lowerer.emit.effect(Opcode::OutWrite, Attr::Message(message), operands, &[]);
                    Ok(Side::flow(Flow::FALLS))
                },
                |_| Ok(Side::flow(Flow::FALLS)),
            )?;
        }
        if let Some(slot) = self.written {
            self.slots[slot] = self.emit.binary(Opcode::Or, self.slots[slot], mask);
        }
        Ok(())
    }

    /// Makes the slots for them at the start of a `.handler`.
    pub fn track_outputs(&mut self, block: &ast::Block) -> Res<()> {
        let names = super::looping::names_in(block);
        if names.contains("_output_port") || names.contains("set_output_ready") {
            let zero = self.emit.zero(Width::of(32));
            self.written = Some(self.add_slot(zero));
        }
        let Some(input) = self.input.filter(|_| names.contains("set_output_ready")) else { return Ok(()) };
        for &output in input.outputs {
            let ty = self.message_type(output, input.element.outputs.span)?;
            let mut slots = Vec::new();
            for int in ty.scalar_types() {
                let zero = self.emit.zero(int.width);
                slots.push(self.add_slot(zero));
            }
            self.output_data.push(slots);
        }
        Ok(())
    }

    /// `a + b` of two 32-bit values.
    pub fn plus(&mut self, a: ValueId, b: ValueId) -> ValueId {
        let scalar = |value| Scalar { value, ty: IntType::UINT, literal: false };
        self.binary(BinaryOp::Add, scalar(a), scalar(b)).value
    }
}
