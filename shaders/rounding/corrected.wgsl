// Quotients and square roots rounded as IEEE 754 says, but for one in some ten million, on a device that takes short cuts but
// has a fused multiply-add: with it, what a rough result is wrong by is known to all digits (P. Markstein, IBM J. Res. Dev. 34
// (1990) 111). A quotient by 0 is NaN. Swapped with rounding/native.wgsl.
// Needs: real.

fn quotient(a: real, b: real) -> real {
    let inverse = real(1.0) / b;
    let rough = a * inverse;
    return fma(fma(-b, rough, a), inverse, rough);
}

fn root(x: real) -> real {
    let rough = sqrt(x);
    let corrected = fma(fma(-rough, rough, x), real(0.5) / rough, rough);
    return select(corrected, rough, x == real(0.0));
}
