//! Quadrature on the reference prism.

/// Nodes of a prism: 2 * vertex of the triangle + 1 at the top.
pub(crate) const NODES: usize = 6;
/// Points of quadrature: 4 * which of two across + 2 * which of two along + which of two upwards.
pub(crate) const POINTS: usize = 8;

/// The functions of the reference prism at the points of quadrature.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Tables {
    /// Sum to the prism's volume, 1/2.
    pub(crate) weights: [f64; POINTS],
    pub(crate) values: [[f64; NODES]; POINTS],
    /// Along the triangle's two axes, and upwards.
    pub(crate) derivatives: [[[f64; NODES]; 3]; POINTS],
}

impl Tables {
    /// Gauss-Legendre upwards; Gauss-Jacobi and Gauss-Legendre on the triangle, a square with one
    /// side shrunk to a point. Exact for polynomials of degree 2 in the plane times those of degree
    /// 3 upwards: all products of these functions.
    pub(crate) fn new() -> Self {
        let half = 1.0 / (2.0 * 3.0_f64.sqrt());
        let legendre = [0.5 - half, 0.5 + half];
        let root = 6.0_f64.sqrt();
        // Of the integral of (1 - t) f(t) from 0 to 1.
        let jacobi = [((4.0 - root) / 10.0, (9.0 + root) / 36.0), ((4.0 + root) / 10.0, (9.0 - root) / 36.0)];
        let mut tables =
            Self { weights: [0.0; POINTS], values: [[0.0; NODES]; POINTS], derivatives: [[[0.0; NODES]; 3]; POINTS] };
        for point in 0..POINTS {
            let across = legendre[point / 4];
            let (eta, weight) = jacobi[point / 2 % 2];
            let zeta = legendre[point % 2];
            let xi = (1.0 - eta) * across;
            tables.weights[point] = weight / 4.0;
            let linear = [1.0 - xi - eta, xi, eta];
            let along = [[-1.0, 1.0, 0.0], [-1.0, 0.0, 1.0]];
            for vertex in 0..3 {
                for top in 0..2 {
                    let node = 2 * vertex + top;
                    let (upwards, sign) = if top == 1 { (zeta, 1.0) } else { (1.0 - zeta, -1.0) };
                    tables.values[point][node] = linear[vertex] * upwards;
                    tables.derivatives[point][0][node] = along[0][vertex] * upwards;
                    tables.derivatives[point][1][node] = along[1][vertex] * upwards;
                    tables.derivatives[point][2][node] = sign * linear[vertex];
                }
            }
        }
        tables
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_the_reports() {
        let tables = Tables::new();
        let close = |found: f64, wanted: f64| assert!((found - wanted).abs() < 1e-15, "{found}, not {wanted}");
        for point in 0..POINTS {
            close(tables.weights[point], [0.0795103454359941, 0.0454896545640056][point / 2 % 2]);
            close(tables.values[point].iter().sum(), 1.0);
            for derivatives in &tables.derivatives[point] {
                close(derivatives.iter().sum(), 0.0);
            }
        }
        close(tables.weights.iter().sum(), 0.5);
        // The first point: 0.2113248654051871 and 0.1550510257216822.
        let (g, eta) = (0.2113248654051871, 0.1550510257216822);
        let xi = (1.0 - eta) * g;
        close(tables.values[0][0], (1.0 - xi - eta) * (1.0 - g));
        close(tables.values[0][3], xi * g);
        close(tables.values[6][4], 0.6449489742783178 * (1.0 - g));
        close(tables.derivatives[1][1][0], -g);
        close(tables.derivatives[1][2][4], -eta);
    }

    /// All products of two functions and of their derivatives have degree 2 in the plane and 2
    /// upwards.
    #[test]
    fn quadrature_is_exact() {
        let tables = Tables::new();
        for (a, b, c) in (0..=2).flat_map(|a| (0..=2 - a).flat_map(move |b| (0..=3).map(move |c| (a, b, c)))) {
            let sum: f64 = (0..POINTS)
                .map(|point| {
                    let values = &tables.values[point];
                    let (xi, eta) = (values[2] + values[3], values[4] + values[5]);
                    let zeta = values[1] + values[3] + values[5];
                    tables.weights[point] * xi.powi(a) * eta.powi(b) * zeta.powi(c)
                })
                .sum();
            let factorial = |n: i32| (1..=n).product::<i32>();
            let wanted = f64::from(factorial(a) * factorial(b)) / f64::from(factorial(a + b + 2)) / f64::from(c + 1);
            assert!((sum - wanted).abs() < 1e-15, "{a} {b} {c}: {sum}, not {wanted}");
        }
    }
}
