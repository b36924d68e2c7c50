//! How an engine works, beside the physics: which one runs, its number type, its sums, its
//! encoding.

use std::num::NonZeroUsize;
use std::str::FromStr;
use std::time::Duration;

#[cfg(feature = "gpu")]
pub(crate) use kernel_host::AdapterChoice;

use crate::config::words::{Word, not_a_word, words};
use crate::error::{Error, Result};
use crate::thesis::ThesisOptions;

/// Engine that computes.
#[non_exhaustive]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Engine {
    /// A hardware GPU if there is one, else the CPU. Never a software adapter, unless
    /// `WGPU_ADAPTER_NAME` names it. Without the feature `gpu`, the CPU.
    #[default]
    Auto,
    /// A GPU through wgpu; all of them with [`AdapterChoice::All`], as in [`Engine::Gpus`].
    #[cfg(feature = "gpu")]
    Gpu(AdapterChoice),
    /// Several GPUs by choice; a GPU that is named twice is opened twice. A stream gives each batch
    /// to the next free GPU. A single batch is divided among the GPUs; a single RoI goes to the
    /// first. If a GPU is lost, the remaining GPUs repeat its work in flight and continue.
    #[cfg(feature = "gpu")]
    Gpus(Vec<AdapterChoice>),
    /// All cores, in the same stages and fixed-point sums as the GPU.
    Cpu,
    /// Serial and in f64, straight from the specification: the answer that the others are checked
    /// against.
    Reference,
}

impl Engine {
    /// The words of [`Engine`] in files and on command lines.
    pub const WORDS: &'static [Word] = &[
        Word { word: "auto", about: "A hardware GPU if there is one, else the CPU." },
        #[cfg(feature = "gpu")]
        Word { word: "gpu", about: "A GPU." },
        Word { word: "cpu", about: "All cores." },
        Word { word: "reference", about: "Serial and in f64: slow; the check of all other engines." },
    ];

    /// Returns this engine on these adapters, which must be GPUs. Without adapters, the engine is
    /// unchanged.
    ///
    /// # Errors
    /// [`Error::Config`] for adapters of an engine that uses none.
    #[cfg(feature = "gpu")]
    pub fn on(self, adapters: Vec<AdapterChoice>) -> Result<Self> {
        match (self, adapters.is_empty()) {
            (engine, true) => Ok(engine),
            (engine @ (Self::Cpu | Self::Reference), false) => {
                let value = if engine == Self::Cpu { "engine cpu" } else { "engine reference" };
                let reason = "uses no GPU: leave one of the two out; an adapter alone means engine gpu".into();
                Err(Error::Config { key: "adapter", value: value.into(), reason })
            }
            (_, false) => Ok(Self::Gpus(adapters)),
        }
    }
}

/// Reads one of [`Engine::WORDS`].
impl FromStr for Engine {
    type Err = Error;

    fn from_str(word: &str) -> Result<Self> {
        match word {
            "auto" => Ok(Self::Auto),
            #[cfg(feature = "gpu")]
            "gpu" => Ok(Self::Gpu(AdapterChoice::Hardware)),
            "cpu" => Ok(Self::Cpu),
            "reference" => Ok(Self::Reference),
            _ => Err(not_a_word("engine", word, Self::WORDS)),
        }
    }
}

words! {
    /// The number type of the arithmetic on the GPU and CPU engines (the thesis's `real` switch).
    pub enum Precision for "precision" = F32 {
        /// 32 bits.
        F32 = "f32",
        /// 64 bits; on a GPU only if `zfinder adapters` says so.
        ///
        /// The adapter has `SHADER_F64`.
        F64 = "f64",
    }
}

words! {
    /// How spacepoints travel to a GPU. The CPU engine computes with what the GPU would get, so
    /// that the two agree.
    pub enum Encoding for "encoding" = Lossless {
        /// All that the arithmetic holds: 16 bytes a spacepoint in f32, 32 in f64.
        Lossless = "lossless",
        /// 8 bytes a spacepoint, for a bandwidth-bound bus.
        ///
        /// The slice is exact, so the pairs are the same. rho and z are rounded to a power of two
        /// that depends on detector and configuration. In `atlas2010` it is 0.24 um for pairs and
        /// 1 um with triplets, where phi is rounded to 1/32 of a slice. If it would exceed 4 um, or
        /// if pairs weigh by pT, spacepoints are sent losslessly. An RoI with a spacepoint over a
        /// fifth beyond the detector's size is sent losslessly, too.
        Compact = "compact",
    }
}

/// How an engine works, beside what it computes.
#[derive(Clone, Debug, Default)]
pub(crate) struct EngineOptions {
    pub(crate) thesis: ThesisOptions,
    pub(crate) precision: Precision,
    pub(crate) encoding: Encoding,
    pub(crate) checked: bool,
    pub(crate) most_buffer_bytes: Option<u64>,
    pub(crate) most_gpu_bytes: Option<u64>,
    /// Of the CPU engine.
    pub(crate) threads: Option<NonZeroUsize>,
    /// How long to ask the device again and again before waiting for it.
    pub(crate) spin: Duration,
}

#[cfg(all(feature = "gpu", any(test, feature = "internals")))]
/// Times of a GPU for resident spacepoints:
/// [`time_on_device`](crate::internals::time_on_device).
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(not(feature = "internals"), expect(unreachable_pub, reason = "public in `internals`"))]
pub struct DeviceTimes {
    /// RoIs that were searched at once.
    pub rois: usize,
    /// Bytes that their upload takes.
    pub bytes: u64,
    /// Seconds an RoI, from the first submission to the last answer, round by round.
    pub resident: Vec<f64>,
    /// Seconds an RoI of each stage by the device's own clock; none where it has no such clock.
    pub stages: Vec<(String, f64)>,
}
