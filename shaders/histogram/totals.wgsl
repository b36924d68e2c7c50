// Of find_z where it fills an RoI's own histograms and writes no rows. Swapped with histogram/fixed_point.wgsl
// and thesis/f32_histogram.wgsl.

const MAX_COUNT: u32 = 4194303u;

const ROW_PARTS: u32 = 0u;
