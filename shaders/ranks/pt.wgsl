// The rank of three bins where weights go by pT (PtWeight in src/config.rs): by their tracks' directions too. Bits of a
// positive f32, which order as the numbers do. Swapped with ranks/sum.wgsl.
// Needs: of the kernel (find_peaks) total and totals. CPU twin: src/engine/twin/find_peaks.rs

override SCALE: u32 = 0;

fn sectors(part: u32, left: u32) -> u32 {
    return countOneBits(totals[total(part, left)] | totals[total(part, left + 1u)] | totals[total(part, left + 2u)]);
}

fn rank(sum: u32, left: u32) -> u32 {
    if sum == 0u {
        return 0u;
    }
    let soft = sectors(3u, left) + 1u;
    let hard = sectors(4u, left) + 1u;
    // 25^5 at most, which f32 holds.
    return bitcast<u32>(f32(sum + SCALE) * f32(hard * hard * hard * soft * soft));
}
