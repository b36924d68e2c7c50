//! `zfinder inspect`: shows how a GPU searches RoIs.

use clap::Args;
use zfinder::{RoiBatch, internals};

use super::engine::EngineOptions;
use super::output::PROGRAM;
use super::search::{BATCH_ROIS, BATCH_SPACEPOINTS};
use super::select::SelectOptions;
use command_host::{Failure, Output};

/// Shows how a GPU searches the RoIs of files
///
/// The RoIs are one batch, as `zfinder find` makes them. Nothing is searched.
#[derive(Args)]
#[command(after_help = super::EXIT_CODES)]
pub(super) struct Inspect {
    /// Print the plan of each part of the batch: kernels in their order, with their grids, shares
    /// of pairs, and bytes of buffers
    #[arg(long, required_unless_present = "print_config", help_heading = "Output")]
    plan: bool,

    #[command(flatten)]
    engine: EngineOptions,

    #[command(flatten)]
    select: SelectOptions,
}

impl Inspect {
    pub(super) fn run(self) -> Result<(), Failure> {
        let Some(config) = self.select.config()? else { return Ok(()) };
        let mut selected = self.select.open(config, None)?;
        let mut batch = RoiBatch::new();
        while batch.len() < BATCH_ROIS && batch.count_spacepoints() < BATCH_SPACEPOINTS {
            let Some(roi) = selected.next().transpose()? else { break };
            batch.push(roi.descriptor, roi.spacepoints);
        }
        if batch.is_empty() {
            return Err(selected.nothing());
        }
        let builder = self.engine.builder(selected.finder.detector().clone())?;
        let finder = builder.config(selected.finder.config().clone()).build()?;
        let Some(parts) = internals::plan_parts(&finder, &batch)? else {
            return Err(Failure::usage(
                format!("{} makes no parts of batches", finder.description()),
                "give a GPU: --adapter INDEX, as `zfinder adapters` lists them",
            ));
        };
        let mut output = Output::open(None, PROGRAM)?;
        output.write(|out| {
            writeln!(out, "{}\nRoIs: {}; parts: {}", finder.description(), batch.len(), parts.len())?;
            parts
                .iter()
                .enumerate()
                .try_for_each(|(number, part)| writeln!(out, "\npart {number}: {}", part.trim_end()))
        })?;
        output.finish()
    }
}
