//! Cells of the calorimeter as its kernels read them.

use kernel_host::wgpu::BufferUsages;
use kernel_host::{Buffer, Gpu};

use crate::calorimeter::Tables;
use crate::counters::Scheme;
use crate::error::Result;
use crate::event::INVALID_ADC;

/// The number of digits in a quad of words.
pub(super) const QUAD: usize = 8;
/// The number of threads that take a chunk together, and of quads of each; as in
/// shaders/calo_exact.wgsl.
const TOGETHER: usize = 8;
const QUADS: usize = 3;

/// Returns gain, sine, pedestal and area of each cell.
fn gains(tables: &Tables) -> Vec<u32> {
    let cell = |i: usize| {
        let pedestal = i32::from(tables.pedestal[i]) as u32;
        [tables.gain[i].to_bits(), tables.sin_theta[i].to_bits(), pedestal, tables.area[i].into()]
    };
    (0..tables.gain.len()).flat_map(cell).collect()
}

/// Consecutive quads and their cells of one area: as many as the threads take together. A quad with
/// cells of several areas is in a chunk of each.
struct Chunk {
    first: usize,
    quads: usize,
    area: u8,
}

/// Returns a pedestal biased as the shader biases digits.
fn biased(pedestal: i16) -> u16 {
    pedestal.wrapping_sub(INVALID_ADC) as u16
}

impl Chunk {
    /// Returns the cell of a byte of a four of a thread's quad.
    fn cell(&self, tables: &Tables, thread: usize, quad: usize, four: usize, byte: usize) -> Option<usize> {
        let quad = thread + quad * TOGETHER;
        // The order of bytes after two words are interleaved.
        let i = (self.first + quad) * QUAD + four * 4 + [0, 2, 1, 3][byte];
        (quad < self.quads && tables.area.get(i) == Some(&self.area)).then_some(i)
    }

    fn words(&self) -> [u32; 2] {
        [self.first as u32, self.area.into()]
    }

    /// Returns the quads in words of four cells; the threads lie side by side in each four words.
    fn quads(&self, tables: &Tables) -> Vec<[u32; 4]> {
        let word = |thread: usize, quad: usize, four: usize, byte: &dyn Fn(usize) -> u8| {
            u32::from_le_bytes(std::array::from_fn(|place| {
                self.cell(tables, thread, quad, four, place).map_or(0, byte)
            }))
        };
        let words = |thread: usize, quad: usize| -> Vec<u32> {
            let mut words = Vec::new();
            for weights in [&tables.energy_weight, &tables.et_weight] {
                for (four, shift) in [(0, 0), (0, 8), (0, 16), (1, 0), (1, 8), (1, 16)] {
                    words.push(word(thread, quad, four, &|i| (weights[i] >> shift) as u8));
                }
            }
            for (shift, four) in [(0, 0), (0, 1), (8, 0), (8, 1)] {
                words.push(word(thread, quad, four, &|i| (biased(tables.pedestal[i]) >> shift) as u8));
            }
            words
        };
        let mut all = vec![[0; 4]; QUADS * 4 * TOGETHER];
        for (thread, quad) in (0..TOGETHER).flat_map(|thread| (0..QUADS).map(move |quad| (thread, quad))) {
            for (vector, four) in words(thread, quad).chunks_exact(4).enumerate() {
                all[(quad * 4 + vector) * TOGETHER + thread].copy_from_slice(four);
            }
        }
        all
    }

    /// Returns for each thread which cells exist: the fours are bits of four bytes.
    fn there(&self, tables: &Tables) -> Vec<u32> {
        let of = |thread: usize| {
            let places = (0..QUADS * 2).flat_map(|four| (0..4).map(move |byte| (four, byte)));
            let bits = places.filter(|&(four, byte)| self.cell(tables, thread, four / 2, four % 2, byte).is_some());
            bits.fold(0, |all, (four, byte)| all | 1 << (8 * byte + four))
        };
        (0..TOGETHER).map(of).collect()
    }
}

/// Buffers of cells for the calorimeter's kernel, by the names of its bindings.
pub(super) struct Cells {
    /// The number of chunks in the exact scheme.
    pub(super) chunks: u32,
    pub(super) buffers: Vec<(&'static str, Buffer<u32>)>,
}

impl Cells {
    pub(super) fn new(gpu: &Gpu, tables: &Tables, scheme: Scheme) -> Result<Self> {
        let (chunks, columns) = if scheme == Scheme::Exact {
            let chunks = chunks(tables);
            let columns = vec![
                ("chunks", chunks.iter().flat_map(Chunk::words).collect()),
                ("quads", chunks.iter().flat_map(|chunk| chunk.quads(tables)).flatten().collect()),
                ("there", chunks.iter().flat_map(|chunk| chunk.there(tables)).collect()),
                ("pedestals", pedestals(tables)),
            ];
            (chunks.len() as u32, columns)
        } else {
            (0, vec![("cells", gains(tables))])
        };
        let mut buffers = Vec::new();
        for (name, words) in columns {
            let words: Vec<u32> = words;
            let mut buffer = Buffer::new(name, BufferUsages::STORAGE | BufferUsages::COPY_DST);
            buffer.write(gpu, &words)?;
            buffers.push((name, buffer));
        }
        Ok(Self { chunks, buffers })
    }
}

/// Returns sums of biased pedestals times weights: for each area, and for the energy.
fn pedestals(tables: &Tables) -> Vec<u32> {
    let mut sums = [0; 7];
    for (i, &area) in tables.area.iter().enumerate() {
        let pedestal = u64::from(biased(tables.pedestal[i]));
        sums[usize::from(area)] += tables.et_weight[i] as u64 * pedestal;
        sums[6] += tables.energy_weight[i] as u64 * pedestal;
    }
    sums.iter().flat_map(|sum: &u64| [*sum as u32, (sum >> 32) as u32]).collect()
}

fn chunks(tables: &Tables) -> Vec<Chunk> {
    let mut chunks: Vec<Chunk> = Vec::new();
    for area in 0..6 {
        // The last chunk of this area, while it has room.
        let mut open = None;
        for (quad, areas) in tables.area.chunks(QUAD).enumerate() {
            if !areas.contains(&area) {
                open = None;
                continue;
            }
            match open.and_then(|at: usize| chunks.get_mut(at)).filter(|chunk| chunk.quads < TOGETHER * QUADS) {
                Some(chunk) => chunk.quads += 1,
                None => {
                    open = Some(chunks.len());
                    chunks.push(Chunk { first: quad, quads: 1, area });
                }
            }
        }
    }
    chunks
}
