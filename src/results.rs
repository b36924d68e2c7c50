//! Answers to RoIs, as columns.

use std::fmt;
use std::ops::Range;

use crate::config::words::words;
use crate::spacepoint::RoiId;
use crate::tracklet::Tracklet;
use crate::vertex::Vertex;

words! {
    /// How an RoI's search ended. Never a silent wrong answer.
    ///
    /// The position of a status in [`Status::ALL`] is its number in Python, C and the server.
    #[derive(bytemuck::NoUninit)]
    #[repr(u8)]
    #[non_exhaustive]
    pub enum Status for "status" = Empty {
        /// At least one vertex was found.
        Ok = "ok",
        /// The RoI holds no spacepoint inside its window.
        Empty = "empty",
        /// There are spacepoints, but no window of three bins holds a peak.
        NoPeak = "no_peak",
        /// A spacepoint is invalid. No vertex is given.
        ///
        /// It is not finite, has a rho outside 1e-6 to 1e9 mm (also after the beam spot was
        /// subtracted) or a |z| beyond 1e9 mm, or lies on a layer that the detector does not have.
        BadSpacepoint = "bad_spacepoint",
        /// The work, the counts or the histograms exceed what the engine can number or hold.
        ///
        /// No vertex is given. Other slices, another adapter or the CPU engine may do.
        CapacityExceeded = "capacity_exceeded",
    }
}

impl Status {
    /// Returns its position in [`Status::ALL`].
    pub const fn code(self) -> u8 {
        self as u8
    }
}

words! {
    /// Reproducibility of a finder's answers: runs with the same bits. (NVIDIA's CCCL has similar
    /// levels.)
    #[derive(PartialOrd, Ord)]
    #[non_exhaustive]
    pub enum Reproducibility for "reproducibility" {
        /// Another run may differ in the last digits of z: sums depend on the order of entries.
        NotGuaranteed = "not-guaranteed",
        /// Every run of this engine, on this machine, has the same bits.
        RunToRun = "run-to-run",
        /// Every GPU and the CPU engine have the same bits, in any batch and on any number of
        /// threads.
        ///
        /// Answers that an engine refused ([`Status::CapacityExceeded`]) are excepted.
        CpuToGpu = "cpu-to-gpu",
    }
}

/// The answer for one RoI, without its vertices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RoiSummary {
    /// Identity of the RoI.
    pub id: RoiId,
    /// How the search ended.
    pub status: Status,
    /// Number of spacepoints that took part.
    pub spacepoints: u64,
    /// Number of spacepoints outside the phi window, or beyond
    /// [`Config::max_layer`](crate::Config::max_layer), which took no part.
    pub outside_window: u64,
    /// Whether this is the answer of the second search, made where the first one finds no peak
    /// ([`Config::fallback`](crate::Config::fallback)).
    pub is_fallback: bool,
}

impl RoiSummary {
    /// Makes the summary of an RoI without spacepoints.
    pub fn new(id: RoiId, status: Status) -> Self {
        Self { id, status, ..Self::default() }
    }
}

/// The answers to the RoIs of a batch, as columns.
///
/// There is a column for each property of an RoI, a column for each property of a vertex, and the
/// offsets of the RoIs' vertices: RoI i has the vertices from `offsets[i]` up to `offsets[i + 1]`.
/// [`Results::roi`] gives the answer for one RoI as a view into the columns.
///
/// [`ZFinder::find_batch_into`](crate::ZFinder::find_batch_into) reuses the memory of earlier
/// results.
///
/// ```
/// use zfinder::{Detector, Engine, RoiBatch, RoiDescriptor, Spacepoint, Status, ZFinder};
/// // One track from z = 12 mm, and an RoI without spacepoints.
/// let track = [(0, 50.5), (1, 88.5), (2, 122.5)];
/// let track = track.map(|(layer, rho)| Spacepoint { rho, phi: 0.1, z: 12.0 + 0.5 * rho, layer });
/// let mut batch = RoiBatch::new();
/// batch.push(RoiDescriptor::default(), track);
/// batch.push(RoiDescriptor::default(), []);
/// let finder = ZFinder::builder(Detector::atlas2010()).engine(Engine::Cpu).build()?;
/// let results = finder.find_batch(&batch)?;
/// // By columns.
/// assert_eq!(results.statuses(), [Status::Ok, Status::Empty]);
/// assert_eq!(results.offsets(), [0, 1, 1]);
/// assert!((results.vertices().z_mm()[0] - 12.0).abs() < 0.01);
/// // By RoI.
/// for roi in &results {
///     println!("{}: {} vertices", roi.status(), roi.vertices().len());
/// }
/// # Ok::<(), zfinder::Error>(())
/// ```
#[derive(Clone)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(from = "Vec<serde_form::RoiRecord>", into = "Vec<serde_form::RoiRecord>"))]
pub struct Results {
    event_id: Vec<u64>,
    roi_id: Vec<u64>,
    status: Vec<Status>,
    spacepoints: Vec<u64>,
    outside_window: Vec<u64>,
    is_fallback: Vec<bool>,
    /// One more than RoIs: 0, and the end of the vertices of each RoI.
    offsets: Vec<usize>,
    vertices: VertexColumns,
    /// The same for tracklets.
    tracklet_offsets: Vec<usize>,
    tracklets: Vec<Tracklet>,
}

/// Properties of vertices. A number of NaN is unknown.
#[derive(Clone, Debug, Default)]
struct VertexColumns {
    z_mm: Vec<f64>,
    z_error_mm: Vec<f64>,
    weight: Vec<f64>,
    pairs: Vec<u64>,
    rank: Vec<f64>,
    significance: Vec<f64>,
    background: Vec<f64>,
    x_mm: Vec<f64>,
    y_mm: Vec<f64>,
    covariance_mm2: Vec<[f64; 6]>,
    tracklet_count: Vec<u64>,
    sum_pt2_gev2: Vec<f64>,
}

impl VertexColumns {
    fn push(&mut self, vertex: Vertex) {
        let Vertex { z_mm, z_error_mm, weight, pairs, rank, significance, background, .. } = vertex;
        let Vertex { x_mm, y_mm, covariance_mm2, tracklet_count, sum_pt2_gev2, .. } = vertex;
        self.z_mm.push(z_mm);
        self.z_error_mm.push(z_error_mm);
        self.weight.push(weight);
        self.pairs.push(pairs);
        self.rank.push(rank);
        self.significance.push(significance.unwrap_or(f64::NAN));
        self.background.push(background.unwrap_or(f64::NAN));
        self.x_mm.push(x_mm.unwrap_or(f64::NAN));
        self.y_mm.push(y_mm.unwrap_or(f64::NAN));
        self.covariance_mm2.push(covariance_mm2.unwrap_or([f64::NAN; 6]));
        self.tracklet_count.push(tracklet_count);
        self.sum_pt2_gev2.push(sum_pt2_gev2);
    }

    fn clear(&mut self) {
        self.numbers().into_iter().for_each(Vec::clear);
        self.covariance_mm2.clear();
        self.pairs.clear();
        self.tracklet_count.clear();
    }

    #[cfg(feature = "gpu")]
    fn reserve(&mut self, count: usize) {
        self.numbers().into_iter().for_each(|column| column.reserve(count));
        self.covariance_mm2.reserve(count);
        self.pairs.reserve(count);
        self.tracklet_count.reserve(count);
    }

    /// Columns of one real number.
    fn numbers(&mut self) -> [&mut Vec<f64>; 9] {
        let Self { z_mm, z_error_mm, weight, rank, significance, background, x_mm, y_mm, sum_pt2_gev2, .. } = self;
        [z_mm, z_error_mm, weight, rank, significance, background, x_mm, y_mm, sum_pt2_gev2]
    }

    fn append(&mut self, other: &Self, range: Range<usize>) {
        fn append<T: Copy>(own: &mut Vec<T>, other: &[T], range: &Range<usize>) {
            own.extend_from_slice(&other[range.clone()]);
        }
        append(&mut self.z_mm, &other.z_mm, &range);
        append(&mut self.z_error_mm, &other.z_error_mm, &range);
        append(&mut self.weight, &other.weight, &range);
        append(&mut self.pairs, &other.pairs, &range);
        append(&mut self.rank, &other.rank, &range);
        append(&mut self.significance, &other.significance, &range);
        append(&mut self.background, &other.background, &range);
        append(&mut self.x_mm, &other.x_mm, &range);
        append(&mut self.y_mm, &other.y_mm, &range);
        append(&mut self.covariance_mm2, &other.covariance_mm2, &range);
        append(&mut self.tracklet_count, &other.tracklet_count, &range);
        append(&mut self.sum_pt2_gev2, &other.sum_pt2_gev2, &range);
    }
}

impl Default for Results {
    fn default() -> Self {
        Self {
            event_id: Vec::new(),
            roi_id: Vec::new(),
            status: Vec::new(),
            spacepoints: Vec::new(),
            outside_window: Vec::new(),
            is_fallback: Vec::new(),
            offsets: vec![0],
            vertices: VertexColumns::default(),
            tracklet_offsets: vec![0],
            tracklets: Vec::new(),
        }
    }
}

impl Results {
    /// Makes results of no RoI.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends the answer for an RoI.
    ///
    /// ```
    /// use zfinder::results::RoiSummary;
    /// use zfinder::{Results, RoiId, Status, Vertex};
    /// let mut results = Results::new();
    /// let id = RoiId { event_id: 7, roi_id: 0 };
    /// results.push(RoiSummary::new(id, Status::Ok), [Vertex::at(12.5)]);
    /// assert_eq!(results.roi(0).vertices().z_mm(), [12.5]);
    /// ```
    pub fn push(&mut self, roi: RoiSummary, vertices: impl IntoIterator<Item = Vertex>) {
        self.event_id.push(roi.id.event_id);
        self.roi_id.push(roi.id.roi_id);
        self.status.push(roi.status);
        self.spacepoints.push(roi.spacepoints);
        self.outside_window.push(roi.outside_window);
        self.is_fallback.push(roi.is_fallback);
        vertices.into_iter().for_each(|vertex| self.vertices.push(vertex));
        self.offsets.push(self.vertices.z_mm.len());
        self.tracklet_offsets.push(self.tracklets.len());
    }

    /// Appends a vertex to the last RoI. Does nothing without an RoI.
    pub fn push_vertex(&mut self, vertex: Vertex) {
        if let Some(end) = self.offsets[1..].last_mut() {
            *end += 1;
            self.vertices.push(vertex);
        }
    }

    /// Appends tracklets to the last RoI. Does nothing without an RoI.
    pub fn push_tracklets(&mut self, tracklets: impl IntoIterator<Item = Tracklet>) {
        if let Some(end) = self.tracklet_offsets[1..].last_mut() {
            self.tracklets.extend(tracklets);
            *end = self.tracklets.len();
        }
    }

    /// Appends consecutive RoIs of other results.
    ///
    /// # Panics
    /// When the range ends after the last RoI, as slices do.
    pub fn append(&mut self, other: &Self, rois: Range<usize>) {
        self.event_id.extend_from_slice(&other.event_id[rois.clone()]);
        self.roi_id.extend_from_slice(&other.roi_id[rois.clone()]);
        self.status.extend_from_slice(&other.status[rois.clone()]);
        self.spacepoints.extend_from_slice(&other.spacepoints[rois.clone()]);
        self.outside_window.extend_from_slice(&other.outside_window[rois.clone()]);
        self.is_fallback.extend_from_slice(&other.is_fallback[rois.clone()]);
        let vertices = append_offsets(&mut self.offsets, &other.offsets[rois.start..=rois.end]);
        self.vertices.append(&other.vertices, vertices);
        let tracklets = append_offsets(&mut self.tracklet_offsets, &other.tracklet_offsets[rois.start..=rois.end]);
        self.tracklets.extend_from_slice(&other.tracklets[tracklets]);
    }

    /// Makes room for more RoIs and vertices.
    #[cfg(feature = "gpu")]
    pub(crate) fn reserve(&mut self, rois: usize, vertices: usize) {
        self.event_id.reserve(rois);
        self.roi_id.reserve(rois);
        self.status.reserve(rois);
        self.spacepoints.reserve(rois);
        self.outside_window.reserve(rois);
        self.is_fallback.reserve(rois);
        self.offsets.reserve(rois);
        self.tracklet_offsets.reserve(rois);
        self.vertices.reserve(vertices);
    }

    /// Sets which search answered the RoIs.
    pub(crate) fn set_fallback(&mut self) {
        self.is_fallback.fill(true);
    }

    /// Removes all RoIs and keeps the memory.
    pub fn clear(&mut self) {
        self.event_id.clear();
        self.roi_id.clear();
        self.status.clear();
        self.spacepoints.clear();
        self.outside_window.clear();
        self.is_fallback.clear();
        self.offsets.truncate(1);
        self.vertices.clear();
        self.tracklet_offsets.truncate(1);
        self.tracklets.clear();
    }

    /// Returns the number of RoIs.
    pub fn len(&self) -> usize {
        self.status.len()
    }

    /// Returns whether there is no RoI.
    pub fn is_empty(&self) -> bool {
        self.status.is_empty()
    }

    /// Returns the answer for the RoI at `index` of the batch.
    ///
    /// # Panics
    /// When `index >= len()`, as slices do.
    pub fn roi(&self, index: usize) -> RoiResult<'_> {
        assert!(index < self.len(), "RoI {index} of results of {} RoIs", self.len());
        RoiResult { results: self, index }
    }

    /// Returns the answers in the order of the batch.
    pub fn iter(&self) -> Iter<'_> {
        Iter { results: self, rois: 0..self.len() }
    }

    /// Returns the event number of each RoI.
    pub fn event_ids(&self) -> &[u64] {
        &self.event_id
    }

    /// Returns the number of each RoI within its event.
    pub fn roi_ids(&self) -> &[u64] {
        &self.roi_id
    }

    /// Returns how the search of each RoI ended.
    pub fn statuses(&self) -> &[Status] {
        &self.status
    }

    /// Returns [`Status::code`] of each RoI.
    pub fn status_codes(&self) -> &[u8] {
        bytemuck::cast_slice(&self.status)
    }

    /// Returns the number of spacepoints of each RoI that took part.
    pub fn spacepoint_counts(&self) -> &[u64] {
        &self.spacepoints
    }

    /// Returns the number of spacepoints of each RoI that took no part
    /// ([`RoiSummary::outside_window`]).
    pub fn outside_window(&self) -> &[u64] {
        &self.outside_window
    }

    /// Returns whether each RoI was answered by the second search ([`RoiSummary::is_fallback`]).
    pub fn is_fallback(&self) -> &[bool] {
        &self.is_fallback
    }

    /// Returns the offsets of the RoIs' vertices in [`Results::vertices`], one more than RoIs. The
    /// first is 0.
    pub fn offsets(&self) -> &[usize] {
        &self.offsets
    }

    /// Returns the vertices of all RoIs, one RoI after the other.
    pub fn vertices(&self) -> Vertices<'_> {
        Vertices { columns: &self.vertices, first: 0, end: self.vertices.z_mm.len() }
    }

    /// Returns the offsets of the RoIs' tracklets in [`Results::tracklets`], one more than RoIs.
    /// The first is 0.
    pub fn tracklet_offsets(&self) -> &[usize] {
        &self.tracklet_offsets
    }

    /// Returns the tracklets of all RoIs, one RoI after the other.
    pub fn tracklets(&self) -> &[Tracklet] {
        &self.tracklets
    }
}

/// Appends the offsets of other RoIs, and returns what they mark there.
fn append_offsets(offsets: &mut Vec<usize>, other: &[usize]) -> Range<usize> {
    let (first, end) = (other[0], offsets[offsets.len() - 1]);
    offsets.extend(other[1..].iter().map(|offset| end + (offset - first)));
    first..other[other.len() - 1]
}

/// The answer for one RoI: a view into [`Results`].
#[derive(Clone, Copy)]
pub struct RoiResult<'a> {
    results: &'a Results,
    index: usize,
}

impl<'a> RoiResult<'a> {
    /// Returns the identity of the RoI.
    pub fn id(self) -> RoiId {
        RoiId { event_id: self.results.event_id[self.index], roi_id: self.results.roi_id[self.index] }
    }

    /// Returns how the search ended.
    pub fn status(self) -> Status {
        self.results.status[self.index]
    }

    /// Returns all properties but the vertices.
    pub fn summary(self) -> RoiSummary {
        RoiSummary {
            id: self.id(),
            status: self.status(),
            spacepoints: self.results.spacepoints[self.index],
            outside_window: self.results.outside_window[self.index],
            is_fallback: self.results.is_fallback[self.index],
        }
    }

    /// Returns the vertices, highest peak first, or by rank where pairs weigh by pT
    /// ([`PtWeight::rank`](crate::config::PtWeight::rank)). Vertices with a significance of 0 or
    /// below follow all other vertices. There are at most [`Config::peaks`](crate::Config::peaks),
    /// unless [`Config::all_vertices`](crate::Config::all_vertices) is set.
    pub fn vertices(self) -> Vertices<'a> {
        let [first, end] = [self.results.offsets[self.index], self.results.offsets[self.index + 1]];
        Vertices { columns: &self.results.vertices, first, end }
    }

    /// Returns the tracklets, those with the most spacepoints first
    /// ([`Config::tracklets`](crate::Config::tracklets)).
    pub fn tracklets(self) -> &'a [Tracklet] {
        let [first, end] = [self.results.tracklet_offsets[self.index], self.results.tracklet_offsets[self.index + 1]];
        &self.results.tracklets[first..end]
    }
}

/// Vertices of an RoI or of all RoIs: a view into [`Results`].
///
/// Columns are slices; a vertex by itself is a [`Vertex`].
#[derive(Clone, Copy)]
pub struct Vertices<'a> {
    columns: &'a VertexColumns,
    first: usize,
    end: usize,
}

impl<'a> Vertices<'a> {
    /// Returns the number of vertices.
    pub fn len(self) -> usize {
        self.end - self.first
    }

    /// Returns whether there is no vertex.
    pub fn is_empty(self) -> bool {
        self.first == self.end
    }

    /// Returns the vertex at `index`.
    pub fn get(self, index: usize) -> Option<Vertex> {
        let known = |number: f64| (!number.is_nan()).then_some(number);
        (index < self.len()).then(|| Vertex {
            z_mm: self.z_mm()[index],
            z_error_mm: self.z_error_mm()[index],
            weight: self.weight()[index],
            pairs: self.pairs()[index],
            rank: self.rank()[index],
            significance: known(self.significance()[index]),
            background: known(self.background()[index]),
            x_mm: known(self.x_mm()[index]),
            y_mm: known(self.y_mm()[index]),
            covariance_mm2: Some(self.covariance_mm2()[index]).filter(|numbers| !numbers[0].is_nan()),
            tracklet_count: self.tracklet_count()[index],
            sum_pt2_gev2: self.sum_pt2_gev2()[index],
        })
    }

    /// Returns the first vertex.
    pub fn first(self) -> Option<Vertex> {
        self.get(0)
    }

    /// Returns the vertices one by one.
    pub fn iter(self) -> VertexIter<'a> {
        VertexIter { vertices: self, indices: 0..self.len() }
    }

    /// Returns the positions along the beam \[mm\] ([`Vertex::z_mm`]).
    pub fn z_mm(self) -> &'a [f64] {
        self.part(&self.columns.z_mm)
    }

    /// Returns the standard errors of the positions \[mm\] ([`Vertex::z_error_mm`]).
    pub fn z_error_mm(self) -> &'a [f64] {
        self.part(&self.columns.z_error_mm)
    }

    /// Returns the weights ([`Vertex::weight`]).
    pub fn weight(self) -> &'a [f64] {
        self.part(&self.columns.weight)
    }

    /// Returns the numbers of pairs ([`Vertex::pairs`]).
    pub fn pairs(self) -> &'a [u64] {
        self.part(&self.columns.pairs)
    }

    /// Returns the ranks ([`Vertex::rank`]).
    pub fn rank(self) -> &'a [f64] {
        self.part(&self.columns.rank)
    }

    /// Returns the significances ([`Vertex::significance`]); NaN where unknown.
    pub fn significance(self) -> &'a [f64] {
        self.part(&self.columns.significance)
    }

    /// Returns the backgrounds ([`Vertex::background`]); NaN where unknown.
    pub fn background(self) -> &'a [f64] {
        self.part(&self.columns.background)
    }

    /// Returns x \[mm\] ([`Vertex::x_mm`]); NaN where unknown.
    pub fn x_mm(self) -> &'a [f64] {
        self.part(&self.columns.x_mm)
    }

    /// Returns y \[mm\] ([`Vertex::y_mm`]); NaN where unknown.
    pub fn y_mm(self) -> &'a [f64] {
        self.part(&self.columns.y_mm)
    }

    /// Returns the covariances \[mm^2\] ([`Vertex::covariance_mm2`]); NaN where unknown.
    pub fn covariance_mm2(self) -> &'a [[f64; 6]] {
        self.part(&self.columns.covariance_mm2)
    }

    /// Returns the numbers of tracklets ([`Vertex::tracklet_count`]).
    pub fn tracklet_count(self) -> &'a [u64] {
        self.part(&self.columns.tracklet_count)
    }

    /// Returns the sums of squared momenta \[GeV^2\] ([`Vertex::sum_pt2_gev2`]).
    pub fn sum_pt2_gev2(self) -> &'a [f64] {
        self.part(&self.columns.sum_pt2_gev2)
    }

    fn part<T>(self, column: &'a [T]) -> &'a [T] {
        &column[self.first..self.end]
    }
}

/// The vertices of [`Vertices`], in order.
#[derive(Clone, Debug)]
pub struct VertexIter<'a> {
    vertices: Vertices<'a>,
    indices: Range<usize>,
}

impl Iterator for VertexIter<'_> {
    type Item = Vertex;

    fn next(&mut self) -> Option<Vertex> {
        self.vertices.get(self.indices.next()?)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.indices.size_hint()
    }
}

impl ExactSizeIterator for VertexIter<'_> {}

impl DoubleEndedIterator for VertexIter<'_> {
    fn next_back(&mut self) -> Option<Vertex> {
        self.vertices.get(self.indices.next_back()?)
    }
}

impl<'a> IntoIterator for Vertices<'a> {
    type Item = Vertex;
    type IntoIter = VertexIter<'a>;

    fn into_iter(self) -> VertexIter<'a> {
        self.iter()
    }
}

impl PartialEq for Vertices<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl fmt::Debug for Vertices<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl PartialEq for RoiResult<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.summary() == other.summary()
            && self.vertices() == other.vertices()
            && self.tracklets() == other.tracklets()
    }
}

impl fmt::Debug for RoiResult<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut roi = f.debug_struct("RoiResult");
        roi.field("roi", &self.summary()).field("vertices", &self.vertices());
        roi.field("tracklets", &self.tracklets()).finish()
    }
}

impl PartialEq for Results {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other)
    }
}

impl fmt::Debug for Results {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self).finish()
    }
}

/// The RoIs of [`Results`], in order.
#[derive(Clone, Debug)]
pub struct Iter<'a> {
    results: &'a Results,
    rois: Range<usize>,
}

impl<'a> Iterator for Iter<'a> {
    type Item = RoiResult<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        self.rois.next().map(|index| RoiResult { results: self.results, index })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.rois.size_hint()
    }
}

impl ExactSizeIterator for Iter<'_> {}

impl DoubleEndedIterator for Iter<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.rois.next_back().map(|index| RoiResult { results: self.results, index })
    }
}

impl<'a> IntoIterator for &'a Results {
    type Item = RoiResult<'a>;
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

/// Appends answers of other results.
impl<'a> Extend<RoiResult<'a>> for Results {
    fn extend<I: IntoIterator<Item = RoiResult<'a>>>(&mut self, rois: I) {
        for RoiResult { results, index } in rois {
            self.append(results, index..index + 1);
        }
    }
}

/// Collects answers of other results.
impl<'a> FromIterator<RoiResult<'a>> for Results {
    fn from_iter<I: IntoIterator<Item = RoiResult<'a>>>(rois: I) -> Self {
        let mut results = Self::new();
        results.extend(rois);
        results
    }
}

/// Results in files: a list of RoIs, each with the list of its vertices.
#[cfg(feature = "serde")]
mod serde_form {
    use super::{Results, RoiSummary, Status, Vertex};
    use crate::spacepoint::RoiId;
    use crate::tracklet::Tracklet;

    #[derive(serde::Serialize, serde::Deserialize)]
    pub(super) struct RoiRecord {
        id: RoiId,
        status: Status,
        spacepoints: u64,
        outside_window: u64,
        is_fallback: bool,
        vertices: Vec<Vertex>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tracklets: Vec<Tracklet>,
    }

    impl From<Results> for Vec<RoiRecord> {
        fn from(results: Results) -> Self {
            let record = |roi: super::RoiResult<'_>| {
                let RoiSummary { id, status, spacepoints, outside_window, is_fallback } = roi.summary();
                let (vertices, tracklets) = (roi.vertices().iter().collect(), roi.tracklets().to_vec());
                RoiRecord { id, status, spacepoints, outside_window, is_fallback, vertices, tracklets }
            };
            results.iter().map(record).collect()
        }
    }

    impl From<Vec<RoiRecord>> for Results {
        fn from(records: Vec<RoiRecord>) -> Self {
            let mut results = Self::new();
            for RoiRecord { id, status, spacepoints, outside_window, is_fallback, vertices, tracklets } in records {
                results.push(RoiSummary { id, status, spacepoints, outside_window, is_fallback }, vertices);
                results.push_tracklets(tracklets);
            }
            results
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vertex(z_mm: f64) -> Vertex {
        let background = (z_mm > 0.0).then_some(0.5);
        Vertex { z_mm, weight: 2.0 * z_mm, pairs: 3, background, ..Vertex::default() }
    }

    /// RoIs with 2, 0, 1 and 3 vertices.
    fn results() -> Results {
        let mut results = Results::new();
        for (roi_id, zs) in [&[1.0, -2.0][..], &[], &[3.0], &[4.0, 5.0, 6.0]].into_iter().enumerate() {
            let roi = RoiSummary {
                id: RoiId { event_id: 7, roi_id: roi_id as u64 },
                status: if zs.is_empty() { Status::NoPeak } else { Status::Ok },
                spacepoints: 10 + roi_id as u64,
                outside_window: 1,
                is_fallback: roi_id == 2,
            };
            results.push(roi, zs.iter().copied().map(vertex));
        }
        results
    }

    #[test]
    fn views_are_what_was_pushed() {
        let results = results();
        assert_eq!(results.offsets(), [0, 2, 2, 3, 6]);
        assert_eq!(results.vertices().z_mm(), [1.0, -2.0, 3.0, 4.0, 5.0, 6.0]);
        assert_eq!(results.status_codes(), [0, 2, 0, 0]);
        let roi = results.roi(3);
        assert_eq!((roi.id().roi_id, roi.status(), roi.summary().spacepoints), (3, Status::Ok, 13));
        assert_eq!(roi.vertices().iter().collect::<Vec<_>>(), [4.0, 5.0, 6.0].map(vertex));
        assert_eq!(roi.vertices().get(3), None);
        assert_eq!(results.roi(0).vertices().get(1), Some(vertex(-2.0)), "an unknown background stays unknown");
        assert!(results.vertices().background()[1].is_nan());
        assert!(results.roi(1).vertices().is_empty());
        assert_eq!(results.iter().rev().map(|roi| roi.id().roi_id).collect::<Vec<_>>(), [3, 2, 1, 0]);
    }

    #[test]
    fn parts_in_order_are_the_whole() {
        let whole = results();
        for cut in 0..=whole.len() {
            let mut joined = Results::new();
            joined.append(&whole, 0..cut);
            joined.append(&whole, cut..whole.len());
            assert_eq!(joined, whole);
            assert_eq!(joined.offsets(), whole.offsets());
        }
        let reversed: Results = whole.iter().rev().collect();
        assert_ne!(reversed, whole);
        assert_eq!(reversed.offsets(), [0, 3, 4, 4, 6]);
        assert!(reversed.iter().rev().eq(&whole));
    }

    #[test]
    fn a_cleared_one_is_empty_and_a_vertex_needs_an_roi() {
        let mut results = results();
        results.clear();
        assert_eq!(results, Results::new());
        results.push_vertex(vertex(1.0));
        assert_eq!((results.vertices().len(), results.offsets()), (0, &[0][..]));
        results.push(RoiSummary::default(), [vertex(1.0)]);
        results.push_vertex(vertex(2.0));
        assert_eq!(results.roi(0).vertices().z_mm(), [1.0, 2.0]);
    }

    #[test]
    fn codes_are_positions() {
        for (position, status) in Status::ALL.iter().enumerate() {
            assert_eq!(usize::from(status.code()), position);
        }
    }
}
