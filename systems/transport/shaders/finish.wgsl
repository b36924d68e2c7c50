// Stores the result of a step: the track, a secondary in a slot of its own, energies. Without a
// slot for the secondary, the step is discarded, and the track waits.
// Needs: types, tracks, interact. CPU twin: CpuRun::all in src/engine/cpu/engine.rs.

@group(0) @binding(5) var<storage, read_write> counters: array<atomic<u32>>;
// Sums of two words, the low one first: bins, the outside of all bins, then each material of each
// primary.
@group(0) @binding(6) var<storage, read_write> deposits: array<atomic<u32>>;
// Slots without a track, from HEAD to TAIL.
@group(0) @binding(7) var<storage, read_write> vacancies: array<u32>;

const NO_SLOT: u32 = 0xffffffffu;

// Counters that all threads of a workgroup need, read once.
struct Now {
    size: u32,
    used: u32,
    room: u32,
    head: u32,
    birth: u32,
}

var<workgroup> wg_now: Now;
// Of the workgroup: tracks that are made and that end, and steps by process. Each kind is added to
// what all have at once.
var<workgroup> wg_made: atomic<u32>;
var<workgroup> wg_first_made: u32;
var<workgroup> wg_ended: atomic<u32>;
var<workgroup> wg_first_ended: u32;
var<workgroup> wg_done: array<atomic<u32>, PROCESSES>;

// Before anything else, by all threads.
fn begin(thread: u32) {
    if thread == 0u {
        wg_now = Now(
            atomicLoad(&counters[SIZE]),
            atomicLoad(&counters[USED]),
            atomicLoad(&counters[ROOM]),
            atomicLoad(&counters[HEAD]),
            birth_of(atomicLoad(&counters[ITERATIONS])),
        );
        atomicStore(&wg_made, 0u);
        atomicStore(&wg_ended, 0u);
    }
    if thread < PROCESSES {
        atomicStore(&wg_done[thread], 0u);
    }
    workgroupBarrier();
}

// The slot of one that is made, of all in this step.
fn slot_of_made(made: u32) -> u32 {
    if made < wg_now.room {
        return vacancies[(wg_now.head + made) % params.capacity];
    }
    let fresh = wg_now.used + (made - wg_now.room);
    return select(NO_SLOT, fresh, fresh < params.capacity);
}

// 2^-20 MeV, cut off, in two words.
fn units_of(energy: f32) -> vec2<u32> {
    let high = floor(energy * (1.0 / 4096.0));
    return vec2<u32>(u32((energy - high * 4096.0) * 1048576.0), u32(high));
}

fn add_to_deposits(bin: u32, energy: f32) {
    let units = units_of(energy);
    if units.x == 0u && units.y == 0u {
        return;
    }
    let before = atomicAdd(&deposits[2u * bin], units.x);
    let carry = select(0u, 1u, before + units.x < before);
    if units.y + carry > 0u {
        atomicAdd(&deposits[2u * bin + 1u], units.y + carry);
    }
}

fn add_to_counters(word: u32, energy: f32) {
    let units = units_of(energy);
    let before = atomicAdd(&counters[word], units.x);
    let carry = select(0u, 1u, before + units.x < before);
    if units.y + carry > 0u {
        atomicAdd(&counters[word + 1u], units.y + carry);
    }
}

fn bin_of(place: vec3<f32>) -> u32 {
    let at = floor((vec2<f32>(sqrt(dot(place.xy, place.xy)), place.z) - params.bins_low) * params.bins_per_mm);
    let bins = vec2<f32>(params.bins);
    if at.x >= 0.0 && at.x < bins.x && at.y >= 0.0 && at.y < bins.y {
        return u32(at.x) * params.bins.y + u32(at.y);
    }
    return params.bins.x * params.bins.y;
}

// All threads call this after `begin`. Threads without a track finish none.
fn finish(slot: u32, track: Track, is_track: bool, thread: u32) {
    var effect: Effect;
    var made = 0u;
    if is_track {
        effect = interaction_of(track);
        if effect.has_secondary != 0u {
            made = atomicAdd(&wg_made, 1u);
        }
    }
    workgroupBarrier();
    if thread == 0u && atomicLoad(&wg_made) > 0u {
        wg_first_made = atomicAdd(&counters[TAKEN], atomicLoad(&wg_made));
    }
    workgroupBarrier();
    var ends = false;
    var ended = 0u;
    if is_track {
        var has_room = true;
        if effect.has_secondary != 0u {
            let free = slot_of_made(wg_first_made + made);
            has_room = free != NO_SLOT;
            if has_room {
                store_born(free, effect.secondary, wg_now.birth);
            }
        }
        if has_room {
            store(slot, effect.after);
            ends = effect.after.status == IS_VACANT;
            if ends {
                ended = atomicAdd(&wg_ended, 1u);
            }
            atomicAdd(&wg_done[track.process], 1u);
            add_to_deposits(bin_of(track.place), effect.deposited);
            if params.scored_materials > 0u && track.material > 0u {
                let score = track.number.y * params.scored_materials + track.material - 1u;
                add_to_deposits(params.bins.x * params.bins.y + 1u + score, effect.deposited);
            }
            if effect.escaped > 0.0 {
                add_to_counters(ESCAPED, effect.escaped);
            }
            if effect.abandoned > 0.0 {
                add_to_counters(ABANDONED, effect.abandoned);
            }
        } else {
            var waiting = track;
            waiting.status = IS_WAITING;
            store(slot, waiting);
            atomicAdd(&counters[WAITING], 1u);
        }
    }
    workgroupBarrier();
    if thread == 0u && atomicLoad(&wg_ended) > 0u {
        wg_first_ended = atomicAdd(&counters[TAIL], atomicLoad(&wg_ended));
    }
    if thread < PROCESSES {
        let done = atomicLoad(&wg_done[thread]);
        if done > 0u {
            let before = atomicAdd(&counters[DONE + 2u * thread], done);
            if before + done < before {
                atomicAdd(&counters[DONE + 2u * thread + 1u], 1u);
            }
        }
    }
    workgroupBarrier();
    if ends {
        vacancies[(wg_first_ended + ended) % params.capacity] = slot;
    }
}
