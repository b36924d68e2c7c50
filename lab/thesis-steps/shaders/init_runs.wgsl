// Each thread sets a run of adjacent words to zero. Swapped with init_one_thread.wgsl and
// init_strides.wgsl.
// Needs: of the kernel WORKGROUP_SIZE.

// The words of a thread: first, end and stride.
fn init_words(thread: u32, words: u32) -> vec3<u32> {
    let each = (words + WORKGROUP_SIZE - 1u) / WORKGROUP_SIZE;
    return vec3(thread * each, min((thread + 1u) * each, words), 1u);
}
