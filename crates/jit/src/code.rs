//! Compiled bodies: memory with code in it, and the calls into it.
#![allow(unsafe_code)]

use cranelift_codegen::Context as CodegenContext;
use cranelift_codegen::ir::{AbiParam, Signature, types};
use cranelift_codegen::isa::OwnedTargetIsa;
use cranelift_codegen::settings::{self, Configurable};
use cranelift_frontend::FunctionBuilderContext;
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{FuncId, Linkage, Module, default_libcall_names};

use crate::callees::{CalleeId, callees};
use crate::context::Context;
use crate::slot::Slot;
use crate::{Error, memory::State};

/// What code is called as; the result is 0 or the number of a trap site, from 1.
type Entry = unsafe extern "C" fn(*mut Context, *mut u64) -> u64;

/// What a chain is called as: slots and how many; the result is how many were done, and above bit 32 the number of a trap site.
type ChainEntry = unsafe extern "C" fn(*mut Context, *mut Slot<'_>, u64) -> u64;

/// Code being made.
pub(crate) struct Assembly {
    pub(crate) module: JITModule,
    pub(crate) codegen: CodegenContext,
    pub(crate) builder: FunctionBuilderContext,
    callees: Vec<FuncId>,
}

/// A body that has been compiled, before [`Assembly::finish`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Defined(FuncId);

impl Assembly {
    /// An empty one for this processor.
    pub(crate) fn new() -> Result<Assembly, Error> {
        let isa = host()?;
        let mut builder = JITBuilder::with_isa(isa, default_libcall_names());
        let table = callees();
        for callee in &table {
            builder.symbol(callee.name, callee.address);
        }
        let mut module = JITModule::new(builder);
        let mut declared = Vec::with_capacity(table.len());
        for callee in &table {
            let mut signature = module.make_signature();
            signature.params.extend((0..callee.n_params).map(|_| AbiParam::new(types::I64)));
            signature.returns.extend(callee.has_result.then(|| AbiParam::new(types::I64)));
            let id = module.declare_function(callee.name, Linkage::Import, &signature);
            declared.push(id.map_err(|error| Error::Host(error.to_string()))?);
        }
        let codegen = module.make_context();
        Ok(Assembly { module, codegen, builder: FunctionBuilderContext::new(), callees: declared })
    }

    /// Signature of [`Entry`].
    pub(crate) fn signature(&self) -> Signature {
        let mut signature = self.module.make_signature();
        signature.params = vec![AbiParam::new(types::I64), AbiParam::new(types::I64)];
        signature.returns = vec![AbiParam::new(types::I64)];
        signature
    }

    /// Signature of [`ChainEntry`].
    pub(crate) fn chain_signature(&self) -> Signature {
        let mut signature = self.signature();
        signature.params.push(AbiParam::new(types::I64));
        signature
    }

    pub(crate) fn callee(&self, callee: CalleeId) -> FuncId {
        self.callees[callee as usize]
    }

    /// Compiles the function in `codegen`.
    pub(crate) fn define(&mut self) -> Result<Defined, String> {
        let id =
            self.module.declare_anonymous_function(&self.codegen.func.signature).map_err(|error| error.to_string())?;
        self.module.define_function(id, &mut self.codegen).map_err(|error| error.to_string())?;
        self.module.clear_context(&mut self.codegen);
        Ok(Defined(id))
    }

    /// Makes the code executable.
    pub(crate) fn finish(mut self) -> Result<CodeMemory, Error> {
        self.module.finalize_definitions().map_err(|error| Error::Host(error.to_string()))?;
        Ok(CodeMemory { module: Some(self.module) })
    }
}

fn host() -> Result<OwnedTargetIsa, Error> {
    if cfg!(target_endian = "big") {
        return Err(Error::Host("its bytes are in big-endian order".to_string()));
    }
    let mut flags = settings::builder();
    let options = [
        ("opt_level", "speed"),
        ("is_pic", "false"),
        ("use_colocated_libcalls", "false"),
        ("enable_probestack", "true"),
        ("probestack_strategy", "inline"),
        ("enable_verifier", if cfg!(debug_assertions) { "true" } else { "false" }),
    ];
    for (name, value) in options {
        flags.set(name, value).expect("these settings exist");
    }
    let isa = cranelift_native::builder().map_err(|message| Error::Host(message.to_string()))?;
    isa.finish(settings::Flags::new(flags)).map_err(|error| Error::Host(error.to_string()))
}

/// Executable memory, given back when dropped.
pub(crate) struct CodeMemory {
    module: Option<JITModule>,
}

impl CodeMemory {
    /// The callable body.
    pub(crate) fn entry(&self, defined: Defined) -> EntryPoint {
        let module = self.module.as_ref().expect("it is there until the memory is dropped");
        let address = module.get_finalized_function(defined.0);
        // SAFETY: the function was defined in this module with the signature of `Entry`.
        EntryPoint(unsafe { std::mem::transmute::<*const u8, Entry>(address) })
    }
}

impl CodeMemory {
    /// The callable chain.
    pub(crate) fn chain_entry(&self, defined: Defined) -> ChainEntryPoint {
        let module = self.module.as_ref().expect("it is there until the memory is dropped");
        let address = module.get_finalized_function(defined.0);
        // SAFETY: the function was defined in this module with the signature of `ChainEntry`.
        ChainEntryPoint(unsafe { std::mem::transmute::<*const u8, ChainEntry>(address) })
    }
}

impl Drop for CodeMemory {
    fn drop(&mut self) {
        if let Some(module) = self.module.take() {
            // SAFETY: a `Machine` or `Chain` owns the memory and all entry points into it, and none is running now.
            unsafe { module.free_memory() }
        }
    }
}

impl std::fmt::Debug for CodeMemory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("CodeMemory")
    }
}

/// A callable body.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EntryPoint(Entry);

impl EntryPoint {
    /// Runs the body; gives 0 or the number of a trap site, from 1.
    ///
    /// # Safety
    /// The memory that holds the code lives; `state` is the block that it was compiled for; the context's pointers are set to
    /// places as large as the body was compiled for, which nobody else uses during the call.
    #[inline]
    pub(crate) unsafe fn call(self, context: &mut Context, state: &State) -> u64 {
        // SAFETY: as the caller promises.
        unsafe { (self.0)(context, state.block()) }
    }
}

/// A callable chain.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChainEntryPoint(ChainEntry);

impl ChainEntryPoint {
    /// Runs the slots from the front; gives how many were done, and the number of a trap site in the upper half.
    ///
    /// # Safety
    /// The memory that holds the code lives, as do the states that it was compiled for, which nobody else uses during the call; the
    /// context's frame is as large as the chain was compiled for.
    #[inline]
    pub(crate) unsafe fn call(self, context: &mut Context, slots: &mut [Slot<'_>]) -> u64 {
        // SAFETY: as the caller promises.
        unsafe { (self.0)(context, slots.as_mut_ptr(), slots.len() as u64) }
    }
}
