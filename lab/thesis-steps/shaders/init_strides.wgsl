// Adjacent threads set adjacent words to zero, so that their stores coalesce. Swapped with
// init_one_thread.wgsl and init_runs.wgsl.
// Needs: of the kernel WORKGROUP_SIZE.

// The words of a thread: first, end and stride.
fn init_words(thread: u32, words: u32) -> vec3<u32> {
    return vec3(thread, words, WORKGROUP_SIZE);
}
