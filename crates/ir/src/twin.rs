//! Native twins: kernels that software may run instead of an element's `.body`.
//!
//! A twin stands for all runs of `.body` on one packet: it is given the state, and in place the bytes from the window's end to
//! the packet's, and leaves bytes and state as `.body` would, piece by piece. It never drops, emits or reports, nor may such a
//! body. The body stays the meaning: the interpreter and hardware know no twins. This is the table of names; engines hold the code.

use crate::{Attr, Body, Effect, Handler, Var};

/// A kernel's name, and the state that it reads and writes.
#[derive(Debug, PartialEq, Eq)]
pub struct Twin {
    /// As written behind `.native`.
    pub name: &'static str,
    /// Variables that the element must have; it may have others, which the twin does not touch.
    pub state: &'static [TwinVar],
}

/// A variable that a twin needs.
#[derive(Debug, PartialEq, Eq)]
pub struct TwinVar {
    /// Its name.
    pub name: &'static str,
    /// Bits of the register or of a word.
    pub bits: u32,
    /// The numbers of words that a memory may have; none: a register.
    pub depths: &'static [u64],
}

/// All twins.
pub const TWINS: &[Twin] = &[Twin {
    // AES in counter mode (SP 800-38A §6.5). Byte `i` of a round key is bits `8 i` to `8 i + 7`; their number tells the key's
    // length. Each block takes the counter, a big-endian number, and leaves it one higher, a last block that is not whole too.
    name: "crypto::aes_ctr",
    state: &[
        TwinVar { name: "round_keys", bits: 128, depths: &[11, 13, 15] },
        TwinVar { name: "counter", bits: 128, depths: &[] },
    ],
}];

impl Twin {
    /// The twin with this name.
    pub fn named(name: &str) -> Option<&'static Twin> {
        TWINS.iter().find(|twin| twin.name == name)
    }

    /// Why it cannot stand for the body of an element with this handler and state, if it cannot.
    pub fn misfit(&self, handler: &Handler, vars: &[Var]) -> Option<String> {
        let Handler::Packet { tail: Some(tail), .. } = handler else {
            return Some(format!("`{}` stands for a `.body`, and there is none", self.name));
        };
        self.state.iter().find_map(|wanted| self.missing(wanted, vars)).or_else(|| self.surplus(tail, vars))
    }

    /// That a variable is not there as wanted, if it is not.
    fn missing(&self, wanted: &TwinVar, vars: &[Var]) -> Option<String> {
        let found = vars.iter().find(|var| var.name == wanted.name);
        let has = match found {
            Some(var) if wanted.fits(var) => return None,
            Some(var) => {
                let depth = var.depth.map(|depth| depth.to_string());
                format!("it is `{}`", declaration(&var.name, var.width.bits(), depth))
            }
            None => "there is none of that name".to_string(),
        };
        Some(format!("`{}` needs the state variable `{}`; {has}", self.name, wanted.declaration()))
    }

    /// The first thing that `.body` does and the twin does not, if there is one.
    fn surplus(&self, tail: &Body, vars: &[Var]) -> Option<String> {
        let is_wanted = |var: &Var| self.state.iter().any(|wanted| wanted.name == var.name);
        tail.ops.iter().find_map(|op| {
            let what = match (op.code.effect(), &op.attr) {
                (Effect::Pure | Effect::Region, _) | (Effect::ReadState | Effect::WriteState, Attr::Local(_)) => None,
                (Effect::ReadState | Effect::WriteState, Attr::Var(var)) => {
                    vars.get(var.index()).filter(|var| !is_wanted(var)).map(|var| format!("uses `{}`", var.name))
                }
                _ => Some(format!("does more: `{}`", op.code.name())),
            }?;
            let own: Vec<String> = self.state.iter().map(|wanted| format!("`{}`", wanted.name)).collect();
            Some(format!("`{}` works on the packet's bytes, {} alone; `.body` {what}", self.name, own.join(" and ")))
        })
    }
}

impl TwinVar {
    fn fits(&self, var: &Var) -> bool {
        let depth_fits = match var.depth {
            None => self.depths.is_empty(),
            Some(depth) => self.depths.contains(&depth),
        };
        depth_fits && var.width.bits() == self.bits
    }

    fn declaration(&self) -> String {
        let depths: Vec<String> = self.depths.iter().map(u64::to_string).collect();
        declaration(self.name, self.bits, (!depths.is_empty()).then(|| depths.join(" or ")))
    }
}

/// A state variable as in source.
fn declaration(name: &str, bits: u32, depth: Option<String>) -> String {
    let depth = depth.map_or(String::new(), |depth| format!("[{depth}]"));
    format!("uint<{bits}> {name}{depth}")
}

#[cfg(test)]
mod tests {
    use super::Twin;
    use crate::{Body, BodyKind, Handler, Value, Var, Width};

    fn var(name: &str, bits: u32, depth: Option<u64>) -> Var {
        Var { name: name.to_string(), width: Width::of(bits), signed: false, depth, reset: vec![Value::from(1)] }
    }

    fn packet(tail: Option<Body>) -> Handler {
        let head = Box::new(Body::new(BodyKind::Packet, &[]));
        Handler::Packet { window: 64, grow: 0, store: None, head, tail: tail.map(Box::new), end: None }
    }

    #[test]
    fn a_misfit_names_what_is_expected() {
        let twin = Twin::named("crypto::aes_ctr").expect("in the table");
        let handler = packet(Some(Body::new(BodyKind::Tail, &[])));
        let misfit = |vars: &[Var]| twin.misfit(&handler, vars).unwrap_or_default();
        let counter = || var("counter", 128, None);
        for depth in [11, 13, 15] {
            assert_eq!(misfit(&[counter(), var("n", 8, None), var("round_keys", 128, Some(depth))]), "");
        }
        let needs = "`crypto::aes_ctr` needs the state variable `uint<128> round_keys[11 or 13 or 15]`;";
        assert_eq!(misfit(&[counter()]), format!("{needs} there is none of that name"));
        assert_eq!(
            misfit(&[counter(), var("round_keys", 128, Some(12))]),
            format!("{needs} it is `uint<128> round_keys[12]`")
        );
        assert_eq!(
            misfit(&[var("round_keys", 128, Some(11)), var("counter", 64, None)]),
            "`crypto::aes_ctr` needs the state variable `uint<128> counter`; it is `uint<64> counter`"
        );
        assert_eq!(
            twin.misfit(&packet(None), &[]).as_deref(),
            Some("`crypto::aes_ctr` stands for a `.body`, and there is none")
        );
        assert_eq!(Twin::named("crypto::aes_crt"), None);
    }
}
