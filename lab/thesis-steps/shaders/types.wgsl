// Records and reads that the kernels of the thesis's steps share.
// `real` is a file of the product, in `shaders/shared/real/`.

// One RoI and where its data lie.
struct Roi {
    z_min: real,
    z_max: real,
    bins_per_mm: real,
    offset: real,     // bin(z) = round(z * bins_per_mm - offset)
    first_cell: u32,
    slices: u32,
    first_row: u32,   // of its histograms
    bins: u32,
}

struct Params {
    layers: u32,
    rows: u32,       // slices of all RoIs
    row_words: u32,  // from one histogram to the next
    rois: u32,
    groups_in: u32,  // of sum_histos: rows of an RoI that it reads; 0: one for each slice
    groups_out: u32, // rows of an RoI that it writes
    blocks: u32,     // workgroups across the bins of a row
}
