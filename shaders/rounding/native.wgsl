// Quotients and square roots as the device rounds them. Swapped with rounding/corrected.wgsl.
// Needs: real.

fn quotient(a: real, b: real) -> real {
    return a / b;
}

fn root(x: real) -> real {
    return sqrt(x);
}
