// Quotients and square roots: as the device rounds them, or CORRECTED: as IEEE 754 says, but for one in some ten million, on a
// device that takes short cuts but has a fused multiply-add: with it, what a rough result is wrong by is known to all digits
// (P. Markstein, IBM J. Res. Dev. 34 (1990) 111). A corrected quotient by 0 is NaN.
// Needs: real.

// 1: corrected.
override CORRECTED: u32 = 0;

fn quotient(a: real, b: real) -> real {
    if CORRECTED == 0u {
        return a / b;
    }
    let inverse = real(1.0) / b;
    let rough = a * inverse;
    return fma(fma(-b, rough, a), inverse, rough);
}

fn root(x: real) -> real {
    let rough = sqrt(x);
    if CORRECTED == 0u {
        return rough;
    }
    let corrected = fma(fma(-rough, rough, x), real(0.5) / rough, rough);
    return select(corrected, rough, x == real(0.0));
}
