//! Port counts and message types of an instance.

use std::collections::BTreeMap;

use diag::{Code, Diagnostic, Span};
use ir::{Design, MessageKind, MessageType, MessageTypeId};
use syntax::ast::{self, PortList, SectionKind, TypeKind};

use crate::arguments::Params;
use crate::consts::{self, ConstEnv};
use crate::number::Number;
use crate::suggest;
use crate::types;

/// Most ports on one side of an element: masks have 32 bits.
pub const PORTS_MAX: u32 = 32;

/// The message types of an application, by name. 0 is `flit_t`, 1 is `packet`.
#[derive(Clone, Debug)]
pub struct MessageTypes {
    list: Vec<MessageType>,
}

impl MessageTypes {
    /// `flit_t` and `packet`. The fields of `flit_t` depend on the metadata and are filled in when that is known.
    pub fn new() -> MessageTypes {
        let flit = MessageType { name: "flit_t".to_string(), kind: MessageKind::Flit, fields: Vec::new() };
        let packet = MessageType { name: "packet".to_string(), kind: MessageKind::Packet, fields: Vec::new() };
        MessageTypes { list: vec![flit, packet] }
    }

    /// The type's name.
    pub fn name(&self, id: MessageTypeId) -> &str {
        &self.list[id.index()].name
    }

    /// How messages of the type travel.
    pub fn kind(&self, id: MessageTypeId) -> MessageKind {
        self.list[id.index()].kind
    }

    /// All types by id, with the fields of `flit_t` for a design with this metadata.
    pub fn complete(&self, meta: &[ir::MetaField]) -> Vec<MessageType> {
        let layout = Design { meta: meta.to_vec(), ..Design::default() };
        let mut list = self.list.clone();
        list[Design::FLIT.index()].fields = ir::side::flit_fields(&layout);
        list
    }

    fn resolve(&mut self, ty: &ast::TypeExpr, env: &ConstEnv<'_, '_>) -> Result<MessageTypeId, Diagnostic> {
        let TypeKind::Name(name) = &ty.kind else { return Err(not_a_message(ty, env)) };
        if let Some(at) = self.list.iter().position(|known| known.name == *name) {
            return Ok(MessageTypeId(at as u32));
        }
        let is_struct = env.decls.structs.contains_key(name.as_str()) || env.decls.headers.contains_key(name.as_str());
        if !is_struct {
            return Err(not_a_message(ty, env));
        }
        let file_level = ConstEnv { decls: env.decls, names: BTreeMap::new() };
        let fields = types::struct_fields(env.decls, &file_level, name)?;
        self.list.push(MessageType { name: name.clone(), kind: MessageKind::Struct, fields });
        Ok(MessageTypeId(self.list.len() as u32 - 1))
    }
}

fn not_a_message(ty: &ast::TypeExpr, env: &ConstEnv<'_, '_>) -> Diagnostic {
    let name = match &ty.kind {
        TypeKind::Name(name) => name.as_str(),
        TypeKind::UInt(_) | TypeKind::Int(_) | TypeKind::Auto | TypeKind::Void => "",
    };
    let structs = env.decls.structs.keys().chain(env.decls.headers.keys()).copied();
    let help = match suggest::nearest(name, structs.chain(["flit_t", "packet"])) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "use `flit_t`, `packet`, or a struct declared at file level".to_string(),
    };
    let message =
        if name.is_empty() { "this type cannot pass a port".to_string() } else { format!("no message type `{name}`") };
    Diagnostic::new(Code::E0217, ty.span, message, help)
}

/// A side of an instance whose message types are wanted.
pub struct Side<'x, 'a> {
    /// What the element declares.
    pub list: &'a PortList,
    /// The count given at the instance, with its place.
    pub count: Option<(u64, Span)>,
    /// The type of groups that name none.
    pub default: MessageTypeId,
    /// `input` or `output`, for reports.
    pub noun: &'x str,
}

/// Message type of each port of a side. Parameters count as names; the given count changes the last group.
pub fn message_types(
    side: &Side<'_, '_>,
    env: &ConstEnv<'_, '_>,
    types: &mut MessageTypes,
) -> Result<Vec<MessageTypeId>, Diagnostic> {
    let mut ports = Vec::new();
    let last = side.list.groups.len().saturating_sub(1);
    for (at, group) in side.list.groups.iter().enumerate() {
        let message = group.ty.as_ref().map_or(Ok(side.default), |ty| types.resolve(ty, env))?;
        let count = match side.count {
            Some((total, span)) if at == last => {
                let before = ports.len() as u64;
                total.checked_sub(before).filter(|_| total <= u64::from(PORTS_MAX)).ok_or_else(|| {
                    let message = format!("{total} {}s, where {before} to {PORTS_MAX} are possible", side.noun);
                    let help = format!("give a count from {before} to {PORTS_MAX}");
                    Diagnostic::new(Code::E0216, span, message, help)
                })?
            }
            _ => Number::of(&consts::eval(&group.count, env)?).to_u64().unwrap_or(u64::MAX),
        };
        if count.saturating_add(ports.len() as u64) > u64::from(PORTS_MAX) {
            let message = format!("an element has at most {PORTS_MAX} {}s", side.noun);
            let help = format!("declare 0 to {PORTS_MAX} {}s", side.noun);
            return Err(Diagnostic::new(Code::E0216, group.count.span, message, help));
        }
        ports.extend(std::iter::repeat_n(message, count as usize));
    }
    Ok(ports)
}

/// The message type of ports for which an element names none: `packet` if it has `.packet`, else `flit_t`.
pub fn default_message(element: &ast::ElementDecl) -> MessageTypeId {
    let has_packet = element.sections.iter().any(|section| matches!(section.kind, SectionKind::Packet(..)));
    if has_packet { Design::PACKET } else { Design::FLIT }
}

/// Names that port counts and bodies of an instance may use: its parameters.
pub fn param_env<'d, 'a>(outer: &ConstEnv<'d, 'a>, params: &Params) -> ConstEnv<'d, 'a> {
    ConstEnv { decls: outer.decls, names: params.iter().cloned().collect() }
}
