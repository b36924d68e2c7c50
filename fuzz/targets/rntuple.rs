#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| zfinder_fuzz::rntuple(bytes));
