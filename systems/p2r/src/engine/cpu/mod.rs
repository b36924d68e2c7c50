//! The CPU engine: all cores, as many tracks at once as a vector holds, in f32. Shader: fit.wgsl.

mod disks;
mod exact;
mod lanes;
mod p2r;
mod scatter;
mod state;
mod update;

use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

use crate::batch::{Batch, HIT, Hit as AnyHit, Layout, STATE, TRACK};
use crate::engine::reference::RADII;
use crate::engine::{Fitted, Formulas, Mode, Task};
use crate::status::{Status, UPDATE};
use lanes::{Lanes, Mask, dot};
use state::{Hit, State};
use update::Updated;

/// The smallest number of tracks that a thread takes at a time.
const TOGETHER: usize = 256;
/// The largest number of lanes of a vector.
const MOST_LANES: usize = 16;

pub(crate) fn fit(batch: &Batch<f32>, task: Task, fitted: &mut Fitted<f32>) {
    let Task { mode, formulas, .. } = task;
    let layout = batch.layout();
    let arch = Arch::new();
    let slots = TOGETHER.next_multiple_of(layout.bsize);
    let parts = fitted.statuses.len().div_ceil(slots);
    let sums = optional_chunks(&mut fitted.layer_sums, slots, parts);
    let chi2s = optional_chunks(&mut fitted.chi2s, slots, parts);
    fitted
        .states
        .par_chunks_mut(slots * STATE)
        .zip(fitted.statuses.par_chunks_mut(slots))
        .zip(sums.into_par_iter().zip(chi2s))
        .enumerate()
        .for_each(|(part, ((states, statuses), (sums, chi2s)))| {
            arch.dispatch(Part { batch, mode, formulas, first: part * slots, states, statuses, sums, chi2s });
        });
}

/// Returns the chunks of a column that may be empty, because it is not wanted.
fn optional_chunks(column: &mut [f32], length: usize, parts: usize) -> Vec<&mut [f32]> {
    let mut chunks: Vec<&mut [f32]> = column.chunks_mut(length).collect();
    chunks.resize_with(parts, Default::default);
    chunks
}

/// Consecutive slots of whole groups.
struct Part<'a> {
    batch: &'a Batch<f32>,
    mode: Mode,
    formulas: Formulas,
    first: usize,
    states: &'a mut [f32],
    statuses: &'a mut [u32],
    /// Empty if they are not wanted.
    sums: &'a mut [f32],
    chi2s: &'a mut [f32],
}

impl WithSimd for Part<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        for start in (0..self.statuses.len()).step_by(Lanes::<S>::COUNT) {
            self.block(simd, start);
        }
    }
}

/// Where the numbers of a vector of tracks are: runs of them side by side.
struct Block {
    bsize: usize,
    /// Less than a vector's at the end.
    lanes: usize,
    /// Of a run.
    length: usize,
    /// Of each run, its group and its place there.
    runs: [(usize, usize); MOST_LANES],
}

impl Block {
    fn new(layout: Layout, slot: usize, lanes: usize, count: usize) -> Self {
        let bsize = layout.bsize;
        let length = if bsize.is_multiple_of(count) {
            count
        } else if count.is_multiple_of(bsize) {
            bsize
        } else {
            1
        };
        let mut runs = [(0, 0); MOST_LANES];
        for (run, place) in runs.iter_mut().zip((slot..slot + lanes).step_by(length)) {
            *run = (place / bsize, place % bsize);
        }
        Self { bsize, lanes, length, runs }
    }

    /// Where number `n` of `of` of a run begins.
    #[inline(always)]
    fn at(&self, run: usize, n: usize, of: usize) -> usize {
        let (group, place) = self.runs[run];
        (group * of + n) * self.bsize + place
    }

    #[inline(always)]
    fn load<S: Simd>(&self, simd: S, words: &[f32], n: usize, of: usize) -> Lanes<S> {
        if self.length == Lanes::<S>::COUNT {
            return Lanes::load(simd, &words[self.at(0, n, of)..]);
        }
        let mut all = [0.0; MOST_LANES];
        for (run, to) in all[..self.lanes].chunks_mut(self.length).enumerate() {
            let at = self.at(run, n, of);
            to.copy_from_slice(&words[at..at + to.len()]);
        }
        Lanes::load(simd, &all)
    }

    #[inline(always)]
    fn hit<S: Simd>(&self, simd: S, hits: &[f32], layer: usize, layers: usize) -> Hit<S> {
        let mut numbers = [Lanes::splat(simd, 0.0); HIT];
        for (n, number) in numbers.iter_mut().enumerate() {
            *number = self.load(simd, hits, layer * HIT + n, layers * HIT);
        }
        Hit::of(numbers)
    }

    /// To words of which the first is of the place `first`, where a group begins.
    #[inline(always)]
    fn store<S: Simd>(&self, numbers: Lanes<S>, words: &mut [f32], first: usize, n: usize, of: usize) {
        if self.length == Lanes::<S>::COUNT {
            return numbers.store(&mut words[self.at(0, n, of) - first * of..]);
        }
        let mut all = [0.0; MOST_LANES];
        numbers.store(&mut all);
        for (run, numbers) in all[..self.lanes].chunks(self.length).enumerate() {
            let at = self.at(run, n, of) - first * of;
            words[at..at + numbers.len()].copy_from_slice(numbers);
        }
    }
}

impl Part<'_> {
    #[inline(always)]
    fn block<S: Simd>(&mut self, simd: S, start: usize) {
        let layout = self.batch.layout();
        let count = Lanes::<S>::COUNT;
        let lanes = count.min(self.statuses.len() - start);
        let slot = self.first + start;
        let block = Block::new(layout, slot, lanes, count);
        let mut statuses = [0; MOST_LANES];
        let tracks = self.batch.track_words();
        // Loops instead of closures, which would be compiled for the baseline machine.
        let mut seed = [Lanes::splat(simd, 0.0); STATE];
        for (n, number) in seed.iter_mut().enumerate() {
            *number = block.load(simd, tracks, n, TRACK);
        }
        let charge = block.load(simd, tracks, STATE, TRACK);
        let n = |value: f32| Lanes::splat(simd, value);
        let mut sound = are_finite(&seed);
        for number in [seed[3].absolute(), charge.absolute()] {
            sound = sound.and(n(1e-37).below(number)).and(number.below(n(3e38)));
        }
        sound.tell_others(Status::BAD_TRACK.bits(), &mut statuses);
        // Numbers that cannot be computed with are replaced, and given back unchanged.
        let mut usable = seed;
        for number in &mut usable {
            *number = sound.choose(*number, n(1.0));
        }
        let track = State::of(usable);
        let charge = sound.choose(charge, n(1.0));
        let mut state = track;
        let scatterings = self.batch.scattering_words();
        let scatters = self.mode == Mode::Sequential && !scatterings.is_empty();
        let mut sum = n(0.0);
        let mut chi2 = n(0.0);
        // Updates of all lanes, and of single lanes beyond these.
        let mut updates = 0;
        let mut own_updates = [0; MOST_LANES];
        let mut next = if layout.layers == 0 {
            Hit::of([n(0.0); HIT])
        } else {
            block.hit(simd, self.batch.hit_words(), 0, layout.layers)
        };
        for layer in 0..layout.layers {
            let hit = next;
            // Loaded early, so that it arrives while this hit is fitted.
            if layer + 1 < layout.layers {
                next = block.hit(simd, self.batch.hit_words(), layer + 1, layout.layers);
            }
            let square = hit.x * hit.x + hit.y * hit.y;
            let limits = [n((RADII[0] * RADII[0]) as f32), n((RADII[1] * RADII[1]) as f32)];
            let is_hit = limits[0].below(square).and(square.below(limits[1]));
            let radius = is_hit.choose(square, n(1.0)).root();
            let from = if self.mode == Mode::SeedState { &track } else { &state };
            let inverse = n(1.0).over(radius);
            let (mut at, mut is_reached) = match self.formulas {
                Formulas::Exact => exact::propagate(from, charge, radius),
                Formulas::P2r => p2r::propagate(from, charge, [radius, inverse]),
            };
            let is_on_disk = disks::are_on_disks(&hit);
            let has_disks = self.batch.has_disks() && is_on_disk.anywhere();
            if has_disks {
                let (on_plane, reaches_plane) = disks::propagate_to_plane(from, charge, hit.z);
                at = chosen(is_on_disk, &on_plane, &at);
                is_reached = is_on_disk.either(reaches_plane, is_reached);
            }
            let mut measured = update::measure_on_cylinder(&at, &hit, inverse);
            if has_disks {
                measured = disks::chosen(is_on_disk, disks::measure_on_disk(&at, &hit), measured);
            }
            let Updated { state: mut updated, is_regular, chi2: more, minors } = update::update(&at, &measured);
            let total = if self.mode == Mode::SeedState { more } else { chi2 + more };
            let done = is_hit.and(is_reached);
            let all = done.and(is_regular);
            if all.everywhere() {
                updates += 1;
                chi2 = total;
                if self.mode == Mode::SeedState {
                    sum = sum + sum_of(&updated);
                }
            } else {
                tell([is_hit, done, is_regular, sound], hit.v00, minors, &mut statuses);
                count_updates(all, &mut own_updates);
                chi2 = all.choose(total, chi2);
                updated = chosen(is_regular, &updated, &at);
                updated = chosen(done, &updated, &state);
                if self.mode == Mode::SeedState {
                    sum = done.choose(sum + sum_of(&updated), sum);
                }
            }
            if scatters {
                let behind = scatter::scatter(&updated, block.load(simd, scatterings, layer, layout.layers));
                updated = chosen(done, &behind, &updated);
            }
            state = updated;
        }
        let numbers = state.numbers();
        let is_finite = are_finite(&numbers);
        let mut unsound = [0; MOST_LANES];
        is_finite.tell_others(Status::NOT_FINITE.bits(), &mut unsound);
        let kept = sound.and(is_finite);
        for number in 0..STATE {
            let value = kept.choose(numbers[number], seed[number]);
            block.store(value, self.states, self.first, number, STATE);
        }
        let mut negative = [0; MOST_LANES];
        variances_are_positive(&state).tell_others(Status::NOT_POSITIVE.bits(), &mut negative);
        for lane in (0..lanes).filter(|&lane| layout.is_used(slot + lane)) {
            let updates = updates + own_updates[lane];
            self.statuses[start + lane] = word(statuses[lane], unsound[lane], negative[lane], updates);
        }
        for (numbers, column) in [(sum, &mut *self.sums), (chi2, &mut *self.chi2s)] {
            if !column.is_empty() {
                let mut all = [0.0; MOST_LANES];
                kept.choose(numbers, n(0.0)).store(&mut all);
                column[start..start + lanes].copy_from_slice(&all[..lanes]);
            }
        }
    }
}

/// Returns the word of a track: its faults, and the number of updates above them.
fn word(faults: u32, not_finite: u32, negative: u32, updates: u32) -> u32 {
    if faults & Status::BAD_TRACK.bits() != 0 {
        return faults;
    }
    let no_hits = if faults == 0 && updates == 0 { Status::NO_HITS.bits() } else { 0 };
    if not_finite != 0 { faults | not_finite } else { faults | no_hits | negative | (updates * UPDATE) }
}

/// Counts an update of each lane in the mask.
#[inline(always)]
fn count_updates<S: Simd>(mask: Mask<S>, counts: &mut [u32; MOST_LANES]) {
    let mut others = [0; MOST_LANES];
    mask.tell_others(1, &mut others);
    for (count, other) in counts.iter_mut().zip(others) {
        *count += 1 - other;
    }
}

/// Returns where no variance is below zero: of the position across the direction from the beam, of
/// z, 1/pt, phi and theta.
#[inline(always)]
fn variances_are_positive<S: Simd>(p: &State<S>) -> Mask<S> {
    let xy = p.x * p.y;
    let across = dot([p.y * p.y, -(xy + xy), p.x * p.x], [p.c00, p.c10, p.c11]);
    let zero = p.x.all(0.0);
    let mut all = zero.at_most(across);
    for variance in [p.c22, p.c33, p.c44, p.c55] {
        all = all.and(zero.at_most(variance));
    }
    all
}

/// Adds the fault of a layer, the first of several, to the statuses of sound tracks. The masks: the
/// hit is sound, its radius is reached, the residual's covariance is positive definite, the track
/// is sound.
#[inline(always)]
fn tell<S: Simd>(
    masks: [Mask<S>; 4],
    first_variance: Lanes<S>,
    minors: [Lanes<S>; 2],
    statuses: &mut [u32; MOST_LANES],
) {
    let [mut hit, mut done, mut regular, mut unsound] = [[0; MOST_LANES]; 4];
    for (mask, others) in masks.into_iter().zip([&mut hit, &mut done, &mut regular, &mut unsound]) {
        mask.tell_others(1, others);
    }
    let [mut variance, mut det, mut s00] = [[0.0; MOST_LANES]; 3];
    first_variance.store(&mut variance);
    minors[0].store(&mut det);
    minors[1].store(&mut s00);
    let is_negative = |number: f32| number < -1e-37 && number > -3e38;
    for (lane, status) in statuses.iter_mut().enumerate().filter(|(lane, _)| unsound[*lane] == 0) {
        let fault = match (hit[lane], done[lane], regular[lane]) {
            (1, ..) if f64::from(variance[lane]) == AnyHit::MISSING.cov[0] => Status::default(),
            (1, ..) => Status::BAD_HIT,
            (_, 1, _) => Status::UNREACHABLE,
            (.., 1) if is_negative(det[lane]) || is_negative(s00[lane]) => Status::NOT_POSITIVE,
            (.., 1) => Status::SINGULAR,
            _ => Status::default(),
        };
        *status |= fault.bits();
    }
}

#[inline(always)]
fn chosen<S: Simd>(mask: Mask<S>, if_true: &State<S>, if_false: &State<S>) -> State<S> {
    let (a, mut numbers) = (if_true.numbers(), if_false.numbers());
    for (n, number) in numbers.iter_mut().enumerate() {
        *number = mask.choose(a[n], *number);
    }
    State::of(numbers)
}

#[inline(always)]
fn sum_of<S: Simd>(state: &State<S>) -> Lanes<S> {
    let numbers = state.numbers();
    let mut sum = numbers[0];
    for &number in &numbers[1..] {
        sum = sum + number;
    }
    sum
}

#[inline(always)]
fn are_finite<S: Simd>(numbers: &[Lanes<S>; STATE]) -> Mask<S> {
    let most = numbers[0].all(f32::MAX);
    let mut all = numbers[0].absolute().at_most(most);
    for number in &numbers[1..] {
        all = all.and(number.absolute().at_most(most));
    }
    all
}
