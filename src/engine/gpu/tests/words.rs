//! The last stages on words that no event makes in the time of a test, written straight into their
//! buffers: sums that overflow, and backgrounds beyond 32 bits.

use super::stages::check_peaks;
use super::*;
use crate::engine::twin;

/// An RoI with something to search and no pair.
fn no_pair() -> RoiBatch {
    let point = Spacepoint { rho: 50.5, phi: 0.1, z: 1.0, layer: 0 };
    RoiBatch::from_iter([roi(Some(PhiWindow::FullScan), vec![point])])
}

/// Earlier contents of buffers change no result, also beyond the last bin of a row and between
/// RoIs.
#[test]
fn leavings_in_buffers_change_nothing() {
    let rng = &mut fastrand::Rng::with_seed(51);
    let toy = Toy { window: Some((0.0, 0.6)), tracks: 20, noise: 60, ..Toy::default() };
    let batch = RoiBatch::from_iter((0..3).map(|id| toy.event(rng, id).roi));
    for adapter in on_adapters() {
        let gpu = open(&adapter);
        for (pairing, accumulate) in
            [(Pairing::ByLayer, Accumulate::Fixed), (Pairing::Numbered, Accumulate::CompareExchange)]
        {
            let (config, options) = pairing_options(pairing, PairWeight::One);
            let options = EngineOptions { thesis: ThesisOptions { accumulate, ..options.thesis }, ..options };
            let mut engine = build::<f32>(&gpu, &Config { peaks: 3, ..config }, &options);
            let place = format!("{}, {pairing:?}, {accumulate:?}", adapter.name);
            let clean = engine.stages(&batch).unwrap_or_else(|error| panic!("{place}: {error}"));
            let dirty = engine.stages_with(&batch, |moment, workspace, _| {
                if moment == Moment::AfterUpload {
                    let Workspace { cells, histograms, partials, totals, .. } = workspace;
                    for buffer in [cells, histograms, partials, totals] {
                        buffer.write(&gpu, &vec![u32::MAX; buffer.capacity()])?;
                    }
                }
                Ok(())
            });
            let dirty = dirty.unwrap_or_else(|error| panic!("{place}: {error}"));
            for i in 0..batch.len() {
                assert_eq!((dirty.flags(i), clean.flags(i)), (0, 0), "{place}");
                assert!(!clean.peaks(i).is_empty(), "{place}");
                // The last digits of f32 sums are those of their order.
                let peaks = |stages: &Readbacks<f32>| {
                    let mut peaks = stages.peaks(i);
                    let is_exact = accumulate == Accumulate::Fixed;
                    peaks.iter_mut().filter(|_| !is_exact).for_each(|peak| peak.z = [0; 3]);
                    peaks
                };
                assert_eq!(peaks(&dirty), peaks(&clean), "{place}");
            }
        }
    }
}

/// Counts up to the last that a word of z allows are summed, and one more is reported; so are sums
/// that wrap round to few.
#[test]
fn sums_of_rows_that_overflow_are_reported() {
    for adapter in on_adapters() {
        let gpu = open(&adapter);
        let (config, options) = pairing_options(Pairing::Numbered, PairWeight::One);
        let config = Config { z_bin_mm: 4.0, ..config };
        let accumulate = Accumulate::CompareExchange;
        let mut engine = build::<f32>(
            &gpu,
            &config,
            &EngineOptions { thesis: ThesisOptions { accumulate, ..options.thesis }, ..options },
        );
        // Rows that are summed at once, and in two stages.
        for degrees in [6.0, 0.4] {
            engine.take_case(&Case {
                slices_per_histogram: 1,
                ..Case::new("", Config { phi_slice_deg: degrees, ..config.clone() }, Vec::new())
            });
            for (first, other, overflows) in [
                (MAX_COUNT - 3, 3, false),
                (MAX_COUNT - 3, 4, true),
                (MAX_COUNT, 0, false),
                (1 << 31, (1 << 31) + 7, true),
            ] {
                let place = format!("{}, slices of {degrees} degrees, {first} and {other}", adapter.name);
                let stages = engine.stages_with(&no_pair(), |moment, workspace, layout| {
                    if moment == Moment::AfterFindZ {
                        assert_eq!(
                            layout.sums_in_two_stages(),
                            degrees < 1.0,
                            "{place}: {} rows",
                            layout.row_rois.len()
                        );
                        // Both are rows of the same thread.
                        let lanes = 1 << layout.params.row_lanes_shift;
                        assert!(layout.row_rois.len() > lanes, "{place}: {} rows", layout.row_rois.len());
                        let mut words = vec![0; layout.row_words()];
                        let word = |row: usize| row * (2 * layout.params.row_bins) as usize + 5;
                        (words[word(0)], words[word(lanes)]) = (first, other);
                        workspace.histograms.write(&gpu, &words)?;
                    }
                    Ok(())
                });
                let stages = stages.unwrap_or_else(|error| panic!("{place}: {error}"));
                assert_eq!(stages.flags(0), if overflows { 2 } else { 0 }, "{place}");
                let mut wanted = stages.own(&stages.beyond, 0);
                let mut rows = stages.rows(0);
                // They are n here, whose overflow the twin does not expect of them.
                rows.iter_mut().for_each(|row| row.pairs.clear());
                let by_twin = twin::sum_histos::sum_histos::<CompareExchange>(&rows, &mut wanted);
                assert_eq!(by_twin, overflows, "{place}: the twin");
                if !overflows {
                    assert_eq!(stages.total(0).n, wanted.n, "{place}");
                }
            }
        }
    }
}

/// Sums of windows beyond 32 bits: of a thread, of a workgroup, and of an RoI's histograms.
#[test]
fn backgrounds_beyond_a_word_are_the_twins() {
    let rng = &mut fastrand::Rng::with_seed(53);
    // So many bins that each thread's windows go beyond a word; in several histograms, eight a
    // workgroup.
    let cases = [
        ("one histogram", false, Config { z_bin_mm: 0.009, ..Config::preset(Preset::Default) }),
        (
            "several",
            true,
            Config { z_bin_mm: 0.1, phi_slice_deg: 18.0, histogram_per_slice: true, ..Config::preset(Preset::Default) },
        ),
    ];
    for adapter in on_adapters() {
        let gpu = open(&adapter);
        for (case, several, config) in &cases {
            let (pairs, options) = pairing_options(Pairing::ByLayer, PairWeight::One);
            let (neighbours, first_layers) = (pairs.neighbours, pairs.first_layers);
            let config = Config { neighbours, first_layers, peaks: 2, ..config.clone() };
            let mut engine = build::<f32>(&gpu, &config, &options);
            for percentile in [1.0, 0.9] {
                engine.search.config.percentile = percentile;
                let place = format!("{}, {case}, percentile {percentile}", adapter.name);
                let stages = engine.stages_with(&no_pair(), |moment, workspace, layout| {
                    if moment == Moment::AfterFindZ {
                        assert_eq!(layout.variant.several, *several, "{place}");
                        let words: Vec<u32> =
                            (0..layout.total_words()).map(|_| rng.u32(MAX_COUNT - 999..=MAX_COUNT)).collect();
                        workspace.totals.write(&gpu, &words)?;
                        workspace.histograms.write(&gpu, &vec![0; layout.row_words()])?;
                    }
                    Ok(())
                });
                let stages = stages.unwrap_or_else(|error| panic!("{place}: {error}"));
                assert_eq!(stages.flags(0), 0, "{place}");
                assert!(stages.peaks(0)[0].background.high > 1, "{place}: {:?}", stages.peaks(0));
                check_peaks(&place, &engine, &stages, 0);
            }
        }
    }
}

/// Small numbers in few bins make equal densities, and peaks whose clusters reach beyond the
/// histogram.
#[test]
fn clusters_of_any_pairs_are_the_twins() {
    let rng = &mut fastrand::Rng::with_seed(55);
    for adapter in on_adapters() {
        let gpu = open(&adapter);
        let (config, options) = pairing_options(Pairing::ByLayer, PairWeight::Pt);
        let (directions, densest) = (Ranking::Directions, ZEstimate::Densest);
        for (ranking, z_estimate, rounds) in
            [(directions, densest, 60), (Ranking::Entries, densest, 6), (directions, ZEstimate::Mean, 6)]
        {
            let config = Config { ranking, z_estimate, z_bin_mm: 16.0, peaks: 8, ..config.clone() };
            let mut engine = build::<f32>(&gpu, &config, &options);
            for round in 0..rounds {
                let place = format!("{}, {ranking}, {z_estimate}, round {round}", adapter.name);
                let most = [2, 3, 40][round % 3];
                let stages = engine.stages_with(&no_pair(), |moment, workspace, layout| {
                    if moment == Moment::AfterFindZ {
                        let words: Vec<u32> = (0..layout.total_words()).map(|_| rng.u32(0..most)).collect();
                        workspace.totals.write(&gpu, &words)?;
                        workspace.histograms.write(&gpu, &vec![0; layout.row_words()])?;
                    }
                    Ok(())
                });
                let stages = stages.unwrap_or_else(|error| panic!("{place}: {error}"));
                let has_cluster = stages.peaks(0).iter().any(|peak| peak.cluster.weight > 0);
                assert_eq!(has_cluster, z_estimate == ZEstimate::Densest, "{place}");
                check_peaks(&place, &engine, &stages, 0);
            }
        }
    }
}
