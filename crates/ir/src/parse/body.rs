//! Reads bodies. Ids come out in canonical order, as [`Body::compacted`] describes it.

use std::collections::HashMap;

use crate::parse::{Label, ParseError, Parser, Token};
use crate::text::n_operands;
use crate::{
    Attr, AttrKind, Body, BodyKind, Design, Local, MAX_NESTING, Op, Opcode, RegionId, Shape, ValueId, Var, VarId, Width,
};

/// What names in a body may mean, and the body so far.
struct Scope<'a> {
    design: &'a Design,
    vars: &'a [Var],
    body: Body,
    /// Every label of the body; each is given once. Whether it is visible is the verifier's question.
    values: HashMap<String, ValueId>,
}

impl Parser {
    /// `{ … }`.
    pub(super) fn body(
        &mut self,
        design: &Design,
        vars: &[Var],
        kind: BodyKind,
        params: &[(Label, Width)],
    ) -> Result<Body, ParseError> {
        let widths: Vec<Width> = params.iter().map(|(_, width)| *width).collect();
        let body = Body::new(kind, &widths);
        let mut scope = Scope { design, vars, body, values: HashMap::new() };
        for (i, (label, _)) in params.iter().enumerate() {
            scope.bind(label, ValueId(i as u32))?;
        }
        self.expect("{")?;
        while self.take_word("local") {
            let name = self.name()?;
            self.expect(":")?;
            let width = self.value_width()?;
            self.expect("[")?;
            let depth = self.number()?;
            self.expect("]")?;
            scope.body.locals.push(Local { name, width, depth });
        }
        let root = scope.body.root;
        self.ops(&mut scope, root, 0)?;
        Ok(scope.body)
    }

    /// Ops, yields and the closing brace.
    fn ops(&mut self, scope: &mut Scope<'_>, region: RegionId, depth: usize) -> Result<(), ParseError> {
        if depth > MAX_NESTING {
            return Err(self.error(&format!("regions nest deeper than {MAX_NESTING}")));
        }
        while !self.take("}") {
            if self.take_word("yield") {
                let yields = self.operands(scope)?;
                scope.body.regions[region.index()].yields = yields;
                return self.expect("}");
            }
            self.op(scope, region, depth)?;
        }
        Ok(())
    }

    fn op(&mut self, scope: &mut Scope<'_>, region: RegionId, depth: usize) -> Result<(), ParseError> {
        let mut results = Vec::new();
        if matches!(self.peek(), Token::Value(_)) {
            results.push(self.typed_value()?);
            while self.take(",") {
                results.push(self.typed_value()?);
            }
            self.expect("=")?;
        }
        let name = self.word()?;
        let code = Opcode::from_name(&name).ok_or_else(|| self.error_before(&format!("no op has the name {name}")))?;
        let op = Op { code, attr: Attr::None, operands: vec![], results: vec![], regions: vec![], span: None };
        let op = match code.shape() {
            Shape::If => self.if_op(scope, op, depth)?,
            Shape::Loop => self.loop_op(scope, op, depth)?,
            _ => self.flat_op(scope, op)?,
        };
        let widths: Vec<Width> = results.iter().map(|(_, width)| *width).collect();
        let id = scope.body.push(region, op, &widths);
        let values = scope.body.op(id).results.clone();
        for ((label, _), value) in results.iter().zip(values) {
            scope.bind(label, value)?;
        }
        Ok(())
    }

    fn flat_op(&mut self, scope: &Scope<'_>, op: Op) -> Result<Op, ParseError> {
        let attr = self.attr(scope, op.code.attr_kind())?;
        let more = match n_operands(op.code) {
            Some(0) => false,
            _ if attr == Attr::None => true,
            Some(_) => {
                self.expect(",")?;
                true
            }
            None => self.take(","),
        };
        let operands = if more { self.operands(scope)? } else { vec![] };
        if n_operands(op.code).is_some_and(|wanted| wanted != operands.len()) {
            return Err(self.error_before(&format!("{} has another number of operands", op.code.name())));
        }
        Ok(Op { attr, operands, span: self.span()?, ..op })
    }

    fn if_op(&mut self, scope: &mut Scope<'_>, op: Op, depth: usize) -> Result<Op, ParseError> {
        let condition = self.value()?;
        let operands = vec![scope.find(&condition)?];
        let span = self.span()?;
        self.expect("{")?;
        let then_region = scope.body.add_region(&[]);
        self.ops(scope, then_region, depth + 1)?;
        let else_region = scope.body.add_region(&[]);
        if self.take_word("else") {
            self.expect("{")?;
            self.ops(scope, else_region, depth + 1)?;
        }
        Ok(Op { operands, regions: vec![then_region, else_region], span, ..op })
    }

    fn loop_op(&mut self, scope: &mut Scope<'_>, op: Op, depth: usize) -> Result<Op, ParseError> {
        let carried = self.list("(", ")", |parser| {
            let (label, width) = parser.typed_value()?;
            parser.expect("=")?;
            Ok((label, width, parser.value()?))
        })?;
        let span = self.span()?;
        self.expect("{")?;
        let operands = carried.iter().map(|(_, _, initial)| scope.find(initial)).collect::<Result<_, _>>()?;
        let widths: Vec<Width> = carried.iter().map(|(_, width, _)| *width).collect();
        let region = scope.body.add_region(&widths);
        let params = scope.body.region(region).params.clone();
        for ((label, _, _), param) in carried.iter().zip(params) {
            scope.bind(label, param)?;
        }
        self.ops(scope, region, depth + 1)?;
        Ok(Op { operands, regions: vec![region], span, ..op })
    }

    /// At least one value, separated by commas.
    fn operands(&mut self, scope: &Scope<'_>) -> Result<Vec<ValueId>, ParseError> {
        let mut operands = Vec::new();
        loop {
            let label = self.value()?;
            operands.push(scope.find(&label)?);
            if !self.take(",") {
                return Ok(operands);
            }
        }
    }

    fn attr(&mut self, scope: &Scope<'_>, kind: AttrKind) -> Result<Attr, ParseError> {
        Ok(match kind {
            AttrKind::None => Attr::None,
            AttrKind::Const => Attr::Const(self.big_number()?),
            AttrKind::Bit => Attr::Bit(self.number()?),
            AttrKind::Var => {
                Attr::Var(VarId(self.reference("state variable", scope.vars.iter().map(|var| &*var.name))?))
            }
            AttrKind::Local => {
                Attr::Local(self.reference("local array", scope.body.locals.iter().map(|local| &*local.name))?)
            }
            AttrKind::Message => Attr::Message(self.message(scope.design)?),
            AttrKind::Meta => {
                Attr::Meta(self.reference("metadata field", scope.design.meta.iter().map(|field| &*field.name))?)
            }
            AttrKind::Text => Attr::Text(self.text()?),
        })
    }
}

impl Scope<'_> {
    fn bind(&mut self, label: &Label, value: ValueId) -> Result<(), ParseError> {
        match self.values.insert(label.name.clone(), value) {
            None => Ok(()),
            Some(_) => Err(ParseError { at: label.at, message: format!("%{} is defined twice", label.name) }),
        }
    }

    fn find(&self, label: &Label) -> Result<ValueId, ParseError> {
        let found = self.values.get(&label.name).copied();
        found.ok_or_else(|| ParseError { at: label.at, message: format!("%{} is not defined above", label.name) })
    }
}
