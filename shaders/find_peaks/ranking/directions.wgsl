// The rank of three bins: by the sum of their weights and by the number of sectors with soft and
// with hard tracks (PtWeight in src/pt_weight.rs). A rank is the bits of a positive f32, which
// order as the numbers do.

#import shared::histograms
#import kernel::{total, totals}

override SCALE: u32 = 0;

fn sectors(part: u32, left: u32) -> u32 {
    return countOneBits(totals[total(part, left)] | totals[total(part, left + 1u)] | totals[total(part, left + 2u)]);
}

fn rank(sum: u32, left: u32) -> u32 {
    if sum == 0u {
        return 0u;
    }
    let soft = sectors(SOFT_PART, left) + 1u;
    let hard = sectors(HARD_PART, left) + 1u;
    // 25^5 at most, which f32 holds.
    return bitcast<u32>(f32(sum + SCALE) * f32(hard * hard * hard * soft * soft));
}
