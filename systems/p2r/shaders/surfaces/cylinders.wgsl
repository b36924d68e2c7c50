// The surfaces of hits: cylinders around the beam only. Swapped with surfaces/any.wgsl.
// Needs: types, real, propagate, update.

fn approach(p: State, charge: real, hit: Hit, radius: real) -> Propagated {
    return propagate(p, charge, radius);
}

fn measure(p: State, hit: Hit, radius: real) -> Measured {
    return measure_on_cylinder(p, hit, radius);
}
