//! The stages on the CPU.
