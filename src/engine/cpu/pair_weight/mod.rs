//! Weights of pairs, by third spacepoints: `shaders/find_z/pair_weight/*.wgsl`.

mod count;
mod pt;
