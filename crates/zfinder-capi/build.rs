//! Names the shared library for the loader.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let target = |key: &str| std::env::var(format!("CARGO_CFG_TARGET_{key}")).unwrap_or_default();
    if target("OS") == "linux" {
        // The number is ZF_ABI_VERSION.
        println!("cargo::rustc-link-arg-cdylib=-Wl,-soname,libzfinder_c.so.2");
        // Threads of the library outlive `dlclose`: its code must stay mapped.
        println!("cargo::rustc-link-arg-cdylib=-Wl,-z,nodelete");
    }
    if target("VENDOR") == "apple" {
        println!("cargo::rustc-link-arg-cdylib=-Wl,-install_name,@rpath/libzfinder_c.dylib");
    }
}
