//! The WGSL, put together.

use kernel_host::Source;

macro_rules! piece {
    ($source:expr, $($name:literal),+) => {
        $source$(.piece(concat!("crates/transport/shaders/", $name), include_str!(concat!("../shaders/", $name))))+
    };
}
