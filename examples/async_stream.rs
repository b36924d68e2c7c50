//! A stream in an async program: one task supplies batches, a second searches them, and a third
//! receives the answers in order. No task blocks its executor. A slow receiver slows the supplier
//! down.
//!
//! `cargo run --release --example async_stream`

use std::error::Error;

use tokio::sync::mpsc::{Receiver, Sender, channel};
use zfinder::{Detector, Roi, RoiBatch, SearchedBatch, Stream, StreamOptions, ZFinder};
use zfinder_study::simulate::Simulation;

type Failure = Box<dyn Error + Send + Sync>;

/// Most waiting batches at each end of the stream.
const WAITING: usize = 2;
const BATCHES: u64 = 20;
const ROIS: u64 = 5;

/// Supplies batches: here simulated, one event for each RoI.
async fn source(simulation: Simulation, batches: Sender<RoiBatch>) -> Result<(), Failure> {
    for number in 0..BATCHES {
        let events = number * ROIS..(number + 1) * ROIS;
        let batch: RoiBatch =
            events.map(|event| simulation.event(event).roi).collect::<Vec<Roi>>().into_iter().collect();
        // Waits while the stream is full: this is the back-pressure.
        batches.send(batch).await?;
    }
    Ok(())
}

/// Pushes batches while the stream has room, and passes answers on.
async fn search(
    mut stream: Stream,
    mut batches: Receiver<RoiBatch>,
    answers: Sender<SearchedBatch>,
) -> Result<(), Failure> {
    let mut more = true;
    while more || stream.len() > 0 {
        // Either future may be dropped for the other: recv and next_async lose nothing.
        tokio::select! {
            batch = batches.recv(), if more && stream.len() < stream.most_in_flight() => match batch {
                // There is room, so the push does not wait and returns no answer.
                Some(batch) => assert!(stream.push_async(batch).await?.is_none()),
                None => more = false,
            },
            Some(answered) = stream.next_async(), if stream.len() > 0 => answers.send(answered?).await?,
        }
    }
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let simulation = Simulation { rois: (BATCHES * ROIS) as usize, ..Simulation::lowlum() };
    // Building compiles shaders, which takes long, so it runs outside the executor.
    let finder = tokio::task::spawn_blocking(|| ZFinder::builder(Detector::atlas2010()).build()).await??;
    let stream = finder.stream(StreamOptions { in_flight: 4 })?;
    println!("{}; {} batches in flight", finder.description(), stream.most_in_flight());

    let (to_stream, batches) = channel(WAITING);
    let (to_sink, mut answers) = channel(WAITING);
    let source = tokio::spawn(source(simulation.clone(), to_stream));
    // The stream has its own threads, on the CPU engine too. find_batch_async would compute in the
    // task itself.
    let search = tokio::spawn(search(stream, batches, to_sink));

    let (mut rois, mut right) = (0, 0);
    while let Some(answered) = answers.recv().await {
        for result in &answered.results {
            assert_eq!(result.id().event_id, rois, "answers come in the order of the questions");
            let z_true = simulation.event(rois).truth[0].z_mm;
            right += u32::from(result.vertices().first().is_some_and(|vertex| (vertex.z_mm - z_true).abs() < 1.0));
            rois += 1;
        }
    }
    source.await??;
    search.await??;
    println!("{right} of {rois} RoIs have their first vertex within 1 mm of the true one");
    assert!(rois == BATCHES * ROIS && right >= 90, "{right} of {rois}");
    Ok(())
}
