//! Doublets and triplets of hits.

use super::hits::{PixelHit, PixelHits, turn};
use super::search::ReferenceTracklets;

/// Three hits of one track, from the beam outwards.
#[derive(Clone, Copy, Debug)]
pub(super) struct Triplet {
    /// Numbers in the event.
    pub(super) hits: [usize; 3],
    /// Of two degrees of freedom: z and curvature.
    pub(super) chi2: f64,
    /// Of the first and the last hit \[1/mm\].
    pub(super) kappa: f64,
}

/// A middle hit with an inner one.
struct Doublet<'a> {
    a: &'a PixelHit,
    kappa: f64,
    cot: f64,
}

impl<'a> Doublet<'a> {
    fn new(a: &'a PixelHit, b: &PixelHit) -> Self {
        let step = b.rho - a.rho;
        Self { a, kappa: 2.0 * turn(a.phi, b.phi) / step, cot: (b.z - a.z) / step }
    }
}

/// The least distance in rho of two hits of a track \[mm\].
const MIN_STEP_MM: f64 = 3.0;
/// The largest chi2 of a triplet, of two degrees of freedom.
const MAX_CHI2: f64 = 9.0;

impl ReferenceTracklets {
    /// Returns the triplets, ordered by the numbers of their hits, and the number of doublets.
    pub(super) fn find_triplets(&self, hits: &PixelHits) -> (Vec<Triplet>, usize) {
        let (mut triplets, mut count) = (Vec::new(), 0);
        for layer in 0..hits.layers() as u32 {
            let (inner, outer) = (self.graph.inner(layer), self.graph.outer(layer));
            for b in hits.of_layer(layer) {
                let doublets: Vec<_> = inner.iter().flat_map(|&inner| self.doublets(hits, inner, b)).collect();
                count += doublets.len();
                for doublet in &doublets {
                    let of_layer = |&outer| self.triplets(hits, doublet, b, outer);
                    triplets.extend(outer.iter().flat_map(of_layer));
                }
            }
        }
        triplets.sort_by_key(|triplet| triplet.hits);
        (triplets, count)
    }

    /// The doublets of a hit with hits of an inner layer.
    fn doublets<'a>(&self, hits: &'a PixelHits, inner: u32, b: &PixelHit) -> Vec<Doublet<'a>> {
        let [innermost, _] = hits.rho_range(inner);
        let near = hits.around(inner, b.phi, self.doublet_reach(innermost.min(b.rho), b.rho));
        near.filter(|a| self.is_doublet(a, b)).map(|a| Doublet::new(a, b)).collect()
    }

    /// The largest angle between two hits of a track: the bend of the softest track, an impact
    /// parameter of 0.15 mm, and scattering \[rad\].
    fn doublet_reach(&self, inner_rho: f64, outer_rho: f64) -> f64 {
        0.55 * self.max_kappa() * (outer_rho - inner_rho) + 0.15 * (1.0 / inner_rho - 1.0 / outer_rho) + 0.002
    }

    /// Whether a track may pass both hits, one after the other.
    fn is_doublet(&self, inner: &PixelHit, outer: &PixelHit) -> bool {
        let step = outer.rho - inner.rho;
        if step < MIN_STEP_MM {
            return false;
        }
        let cot = Doublet::new(inner, outer).cot;
        turn(inner.phi, outer.phi).abs() <= self.doublet_reach(inner.rho, outer.rho)
            && self.is_in_range(outer.z - cot * outer.rho, 0.5 + 0.1 * cot.abs())
    }

    fn is_in_range(&self, z0: f64, tolerance: f64) -> bool {
        self.z_ranges.iter().any(|[low, high]| low - tolerance <= z0 && z0 <= high + tolerance)
    }

    /// The triplets of a doublet with hits of an outer layer that make doublets with the middle
    /// hit.
    fn triplets(&self, hits: &PixelHits, doublet: &Doublet<'_>, b: &PixelHit, outer: u32) -> Vec<Triplet> {
        let &Doublet { a, kappa, cot } = doublet;
        let theta = self.scattering(kappa, cot, b);
        let in_bend = theta * (1.0 + cot * cot).sqrt();
        let d0 = self.config.beam_width_mm.hypot(a.rho * in_bend);
        // Of the curvature, from hits and d0.
        let kappa_error = 4.0 * b.resolution / (a.rho * (b.rho - a.rho)) + 2.0 * d0 / (a.rho * b.rho);
        let tolerance = |rho: f64| {
            let step = rho - b.rho;
            3.5 * (kappa_error * 0.5 * step + in_bend * step / rho) + 0.0005
        };
        let [_, outermost] = hits.rho_range(outer);
        let outermost = outermost.max(b.rho);
        let most = 0.5 * kappa.abs() * (outermost - b.rho) + tolerance(outermost);
        let triplet = |c: &PixelHit| {
            let apart = turn(b.phi, c.phi) - 0.5 * kappa * (c.rho - b.rho);
            let may_be = self.is_doublet(b, c) && apart.abs() <= tolerance(c.rho);
            if may_be { self.triplet(a, b, c, cot) } else { None }
        };
        hits.around(outer, b.phi, most).filter_map(triplet).collect()
    }

    fn triplet(&self, a: &PixelHit, b: &PixelHit, c: &PixelHit, cot: f64) -> Option<Triplet> {
        let kappa = 2.0 * turn(a.phi, c.phi) / (c.rho - a.rho);
        if kappa.abs() > self.max_kappa() {
            return None;
        }
        let theta = self.scattering(kappa, cot, b);
        let [s_a, s_b, s_c] = [a, b, c].map(|hit| arc(hit.rho, kappa));
        let (step, ratio) = (s_c - s_b, (s_c - s_b) / (s_b - s_a));
        let dz = c.z - b.z - (b.z - a.z) * ratio;
        let [e_a, e_b, e_c] = [a, b, c].map(|hit| hit.z_error(cot));
        let kink = theta * (1.0 + cot * cot) * step;
        let z_error2 = e_c.powi(2) + (e_b * (1.0 + ratio)).powi(2) + (e_a * ratio).powi(2) + kink.powi(2);
        let dkappa = 2.0 * turn(b.phi, c.phi) / (c.rho - b.rho) - kappa;
        let kappa_error2 = self.kappa_error2(a, b, c, theta * (1.0 + cot * cot).sqrt());
        let chi2 = dz * dz / z_error2 + dkappa * dkappa / kappa_error2;
        let z0 = a.z - (c.z - a.z) / (s_c - s_a) * s_a;
        let keeps = chi2 <= MAX_CHI2 && self.is_in_range(z0, 0.5 * cot.abs().max(1.0));
        keeps.then_some(Triplet { hits: [a.index, b.index, c.index], chi2, kappa })
    }

    /// The variance of the curvature of b and c less that of a and c: from d0, which is the beam's
    /// width and the scattering at `a`, from the kink at `b`, and from the hits.
    fn kappa_error2(&self, a: &PixelHit, b: &PixelHit, c: &PixelHit, theta: f64) -> f64 {
        let (ac, bc) = (c.rho - a.rho, c.rho - b.rho);
        let d0 = self.config.beam_width_mm.hypot(a.rho * theta);
        let from_d0 = 2.0 * d0 * (1.0 / (a.rho * c.rho) - 1.0 / (b.rho * c.rho));
        let from_kink = 2.0 * theta / c.rho;
        let from_hits = (c.resolution / c.rho * (1.0 / bc - 1.0 / ac)).powi(2)
            + (b.resolution / (b.rho * bc)).powi(2)
            + (a.resolution / (a.rho * ac)).powi(2);
        from_d0.powi(2) + from_kink.powi(2) + 4.0 * from_hits
    }
}

/// The length of a track's way to rho, in the transverse plane.
pub(super) fn arc(rho: f64, kappa: f64) -> f64 {
    rho * (1.0 + (kappa * rho).powi(2) / 24.0)
}
