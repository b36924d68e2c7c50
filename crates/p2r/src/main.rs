//! The command `p2r`.

fn main() {}
