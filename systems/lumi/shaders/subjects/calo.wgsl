// Digits of the calorimeter, two a word, and what floats need of a cell.

struct Cell {
    gain: f32,
    sin_theta: f32,
    pedestal: i32,
    area: u32,
}

const INVALID: i32 = -32768;

fn digit(word: u32, cell: u32) -> i32 {
    return bitcast<i32>(select(word << 16u, word, (cell & 1u) != 0u)) >> 16u;
}
