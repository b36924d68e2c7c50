// High words of products, on devices with numbers of 64 bits. Swapped with products/halves.wgsl.

fn high_products(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    let x = u64(a.x) * u64(b.x);
    let y = u64(a.y) * u64(b.y);
    return vec2<u32>(u32(x >> 32u), u32(y >> 32u));
}
