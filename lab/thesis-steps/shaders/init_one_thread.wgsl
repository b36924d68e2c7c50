// One thread sets all words to zero. Swapped with init_runs.wgsl and init_strides.wgsl.

// The words of a thread: first, end and stride.
fn init_words(thread: u32, words: u32) -> vec3<u32> {
    return vec3(0u, select(0u, words, thread == 0u), 1u);
}
