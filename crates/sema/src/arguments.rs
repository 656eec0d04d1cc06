//! Compile-time parameters of elements and groups: arguments, defaults, types and ranges.

use std::collections::BTreeMap;

use diag::{Code, Diagnostic, Span};
use ir::Width;
use syntax::ast::{self, ParamDecl, TypeKind};

use crate::consts::{self, ConstEnv};
use crate::number::Number;
use crate::scope::{ConstValue, Decls, Diagnostics};
use crate::suggest;
use crate::types::{IntKind, IntType};

/// Every parameter with its value, in declaration order.
pub type Params = Vec<(String, ConstValue)>;

/// What an instance gives to what it instantiates.
pub struct Arguments<'x, 'a> {
    /// The element's or group's name, for reports.
    pub callee: &'x str,
    /// Its parameters.
    pub params: &'a [ParamDecl],
    /// Positional and named arguments.
    pub args: &'a [ast::InstanceArg],
    /// Names that the arguments may use.
    pub caller: &'x ConstEnv<'x, 'a>,
    /// Where a missing argument is reported.
    pub span: Span,
}

/// The value of each parameter; nothing if an error was reported.
pub fn bind(arguments: &Arguments<'_, '_>, diags: &mut Diagnostics) -> Option<Params> {
    let given = assign(arguments, diags)?;
    let mut env = ConstEnv { decls: arguments.caller.decls, names: BTreeMap::new() };
    let mut bound = Vec::new();
    let mut missing = Vec::new();
    for (param, arg) in arguments.params.iter().zip(given) {
        let value = match (arg, &param.default) {
            (Some(arg), _) => consts::eval(&arg.value, arguments.caller).map(|value| (value, arg.value.span)),
            (None, Some(default)) => consts::eval(default, &env).map(|value| (value, default.span)),
            (None, None) => {
                missing.push(param);
                continue;
            }
        };
        let checked = value.and_then(|(value, span)| checked(param, &value, span, &env));
        let value = reported(checked, diags)?;
        env.names.insert(param.name.text.clone(), value.clone());
        bound.push((param.name.text.clone(), value));
    }
    if let Some(first) = missing.first() {
        diags.add(missing_arguments(arguments, &missing).related(first.span, "declared here without a default"));
        return None;
    }
    Some(bound)
}

/// Parameter values for checking an element that nobody instantiates: defaults, and for a parameter without one the least value
/// of its range, or 1 if it has no range.
pub fn smallest(params: &[ParamDecl], decls: &Decls<'_>, diags: &mut Diagnostics) -> Option<Params> {
    let mut env = ConstEnv { decls, names: BTreeMap::new() };
    let mut bound = Vec::new();
    for param in params {
        let value = match (&param.default, &param.range) {
            (Some(default), _) => {
                consts::eval(default, &env).and_then(|value| checked(param, &value, default.span, &env))
            }
            (None, Some((low, _))) => consts::eval(low, &env).and_then(|value| checked(param, &value, low.span, &env)),
            (None, None) => {
                int_type(&param.ty, &env).and_then(|int| converted(param, &Number::from(1), int, param.span))
            }
        };
        let value = reported(value, diags)?;
        env.names.insert(param.name.text.clone(), value.clone());
        bound.push((param.name.text.clone(), value));
    }
    Some(bound)
}

/// A parameter's value as the source would write it.
pub fn value_text(param: &ParamDecl, value: &ConstValue) -> String {
    let is_bool = matches!(&param.ty.kind, TypeKind::Name(name) if name == "bool");
    match (is_bool, value.value.is_zero()) {
        (true, true) => "false".to_string(),
        (true, false) => "true".to_string(),
        (false, _) => Number::of(value).to_string(),
    }
}

/// The argument for each parameter.
fn assign<'a>(arguments: &Arguments<'_, 'a>, diags: &mut Diagnostics) -> Option<Vec<Option<&'a ast::InstanceArg>>> {
    let Arguments { callee, params, .. } = arguments;
    let mut given: Vec<Option<&ast::InstanceArg>> = vec![None; params.len()];
    let mut is_sound = true;
    let mut n_positional = 0;
    for arg in arguments.args {
        let found = match &arg.name {
            None => {
                n_positional += 1;
                (n_positional <= params.len()).then_some(n_positional - 1)
            }
            Some(name) => params.iter().position(|param| param.name.text == name.text),
        };
        let fault = match (found, &arg.name) {
            (Some(at), _) => match given[at].replace(arg) {
                None => continue,
                Some(earlier) => given_twice(&params[at], arg, earlier),
            },
            (None, Some(name)) => unknown_parameter(callee, params, name),
            (None, None) if params.is_empty() => {
                let message = format!("`{callee}` has no parameters; this argument is ignored");
                diags.add(Diagnostic::new(Code::W0203, arg.value.span, message, "remove the argument"));
                continue;
            }
            (None, None) => {
                let message = format!("`{callee}` has {}", counted(params.len(), "parameter"));
                let help = format!("it takes ({})", signature(params));
                Diagnostic::new(Code::E0212, arg.value.span, message, help).label("one too many")
            }
        };
        diags.add(fault);
        is_sound = false;
    }
    is_sound.then_some(given)
}

fn given_twice(param: &ParamDecl, arg: &ast::InstanceArg, earlier: &ast::InstanceArg) -> Diagnostic {
    let message = format!("parameter `{}` is given twice", param.name.text);
    Diagnostic::new(Code::E0223, arg.value.span, message, "remove one of the two")
        .related(earlier.value.span, "first given here")
}

fn unknown_parameter(callee: &str, params: &[ParamDecl], name: &ast::Ident) -> Diagnostic {
    let message = format!("`{callee}` has no parameter `{}`", name.text);
    let names = params.iter().map(|param| param.name.text.as_str());
    let help = match suggest::nearest(&name.text, names) {
        Some(near) => format!("did you mean `{near}`?"),
        None if params.is_empty() => "remove the argument".to_string(),
        None => format!("it takes ({})", signature(params)),
    };
    Diagnostic::new(Code::E0210, name.span, message, help)
}

fn missing_arguments(arguments: &Arguments<'_, '_>, missing: &[&ParamDecl]) -> Diagnostic {
    let names: Vec<String> = missing.iter().map(|param| param.name.text.clone()).collect();
    let noun = if names.len() == 1 { "parameter" } else { "parameters" };
    let message = format!("`{}` needs its {noun} {}", arguments.callee, crate::files::listed(&names));
    let settings: Vec<String> = names.iter().map(|name| format!("`{name} = …`")).collect();
    let help = format!("give {} in the parentheses, after the port counts if there are any", settings.join(", "));
    Diagnostic::new(Code::E0211, arguments.span, message, help)
}

/// `DEPTH, STRICT`.
fn signature(params: &[ParamDecl]) -> String {
    params.iter().map(|param| param.name.text.as_str()).collect::<Vec<_>>().join(", ")
}

/// `1 parameter`, `3 parameters`.
pub fn counted(n: usize, noun: &str) -> String {
    match n {
        0 => format!("no {noun}s"),
        1 => format!("1 {noun}"),
        _ => format!("{n} {noun}s"),
    }
}

/// The value in the parameter's type, if type and declared range hold it.
fn checked(
    param: &ParamDecl,
    value: &ConstValue,
    span: Span,
    env: &ConstEnv<'_, '_>,
) -> Result<ConstValue, Diagnostic> {
    let int = int_type(&param.ty, env)?;
    let number =
        if int.kind == IntKind::Bool { Number::from(u64::from(!value.value.is_zero())) } else { Number::of(value) };
    let converted = converted(param, &number, int, span)?;
    let Some((low, high)) = &param.range else { return Ok(converted) };
    let (low, high) = (Number::of(&consts::eval(low, env)?), Number::of(&consts::eval(high, env)?));
    if number < low || number > high {
        return Err(out_of_range(param, &number, &low, &high, span));
    }
    Ok(converted)
}

fn converted(param: &ParamDecl, number: &Number, int: IntType, span: Span) -> Result<ConstValue, Diagnostic> {
    let limits = || (Number::min_of(int.width, int.signed), Number::max_of(int.width, int.signed));
    number.to_constant(int.width, int.signed).ok_or_else(|| {
        let (low, high) = limits();
        out_of_range(param, number, &low, &high, span)
    })
}

fn out_of_range(param: &ParamDecl, number: &Number, low: &Number, high: &Number, span: Span) -> Diagnostic {
    let name = &param.name.text;
    let message = format!("parameter `{name}` is {number}, outside {low}..{high}");
    let help = format!("give `{name}` a value from {low} to {high}");
    let report = Diagnostic::new(Code::E0209, span, message, help);
    let is_own_default = param.span.file == span.file && param.span.start <= span.start && span.end <= param.span.end;
    if is_own_default { report } else { report.related(param.span, "declared here") }
}

fn int_type(ty: &ast::TypeExpr, env: &ConstEnv<'_, '_>) -> Result<IntType, Diagnostic> {
    let exact = |width: &ast::Expr, signed: bool| {
        let bits = Number::of(&consts::eval(width, env)?).to_u64();
        let width_bits = bits.and_then(|bits| u32::try_from(bits).ok()).and_then(Width::new);
        width_bits.map(|width| IntType { kind: IntKind::Exact, width, signed }).ok_or_else(|| {
            let help = format!("a width is 1 to {} bits", Width::MAX_BITS);
            Diagnostic::new(Code::E0216, width.span, "width out of range", help)
        })
    };
    match &ty.kind {
        TypeKind::Name(name) => match (IntType::by_name(name), env.decls.enums.get(name.as_str())) {
            (Some(int), _) => Ok(int),
            // A faulty underlying type is reported where the enum is lowered.
            (None, Some(decl)) => Ok(decl.underlying.as_ref().and_then(plain_integer).unwrap_or(IntType::INT)),
            (None, None) => Err(not_an_integer(ty)),
        },
        TypeKind::UInt(width) => exact(width, false),
        TypeKind::Int(width) => exact(width, true),
        TypeKind::Auto | TypeKind::Void => Err(not_an_integer(ty)),
    }
}

fn plain_integer(ty: &ast::TypeExpr) -> Option<IntType> {
    match &ty.kind {
        TypeKind::Name(name) => IntType::by_name(name),
        TypeKind::UInt(_) | TypeKind::Int(_) | TypeKind::Auto | TypeKind::Void => None,
    }
}

fn not_an_integer(ty: &ast::TypeExpr) -> Diagnostic {
    let help = "use `uint`, `bool`, `uint<N>`, another integer type or an enum";
    Diagnostic::new(Code::E0225, ty.span, "a parameter must have an integer type", help)
}

fn reported<T>(result: Result<T, Diagnostic>, diags: &mut Diagnostics) -> Option<T> {
    result.map_err(|diagnostic| diags.add(diagnostic)).ok()
}
