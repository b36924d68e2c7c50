//! Chains of every adapter beside those of the CPU engine in f32: the same ones, in the same order.

use kernel_host::testing::{on_adapters, shared_device_with};

use super::*;
use crate::cancellation::Cancellation;
use crate::config::{Config, Preset};
use crate::detector::Detector;
use crate::engine::cpu::tracklets::TrackletBuffers;
use crate::engine::gpu::rounding::choose_rounding;
use crate::engine::tracklets::toy::{crowd, doubled_track, event, hostile, uneven_detector};
use crate::options::Precision;
use crate::spacepoint::{Roi, RoiDescriptor, Spacepoint};

struct Both {
    device: GpuTracklets,
    tracklets: TrackletSearch,
    search: Search,
}

impl Both {
    fn new(gpu: &Gpu, config: &Config) -> Self {
        Self::of(gpu, config, &Detector::generic())
    }

    fn of(gpu: &Gpu, config: &Config, detector: &Detector) -> Self {
        let search = Search::new(config, detector).expect("valid");
        let rounding = pollster::block_on(choose_rounding::<f32>(gpu, Precision::F32)).expect("a device");
        let device = GpuTracklets::new(gpu.clone(), &search, rounding, Checks::CHECKED, 128 << 20).expect("kernels");
        Self { device, tracklets: TrackletSearch::new(config, detector), search }
    }

    /// The chains of the events in one part.
    fn on_device(&self, events: &[Roi], z_ranges: &ZRanges) -> Vec<Option<Vec<TrackletHits>>> {
        let mut part = PackedHits::default();
        for roi in events {
            let plan = self.search.plan(roi.into()).expect("a range");
            let hits = RoiHits::new(&self.tracklets, &self.search, &plan, roi.into());
            assert!(self.device.pack(&mut part, &hits, z_ranges));
        }
        match pollster::block_on(self.device.submit(part, Waiting::Blocking, false)).expect("a device") {
            Submitted::InFlight(part) => {
                let found = pollster::block_on(self.device.collect(part, Waiting::Blocking)).expect("an answer");
                found.into_iter().map(|chains| chains.map(FoundChains::sorted)).collect()
            }
            Submitted::Later => panic!("nothing else is in flight"),
            Submitted::TooLarge => events.iter().map(|_| None).collect(),
        }
    }

    fn on_host(&self, roi: &Roi, z_ranges: &ZRanges) -> Vec<TrackletHits> {
        let plan = self.search.plan(roi.into()).expect("a range");
        let mut buffers = TrackletBuffers::<f32>::default();
        buffers.hits.fill(&RoiHits::new(&self.tracklets, &self.search, &plan, roi.into()));
        assert!(!buffers.find_chains(&self.tracklets, z_ranges, Cancellation::default()));
        buffers.chains().collect()
    }

    /// Checks the events. Returns how many chains they have.
    fn check(&self, what: &str, events: &[Roi], z_ranges: &ZRanges) -> usize {
        // Lists that are too short grow from call to call.
        let mut all = (0..4).map(|_| self.on_device(events, z_ranges));
        let found = all.find(|found| found.iter().all(Option::is_some)).unwrap_or_else(|| panic!("{what}"));
        let mut count = 0;
        for (i, (roi, found)) in events.iter().zip(&found).enumerate() {
            let wanted = self.on_host(roi, z_ranges);
            assert_eq!(found.as_ref(), Some(&wanted), "{what}, event {i}");
            count += wanted.len();
        }
        count
    }
}

fn roi(spacepoints: Vec<Spacepoint>) -> Roi {
    Roi { descriptor: RoiDescriptor::default(), spacepoints }
}

fn on_each(config: &Config, check: impl Fn(&str, &Both)) {
    for adapter in on_adapters() {
        let gpu = shared_device_with(&adapter, wgpu::Features::empty());
        check(&adapter.name, &Both::new(&gpu, config));
    }
}

#[test]
fn layers_have_their_own_thickness_and_followers() {
    let (config, detector) = (Config::preset(Preset::Auto), uneven_detector(|number| 0.004 + 0.003 * number as f64));
    for adapter in on_adapters() {
        let gpu = shared_device_with(&adapter, wgpu::Features::empty());
        let (uneven, even) = (Both::of(&gpu, &config, &detector), Both::new(&gpu, &config));
        let rng = &mut fastrand::Rng::with_seed(54);
        let events: Vec<Roi> = (0..4).map(|_| roi(event(rng, &[-50.0, -10.0, 20.0, 70.0]))).collect();
        let whole = ZRanges::one([-200.0, 200.0]);
        assert!(uneven.check(&adapter.name, &events, &whole) > 100, "{}", adapter.name);
        assert_ne!(uneven.on_device(&events, &whole), even.on_device(&events, &whole), "{}", adapter.name);
    }
}

#[test]
fn chains_are_those_of_the_cpu_engine() {
    on_each(&Config::preset(Preset::Auto), |adapter, both| {
        let rng = &mut fastrand::Rng::with_seed(51);
        let places = |rng: &mut fastrand::Rng, count| (0..count).map(|_| 300.0 * (rng.f64() - 0.5)).collect::<Vec<_>>();
        let mut events = Vec::new();
        for i in 0..6 {
            let vertices = places(rng, 2 * i);
            events.push(roi(event(rng, &vertices)));
        }
        let whole = ZRanges::one([-200.0, 200.0]);
        let chains = both.check(adapter, &events, &whole);
        assert!(chains > 200, "{adapter}: {chains}");
        let windows = ZRanges::near([-60.0, 3.0, 30.0].into_iter(), 20.0);
        let fewer = both.check(adapter, &events, &windows);
        assert!(fewer > 20 && fewer < chains, "{adapter}: {fewer} of {chains}");
        both.check(adapter, &events, &ZRanges::near([-60.0, 3.0, 30.0, 90.0].into_iter(), 2.0));
    });
}

#[test]
fn chains_that_share_hits_are_chosen_as_on_the_cpu() {
    on_each(&Config::preset(Preset::Auto), |adapter, both| {
        let rng = &mut fastrand::Rng::with_seed(52);
        let crowds: Vec<Roi> = (0..3).map(|_| roi(crowd(rng))).collect();
        assert!(both.check(&format!("{adapter}, crowds"), &crowds, &ZRanges::one([-150.0, 150.0])) > 100);
        let doubled: Vec<Roi> = (0..20).map(|_| roi(doubled_track(rng))).collect();
        assert!(both.check(&format!("{adapter}, doubled tracks"), &doubled, &ZRanges::one([-150.0, 150.0])) > 20);
    });
}

#[test]
fn hostile_spacepoints_have_the_chains_of_the_cpu_engine() {
    on_each(&Config::preset(Preset::Auto), |adapter, both| {
        let (names, events): (Vec<_>, Vec<_>) = hostile().into_iter().map(|(what, all)| (what, roi(all))).unzip();
        both.check(&format!("{adapter}, {names:?}"), &events, &ZRanges::one([-200.0, 200.0]));
    });
}

/// Buffers that have just been made have room for at least one hit.
#[test]
fn the_first_events_may_have_no_hit() {
    on_each(&Config::preset(Preset::Auto), |adapter, both| {
        let whole = ZRanges::one([-200.0, 200.0]);
        let strips = (0..40).map(|i| Spacepoint { rho: 260.0, phi: 0.1 * f64::from(i), z: 0.0, layer: 4 });
        assert_eq!(both.check(adapter, &[roi(strips.collect()), roi(Vec::new())], &whole), 0);
    });
}

#[test]
fn any_field_and_a_beam_beside_the_origin_have_the_chains_of_the_cpu_engine() {
    let rng = &mut fastrand::Rng::with_seed(53);
    let events = [roi(event(rng, &[-30.0, 5.0])), roi(event(rng, &[60.0]))];
    for (field_t, beam_spot_mm) in [(0.0, [0.0; 2]), (0.5, [0.9, -0.4]), (4.0, [0.0; 2]), (100.0, [0.0; 2])] {
        let config = Config::preset(Preset::Auto).with(|c| (c.field_t, c.beam_spot_mm) = (field_t, beam_spot_mm));
        on_each(&config, |adapter, both| {
            both.check(&format!("{adapter}, {field_t} T"), &events, &ZRanges::one([-100.0, 100.0]));
        });
    }
}

/// An event that has no room is left to the host. The next one of its kind has room.
#[test]
fn a_list_that_is_too_short_grows() {
    on_each(&Config::preset(Preset::Auto), |adapter, both| {
        let rng = &mut fastrand::Rng::with_seed(54);
        let places: Vec<f64> = (0..20).map(|i| f64::from(i) - 10.0).collect();
        let dense = vec![roi(event(rng, &places).into_iter().map(|s| Spacepoint { phi: 0.02 * s.phi, ..s }).collect())];
        let whole = ZRanges::one([-200.0, 200.0]);
        assert_eq!(both.on_device(&dense, &whole), [None], "{adapter}");
        both.check(adapter, &dense, &whole);
    });
}

/// A thread of the device is not kept busy for long.
#[test]
fn a_crowd_at_one_place_is_left_to_the_host() {
    on_each(&Config::preset(Preset::Auto), |adapter, both| {
        let at = |rho, layer| Spacepoint { rho, phi: 0.5, z: 1.0, layer };
        let crowd = [(32.0, 0, 10), (72.0, 1, 10), (116.0, 2, 17_000)]
            .map(|(rho, layer, count)| vec![at(rho, layer); count])
            .concat();
        assert_eq!(both.on_device(&[roi(crowd)], &ZRanges::one([-200.0, 200.0])), [None], "{adapter}");
    });
}
