// High words of products. Swapped with products/wide.wgsl, where there are 64 bits.

// WGSL has 32 bits of them, so they are made of halves.
fn high_products(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    let half = vec2<u32>(16u);
    let mask = vec2<u32>(0xffffu);
    let a_low = a & mask;
    let a_high = a >> half;
    let b_low = b & mask;
    let b_high = b >> half;
    // These sums all fit into 32 bits.
    let first = a_high * b_low + ((a_low * b_low) >> half);
    let second = a_low * b_high + (first & mask);
    return a_high * b_high + (first >> half) + (second >> half);
}
