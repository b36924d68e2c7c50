//! Memory of the CPU engine for one RoI, reused for the next one.

use std::sync::{Mutex, PoisonError};

use crate::engine::cpu::find_peaks::PeakBuffers;
use crate::engine::cpu::find_z::FindZBuffers;
use crate::engine::cpu::slice_spacepoints::SlicedSpacepoints;
use crate::engine::real::Real;
use crate::histogram::HistogramPair;
use crate::vertex::Vertex;

/// Memory of the stages of one RoI.
pub(crate) struct Workspace<R: Real> {
    pub(crate) spacepoints: Vec<R::Spacepoint>,
    pub(crate) sliced: SlicedSpacepoints<R>,
    /// One for each group of slices.
    pub(crate) parts: Vec<FindZBuffers<R>>,
    pub(crate) total: HistogramPair,
    pub(crate) find_peaks: PeakBuffers,
    pub(crate) vertices: Vec<Vertex>,
}

impl<R: Real> Default for Workspace<R> {
    fn default() -> Self {
        Self {
            spacepoints: Vec::new(),
            sliced: SlicedSpacepoints::default(),
            parts: Vec::new(),
            total: HistogramPair::new(0, 0),
            find_peaks: PeakBuffers::default(),
            vertices: Vec::new(),
        }
    }
}

/// Workspaces that wait for work.
#[expect(clippy::vec_box, reason = "they are large to move")]
pub(crate) struct IdleWorkspaces<R: Real>(Mutex<Vec<Box<Workspace<R>>>>);

impl<R: Real> Default for IdleWorkspaces<R> {
    fn default() -> Self {
        Self(Mutex::new(Vec::new()))
    }
}

impl<R: Real> IdleWorkspaces<R> {
    /// Works in one of them, or in a new one.
    pub(crate) fn with<T>(&self, work: impl FnOnce(&mut Workspace<R>) -> T) -> T {
        let all = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let idle = all().pop();
        let mut workspace = idle.unwrap_or_default();
        let made = work(&mut workspace);
        all().push(workspace);
        made
    }
}
