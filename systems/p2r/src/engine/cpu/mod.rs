//! All cores: as many tracks at once as a vector holds, in f32. Shader: fit.wgsl.

mod lanes;
mod propagate;
mod state;
mod update;

use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

use crate::batch::{Batch, HIT, Layout, STATE, TRACK};
use crate::engine::reference::RADII;
use crate::engine::{Fitted, Mode};
use crate::status::Status;
use lanes::{Lanes, Mask};
use state::{Hit, State};

/// Tracks that a thread takes at a time, at least.
const TOGETHER: usize = 256;
/// The most lanes of a vector.
const MOST_LANES: usize = 16;

pub(crate) fn fit(batch: &Batch<f32>, mode: Mode, fitted: &mut Fitted<f32>) {
    let layout = batch.layout();
    let arch = Arch::new();
    let slots = TOGETHER.next_multiple_of(layout.bsize);
    fitted.layer_sums.resize(layout.slots(), 0.0);
    fitted
        .states
        .par_chunks_mut(slots * STATE)
        .zip(fitted.statuses.par_chunks_mut(slots))
        .zip(fitted.layer_sums.par_chunks_mut(slots))
        .enumerate()
        .for_each(|(part, ((states, statuses), sums))| {
            arch.dispatch(Part { batch, mode, first: part * slots, states, statuses, sums });
        });
    if mode == Mode::Sequential {
        fitted.layer_sums.clear();
    }
}

/// Places that lie one after the other, whole groups of them.
struct Part<'a> {
    batch: &'a Batch<f32>,
    mode: Mode,
    first: usize,
    states: &'a mut [f32],
    statuses: &'a mut [u32],
    sums: &'a mut [f32],
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
        // Loops, not closures: those would be compiled for any machine.
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
        if layout.layers == 0 {
            statuses.iter_mut().for_each(|status| *status |= Status::NO_HITS.bits());
        }
        // What cannot be computed with is replaced, and given back as it came.
        let mut usable = seed;
        for number in &mut usable {
            *number = sound.choose(*number, n(1.0));
        }
        let track = State::of(usable);
        let charge = sound.choose(charge, n(1.0));
        let mut state = track;
        let mut sum = n(0.0);
        let mut next = if layout.layers == 0 {
            Hit::of([n(0.0); HIT])
        } else {
            block.hit(simd, self.batch.hit_words(), 0, layout.layers)
        };
        for layer in 0..layout.layers {
            let hit = next;
            // On its way while this one is fitted.
            if layer + 1 < layout.layers {
                next = block.hit(simd, self.batch.hit_words(), layer + 1, layout.layers);
            }
            let square = hit.x * hit.x + hit.y * hit.y;
            let limits = [n((RADII[0] * RADII[0]) as f32), n((RADII[1] * RADII[1]) as f32)];
            let is_hit = limits[0].below(square).and(square.below(limits[1]));
            let radius = is_hit.choose(square, n(1.0)).root();
            let from = if self.mode == Mode::SeedState { &track } else { &state };
            let inverse = n(1.0).over(radius);
            let (at, is_reached) = propagate::propagate(from, charge, [radius, inverse]);
            let (updated, is_regular) = update::update(&at, &hit, inverse);
            let mut updated = updated;
            // Seldom.
            if !is_hit.and(is_reached).and(is_regular).everywhere() {
                let done = is_hit.and(is_reached);
                tell(is_hit, done, is_regular, &mut statuses, sound);
                updated = chosen(is_regular, &updated, &at);
                updated = chosen(done, &updated, &state);
                if self.mode == Mode::SeedState {
                    sum = done.choose(sum + sum_of(&updated), sum);
                }
            } else if self.mode == Mode::SeedState {
                sum = sum + sum_of(&updated);
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
        let mut all = [0.0; MOST_LANES];
        kept.choose(sum, n(0.0)).store(&mut all);
        for lane in 0..lanes {
            let mut status = statuses[lane];
            if status & Status::BAD_TRACK.bits() == 0 {
                status |= unsound[lane];
            }
            let used = layout.is_used(slot + lane);
            self.statuses[start + lane] = if used { status } else { 0 };
            self.sums[start + lane] = all[lane];
        }
    }
}

/// What is wrong with a layer: the first of these, and only of tracks that are sound.
#[inline(always)]
fn tell<S: Simd>(
    is_hit: Mask<S>,
    is_done: Mask<S>,
    is_regular: Mask<S>,
    statuses: &mut [u32; MOST_LANES],
    sound: Mask<S>,
) {
    let [mut hit, mut done, mut regular, mut unsound] = [[0; MOST_LANES]; 4];
    is_hit.tell_others(1, &mut hit);
    is_done.tell_others(1, &mut done);
    is_regular.tell_others(1, &mut regular);
    sound.tell_others(1, &mut unsound);
    for (lane, status) in statuses.iter_mut().enumerate().filter(|(lane, _)| unsound[*lane] == 0) {
        let fault = match (hit[lane], done[lane], regular[lane]) {
            (1, ..) => Status::BAD_HIT,
            (_, 1, _) => Status::UNREACHABLE,
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
