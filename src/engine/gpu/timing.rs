//! Times of the device alone, and of the host's packing, for `zfinder bench`.

use std::time::Duration;

use kernel_host::{AdapterKind, Instant, Timer, Waiting};

use crate::batch_view::BatchView;
#[cfg(feature = "internals")]
use crate::engine::encoding::Lossless;
use crate::engine::gpu::TypedEngine;
use crate::engine::gpu::capacity::{self, Capacity};
use crate::engine::gpu::part::Planned;
use crate::engine::gpu::part_plan::PartPlan;
use crate::engine::gpu::workspace::Workspace;
use crate::engine::real::Real;
use crate::engine::threads::Helpers;
use crate::error::Result;
use crate::options::DeviceTimes;

/// Times that a batch is searched in a row where only the device is timed.
const IN_A_ROW: usize = 4;

/// Searches before those that are timed last so long.
const WARM_UP: Duration = Duration::from_millis(300);

impl<R: Real> TypedEngine<R> {
    pub(super) fn time_on_device(&self, batch: BatchView<'_>, rounds: usize) -> Result<Option<DeviceTimes>> {
        let helpers = Helpers::Pool;
        let plans = self.plan(batch, helpers)?;
        let (encoding, waiting, spin) = (self.encoding(), Waiting::Blocking, Duration::ZERO);
        let shape = self.shape.with_peaks(self.search.config.first_peaks());
        let planned = Planned { batch, plans: &plans, encoding, waiting, helpers, spin, joins: false, shape };
        let wanted: Vec<usize> = (0..plans.len()).filter(|&roi| !plans[roi].is_empty()).collect();
        let bytes = self.packed_bytes(planned.encoding);
        let capacity = Capacity { upload_bytes: u64::MAX, ..self.capacity };
        let cut = capacity::cut::<R>(&plans, &wanted, bytes, &capacity, &shape);
        let Some(rois) = cut.parts.into_iter().next() else { return Ok(None) };
        let mut workspace = self.workspaces.take(|| self.new_workspace());
        let plan = self.upload(planned, &mut workspace, &rois)?;
        let mut encoder = self.gpu.encoder("upload");
        self.begin(&mut encoder, &mut workspace)?;
        let submission = self.gpu.submit(encoder)?;
        self.gpu.wait(&submission)?;

        // A device that waited for the host slows down its clock, and needs a while until it is
        // itself again.
        let start = Instant::now();
        while self.gpu.summary().kind != AdapterKind::Software && start.elapsed() < WARM_UP {
            self.search_resident(&mut workspace, &plan)?;
        }
        let mut times = DeviceTimes { rois: rois.len(), bytes: workspace.regions.end, ..DeviceTimes::default() };
        if let Some(mut timer) = Timer::new(&self.gpu, 4) {
            let mut encoder = self.gpu.encoder("stages");
            self.encode(&mut encoder, &mut workspace, &plan, Some(&mut timer))?;
            timer.resolve(&mut encoder)?;
            let submission = self.gpu.submit(encoder)?;
            let each = |(name, time): (String, Duration)| (name, time.as_secs_f64() / rois.len() as f64);
            times.stages = timer.read(&self.gpu, &submission)?.into_iter().map(each).collect();
        }
        for _ in 0..rounds {
            let start = Instant::now();
            self.search_resident(&mut workspace, &plan)?;
            times.resident.push(start.elapsed().as_secs_f64() / (IN_A_ROW * rois.len()) as f64);
        }
        workspace.give_back();
        Ok(Some(times))
    }

    /// Searches a part that the device has, [`IN_A_ROW`] times, and waits.
    fn search_resident(&self, workspace: &mut Workspace<R>, plan: &PartPlan<R>) -> Result<()> {
        let mut submission = None;
        for _ in 0..IN_A_ROW {
            let mut encoder = self.gpu.encoder("resident");
            self.encode(&mut encoder, workspace, plan, None)?;
            submission = Some(self.gpu.submit(encoder)?);
        }
        if let Some(submission) = submission {
            self.gpu.wait(&submission)?;
        }
        Ok(())
    }

    #[cfg(feature = "internals")]
    pub(super) fn time_packing(&self, batch: BatchView<'_>) -> Result<Option<f64>> {
        if batch.is_empty() {
            return Ok(None);
        }
        let mut room: Vec<u32> = Vec::new();
        let start = Instant::now();
        for roi in batch.iter() {
            let plan = self.search.plan(roi)?;
            room.clear();
            match &self.compact {
                Some(compact) => self.search.pack::<R, _>(compact, &plan, roi, |block| {
                    room.extend_from_slice(bytemuck::cast_slice(block));
                }),
                None => self.search.pack::<R, _>(&Lossless, &plan, roi, |block| {
                    room.extend_from_slice(bytemuck::cast_slice(block));
                }),
            };
            std::hint::black_box(&room);
        }
        Ok(Some(start.elapsed().as_secs_f64() / batch.len() as f64))
    }
}
