//! Columns of vertices and tracklets in files of answers.

use std::io::{self, Write};

use crate::truth_vertex::TrueZ;
use zfinder::{Config, Results, RoiId, RoiResult, Tracklet, Vertex};

/// The columns that a file has for a vertex. The default are those of a vertex of a histogram,
/// [`CSV_HEADER`](crate::CSV_HEADER). Then follow those of a vertex that tracklets were fitted to:
/// number of tracklets, x, y, the covariance of x, y and z, and the sum of squared transverse
/// momenta. With truth, `true_z_mm` and `delta_mm` follow.
#[derive(Clone, Copy, Debug, Default)]
pub struct VertexColumns<'a> {
    pub(crate) is_fitted: bool,
    pub(crate) truth: Option<&'a dyn TrueZ>,
}

impl<'a> VertexColumns<'a> {
    /// Returns the columns that answers with this configuration have.
    #[must_use]
    pub fn of_config(config: &Config) -> Self {
        Self { is_fitted: config.takes_tracklets(), truth: None }
    }

    /// Returns the columns that these answers need.
    #[must_use]
    pub fn of_results(results: &Results) -> Self {
        Self { is_fitted: results.vertices().x_mm().iter().any(|x| !x.is_nan()), truth: None }
    }

    /// Adds z of the true hard scatter, and the distance of the vertex from it.
    #[must_use]
    pub fn with_truth(self, truth: Option<&'a dyn TrueZ>) -> Self {
        Self { truth, ..self }
    }

    /// Returns z of the true hard scatter of an RoI \[mm\], if it is known.
    pub(crate) fn true_z_mm(self, id: RoiId) -> Option<f64> {
        self.truth?.true_z_mm(id)
    }

    /// Returns the header of CSV.
    #[must_use]
    pub fn csv_header(self) -> String {
        let mut header = crate::CSV_HEADER.to_owned();
        let fitted = [COUNT].into_iter().chain(FITTED.iter().map(|(name, _)| *name)).filter(|_| self.is_fitted);
        let true_z = TRUE_Z.into_iter().filter(|_| self.truth.is_some());
        fitted.chain(true_z).for_each(|name| header.extend([",", name]));
        header
    }
}

/// z of the true hard scatter, and z of the vertex minus it.
pub(crate) const TRUE_Z: [&str; 2] = ["true_z_mm", "delta_mm"];

/// The number of tracklets.
pub(crate) const COUNT: &str = "tracklet_count";

/// Reads a number of a vertex, if it is known.
type NumberOf = fn(&Vertex) -> Option<f64>;

/// Columns of a vertex that tracklets were fitted to, behind [`COUNT`].
pub(crate) const FITTED: [(&str, NumberOf); 9] = [
    ("x_mm", |vertex| vertex.x_mm),
    ("y_mm", |vertex| vertex.y_mm),
    ("cov_xx_mm2", |vertex| vertex.covariance_mm2.map(|of| of[0])),
    ("cov_xy_mm2", |vertex| vertex.covariance_mm2.map(|of| of[1])),
    ("cov_xz_mm2", |vertex| vertex.covariance_mm2.map(|of| of[2])),
    ("cov_yy_mm2", |vertex| vertex.covariance_mm2.map(|of| of[3])),
    ("cov_yz_mm2", |vertex| vertex.covariance_mm2.map(|of| of[4])),
    ("cov_zz_mm2", |vertex| vertex.covariance_mm2.map(|of| of[5])),
    ("sum_pt2_gev2", |vertex| vertex.x_mm.map(|_| vertex.sum_pt2_gev2)),
];

/// Names of [`Tracklet::numbers`].
pub(crate) const TRACKLET_NUMBERS: [&str; 16] = [
    "z0_mm",
    "cot_theta",
    "phi0",
    "curvature",
    "d0_mm",
    "pt_gev",
    "chi2",
    "cov_z0_z0",
    "cov_z0_cot",
    "cov_cot_cot",
    "cov_phi0_phi0",
    "cov_phi0_curvature",
    "cov_phi0_d0",
    "cov_curvature_curvature",
    "cov_curvature_d0",
    "cov_d0_d0",
];

/// Columns of the spacepoints of a tracklet.
pub(crate) const HITS: [&str; Tracklet::MOST_HITS] = ["hit_0", "hit_1", "hit_2", "hit_3", "hit_4", "hit_5"];

/// Returns the header of the rows of [`write_tracklets_csv`].
#[must_use]
pub fn tracklet_csv_header() -> String {
    let names = ["event_id", "roi_id", "tracklet", "vertex", "hits"].into_iter().chain(HITS).chain(TRACKLET_NUMBERS);
    names.collect::<Vec<_>>().join(",")
}

/// Writes a row for each tracklet of an RoI: its number, the number of its vertex (empty without
/// one), the number of its spacepoints, their places in the RoI, and [`Tracklet::numbers`]. Places
/// are counted from 0 in the order of the input. Numbers have the shortest form that reads back to
/// the same bits.
///
/// # Errors
/// Errors of `out`.
pub fn write_tracklets_csv(out: &mut impl Write, result: RoiResult<'_>) -> io::Result<()> {
    let RoiId { event_id, roi_id } = result.id();
    for (number, tracklet) in result.tracklets().iter().enumerate() {
        write!(out, "{event_id},{roi_id},{number},")?;
        if let Some(vertex) = tracklet.vertex() {
            write!(out, "{vertex}")?;
        }
        write!(out, ",{}", tracklet.hits().len())?;
        for place in 0..Tracklet::MOST_HITS {
            match tracklet.hits().get(place) {
                Some(hit) => write!(out, ",{hit}")?,
                None => write!(out, ",")?,
            }
        }
        for number in tracklet.numbers() {
            write!(out, ",{number}")?;
        }
        writeln!(out)?;
    }
    Ok(())
}
