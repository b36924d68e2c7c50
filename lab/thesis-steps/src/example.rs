use kernel_host::{Error as GpuError, Gpu, GpuOptions};
use zfinder::internals::ReferenceEngine;
use zfinder::{Detector, RoiBatch, RoiDescriptor, Spacepoint};
use zfinder::Precision;
use zfinder_thesis_steps::{Search, SlicedBatch, StepEngine, compare, staircase, twin};

fn example() -> Result<(), Box<dyn std::error::Error>> {
    let detector = Detector::atlas2010();
    let mut batch = RoiBatch::new();
    let track = [(50.5, 0), (88.5, 1), (122.5, 2)];
    let points = track.map(|(rho, layer)| Spacepoint { rho, phi: 0.1, z: 12.0 + 0.5 * rho, layer });
    batch.push(RoiDescriptor::default(), points);

    let sliced = SlicedBatch::new(&batch, &detector)?;
    let reference = ReferenceEngine::new(&Search::Pairs.config(), &detector)?;
    let expected = reference.fill(batch.roi(0))?;
    let on_cpu = twin::sum_histos(&sliced, 0, Search::Pairs);
    assert_eq!(compare(&on_cpu, &expected, Precision::F32)?.entries, 3);

    let gpu = match Gpu::new(&GpuOptions::default()) {
        Err(GpuError::NoAdapter { .. }) => return Ok(()),
        opened => opened?,
    };
    let step = staircase().pop().expect("the last step");
    let on_gpu = StepEngine::new(&gpu, step, &sliced)?.find(&sliced)?;
    compare(&on_gpu[0], &expected, Precision::F32)?;
    Ok(())
}
