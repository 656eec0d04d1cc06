//! Name resolution, elaboration, type checking and lowering.
