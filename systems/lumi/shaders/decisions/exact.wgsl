// Where tracks are, decided exactly: places are multiples of 2^-16 mm, slopes of 2^-30. CPU twin:
// src/fixed.rs.
// Needs: types, limbs; of the kernel params.

const PLACE_BITS: i32 = 16;
const SLOPE_BITS: i32 = 30;

// |ty x - tx y| < 3 sqrt(tx^2 + ty^2), squared.
fn is_close(x: f32, y: f32, tx: f32, ty: f32) -> bool {
    let slope_x = magnitude(tx, SLOPE_BITS);
    let slope_y = magnitude(ty, SLOPE_BITS);
    let first = product64(slope_y, magnitude(x, PLACE_BITS));
    let second = product64(slope_x, magnitude(y, PLACE_BITS));
    let same = ((bitcast<u32>(x) ^ bitcast<u32>(y) ^ bitcast<u32>(tx) ^ bitcast<u32>(ty)) >> 31u) == 0u;
    var across = add64(first, second);
    if same {
        across = sub64(first, second);
        if less64(first, second) {
            across = sub64(second, first);
        }
    }
    if across.y >= (1u << 18u) {
        return false;
    }
    // Four words of the square, and of nine times the squared slopes 32 bits higher.
    let low = product64(across.x, across.x);
    let middle = product64(across.x, 2u * across.y);
    let high = product64(across.y, across.y);
    let upper = add64(middle, vec2<u32>(low.y, 0u));
    let top = add64(high, vec2<u32>(upper.y, 0u));
    let squared = add64(product64(slope_x, slope_x), product64(slope_y, slope_y));
    let nine_low = add64(shift64(vec2<u32>(squared.x, 0u), 3u), vec2<u32>(squared.x, 0u));
    let nine_high = add64(add64(shift64(vec2<u32>(squared.y, 0u), 3u), vec2<u32>(squared.y, 0u)), vec2<u32>(nine_low.y, 0u));
    if any(top != nine_high) {
        return less64(top, nine_high);
    }
    return upper.x < nine_low.x;
}

// sqrt(x^2 + y^2) < 3, squared.
fn is_near(x: f32, y: f32) -> bool {
    let a = magnitude(x, PLACE_BITS);
    let b = magnitude(y, PLACE_BITS);
    return add64(product64(a, a), product64(b, b)).y < 9u;
}


// The bin of a pseudorapidity, of bins below -4, -3, -2, 2, 3, 4, 5 and above 5; NONE at exactly 5.
fn eta_bin(tx: f32, ty: f32, backward: bool) -> u32 {
    let slope_x = magnitude(tx, SLOPE_BITS);
    let slope_y = magnitude(ty, SLOPE_BITS);
    let squared = add64(product64(slope_x, slope_x), product64(slope_y, slope_y));
    if backward {
        if less64(squared, params.above[1].xy) {
            return 0u;
        }
        if less64(squared, params.above[0].zw) {
            return 1u;
        }
        return select(3u, 2u, less64(squared, params.above[0].xy));
    }
    if less64(params.below[0].xy, squared) {
        return 3u;
    }
    if less64(params.below[0].zw, squared) {
        return 4u;
    }
    if less64(params.below[1].xy, squared) {
        return 5u;
    }
    if less64(params.below[1].zw, squared) {
        return 6u;
    }
    return select(NONE, 7u, less64(squared, params.above[1].zw));
}
