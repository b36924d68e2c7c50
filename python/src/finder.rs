//! An open finder.

use std::num::NonZeroUsize;
use std::panic::resume_unwind;
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use numpy::{IntoPyArray, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use zfinder::columns::Coordinate;
use zfinder::gpu::AdapterChoice;
use zfinder::region::Region;
use zfinder::thesis::Accumulate;
use zfinder::{BatchView, CancellationToken, Columns, Engine, Results, RoiBatch, RoiDescriptor, ZFinder};
use zfinder_study::inspect::Inspect;

use crate::columns::{Coordinates, LayerColumn, descriptors, offsets, slices};
use crate::error::{IntoException, config_error, input_error};
use crate::objects::Objects;
use crate::options::{parse_config, parse_detector};
use crate::pool::detached;
use crate::results::ResultColumns;

/// Duration of a part of a batch, after which signals are checked.
const PART: Duration = Duration::from_millis(250);
/// Cost of the first part, in spacepoints, on fast engines and on the reference engine.
const FIRST_PART: usize = 1 << 20;
const FIRST_PART_REFERENCE: usize = 1 << 12;
/// Largest ratio of the costs of a part and the part before.
const GROWTH: usize = 16;

/// Cost of a part, in spacepoints, from which signals are checked during its search. The thread for
/// it is started in a small fraction of the time of the search.
const WATCHED: usize = 1 << 15;
/// Time between two checks.
const CHECK: Duration = Duration::from_millis(50);

/// Ends searches of other threads.
#[pyclass(frozen, module = "pyzfinder._pyzfinder")]
#[derive(Default)]
pub(crate) struct Cancel(CancellationToken);

#[pymethods]
impl Cancel {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Cancels the searches that have this object.
    fn cancel(&self) {
        self.0.cancel();
    }
}

/// Reads the word of an option.
fn parse<T: FromStr<Err = zfinder::Error>>(word: &str) -> PyResult<T> {
    word.parse().map_err(IntoException::into_exception)
}

/// An engine with its configuration and detector.
#[pyclass(frozen, module = "pyzfinder._pyzfinder")]
pub(crate) struct Core {
    finder: ZFinder,
    /// Cost of a part that takes [`PART`], as the last parts were timed.
    part_cost: AtomicUsize,
    /// The warning about the first spacepoints was taken.
    warned: AtomicBool,
}

#[pymethods]
impl Core {
    #[new]
    #[pyo3(signature = (config, detector, *, engine, adapters, threads, precision, accumulate, encoding))]
    #[allow(clippy::too_many_arguments, reason = "keyword arguments in Python")]
    fn new(
        py: Python<'_>,
        config: &str,
        detector: &str,
        engine: &str,
        adapters: Vec<String>,
        threads: Option<usize>,
        precision: &str,
        accumulate: &str,
        encoding: &str,
    ) -> PyResult<Self> {
        let adapters: Vec<AdapterChoice> = adapters.iter().filter_map(|adapter| adapter.parse().ok()).collect();
        let engine: Engine = parse(engine)?;
        let engine = engine.on(adapters).map_err(IntoException::into_exception)?;
        let is_reference = engine == Engine::Reference;
        let mut builder = ZFinder::builder(parse_detector("detector", detector)?).config(parse_config(config)?);
        builder = builder.engine(engine).precision(parse(precision)?);
        builder = builder.thesis(parse::<Accumulate>(accumulate)?).encoding(parse(encoding)?);
        if let Some(threads) = threads {
            let threads = NonZeroUsize::new(threads)
                .ok_or_else(|| config_error("option `threads`: 0 must be a whole number, 1 and above"))?;
            builder = builder.threads(threads);
        }
        let finder = detached(py, || builder.build())?.map_err(IntoException::into_exception)?;
        let part_cost = AtomicUsize::new(if is_reference { FIRST_PART_REFERENCE } else { FIRST_PART });
        Ok(Self { finder, part_cost, warned: AtomicBool::new(false) })
    }

    /// Returns which engine runs, and on which adapters.
    #[getter]
    fn description(&self) -> String {
        self.finder.description()
    }

    /// Returns whether no GPU is used.
    #[getter]
    fn uses_host(&self) -> bool {
        !self.finder.uses_gpu()
    }

    /// Returns the warning about the first spacepoints that were searched, once.
    fn take_warning(&self) -> Option<&str> {
        let warning = self.finder.input_warning()?;
        (!self.warned.swap(true, Ordering::Relaxed)).then_some(warning)
    }

    /// Returns the set of runs that have the same bits.
    #[getter]
    fn reproducibility(&self) -> &'static str {
        self.finder.reproducibility().as_str()
    }

    /// Finds the vertices of RoIs in columns rho, phi, z, or in columns x, y, z. With objects, an
    /// RoI is an event, which is reduced to the region of its objects. With `worker`, the caller is
    /// the thread of this number among many that search batches.
    #[pyo3(signature = (is_cartesian, coordinates, layer, offsets, rois, cancel=None, objects=None, worker=None))]
    #[allow(clippy::too_many_arguments, reason = "called from Python")]
    fn find<'py>(
        &self,
        py: Python<'py>,
        is_cartesian: bool,
        coordinates: Coordinates<'py>,
        layer: LayerColumn<'py>,
        offsets: PyReadonlyArray1<'py, i64>,
        rois: &Bound<'py, PyDict>,
        cancel: Option<Py<Cancel>>,
        objects: Option<Objects<'py>>,
        worker: Option<usize>,
    ) -> PyResult<ResultColumns> {
        let results = with_batch(py, is_cartesian, &coordinates, &layer, &offsets, rois, |batch| {
            let cancel = cancel.as_ref().map(Py::get);
            let Some(objects) = objects else { return self.search(py, batch, cancel, worker) };
            let regions = objects.regions(batch.len(), self.finder.config())?;
            let selected = detached(py, || Region::select_batch(batch, &regions))?;
            self.search(py, (&selected.map_err(IntoException::into_exception)?).into(), cancel, worker)
        })?;
        Ok(results.into())
    }

    /// Returns the histogram of one RoI: lower edge, width of a bin, weights, sums of z, pairs, and
    /// the number of histograms of which it is the sum. None where the RoI has no histogram.
    #[allow(clippy::type_complexity, clippy::too_many_arguments, reason = "arguments and a tuple in Python")]
    fn histogram<'py>(
        &self,
        py: Python<'py>,
        is_cartesian: bool,
        coordinates: Coordinates<'py>,
        layer: LayerColumn<'py>,
        offsets: PyReadonlyArray1<'py, i64>,
        rois: &Bound<'py, PyDict>,
        index: usize,
    ) -> PyResult<(ResultColumns, Option<Bound<'py, PyDict>>)> {
        let inspection = with_batch(py, is_cartesian, &coordinates, &layer, &offsets, rois, |batch| {
            if index >= batch.len() {
                return Err(input_error(&format!("RoI {index} of {}", batch.len())));
            }
            detached(py, || self.finder.inspect(batch.roi(index)))?.map_err(IntoException::into_exception)
        })?;
        if inspection.histograms.is_empty() {
            return Ok((inspection.results().into(), None));
        }
        let histogram = inspection.histogram();
        let columns = PyDict::new(py);
        columns.set_item("low_mm", histogram.low_mm)?;
        columns.set_item("high_mm", histogram.high_mm())?;
        columns.set_item("bin_mm", histogram.bin_mm)?;
        columns.set_item("background", inspection.background)?;
        columns.set_item("histograms", inspection.histograms.len())?;
        columns.set_item("weights", histogram.weights.into_pyarray(py))?;
        columns.set_item("z_sums_mm", histogram.z_sums_mm.into_pyarray(py))?;
        columns.set_item("pairs", histogram.pairs.into_pyarray(py))?;
        Ok((inspection.results().into(), Some(columns)))
    }
}

impl Core {
    /// Searches a batch without the GIL, part by part, so that a signal ends the search.
    fn search(
        &self,
        py: Python<'_>,
        batch: BatchView<'_>,
        cancel: Option<&Cancel>,
        worker: Option<usize>,
    ) -> PyResult<Results> {
        let (mut results, mut found, mut first) = (Results::new(), Results::new(), 0);
        let token = cancel.map_or_else(CancellationToken::default, |cancel| cancel.0.clone());
        while first < batch.len() {
            let budget = self.part_cost.load(Ordering::Relaxed);
            let (end, cost) = end_of_part(batch, first, budget);
            let rois = batch.rois(first..end).cancelled_by(&token);
            let start = Instant::now();
            let found_in = &mut found;
            let search = || match worker {
                Some(worker) => self.finder.find_batch_by_worker(worker, rois, found_in),
                None => self.finder.find_batch_into(rois, found_in),
            };
            let searched = if cost < WATCHED { detached(py, search)? } else { watched(py, &token, search)? };
            searched.map_err(IntoException::into_exception)?;
            // A much smaller part tells little about a whole one.
            if cost >= budget / 2 {
                let growth = PART.as_secs_f64() / start.elapsed().as_secs_f64().max(1e-9);
                let scaled = (cost as f64 * growth) as usize;
                let part_cost = scaled.clamp(FIRST_PART_REFERENCE, budget.saturating_mul(GROWTH));
                self.part_cost.store(part_cost, Ordering::Relaxed);
            }
            if first == 0 {
                results = std::mem::take(&mut found);
            } else {
                results.append(&found, 0..found.len());
            }
            first = end;
            py.check_signals()?;
        }
        Ok(results)
    }
}

/// Searches on another thread without the GIL. If a signal raises an exception meanwhile, cancels
/// the search and returns the exception.
fn watched<T: Send>(py: Python<'_>, token: &CancellationToken, search: impl FnOnce() -> T + Send) -> PyResult<T> {
    let watch = || {
        thread::scope(|scope| {
            let (sender, receiver) = mpsc::channel();
            let search = scope.spawn(move || {
                let searched = search();
                // The receiver lives longer.
                let _ = sender.send(());
                searched
            });
            let mut raised = Ok(());
            while receiver.recv_timeout(CHECK) == Err(RecvTimeoutError::Timeout) {
                if raised.is_ok() {
                    raised = Python::attach(|py| py.check_signals());
                    if raised.is_err() {
                        token.cancel();
                    }
                }
            }
            let searched = search.join().unwrap_or_else(|panic| resume_unwind(panic));
            raised.map(|()| searched)
        })
    };
    detached(py, watch)?
}

/// Returns the end of the part that begins at an RoI, and the part's cost. A part is at least one
/// RoI, and all remaining ones if they are few.
fn end_of_part(batch: BatchView<'_>, first: usize, budget: usize) -> (usize, usize) {
    /// The cost of an RoI is at least that of this many spacepoints.
    const ROI: usize = 64;
    let (mut cost, mut end) = (0, first);
    while end < batch.len() && (end == first || cost < budget) {
        cost += batch.roi(end).len() + ROI;
        end += 1;
    }
    let rest = batch.rois(end..batch.len());
    let rest_cost = rest.count_spacepoints() + ROI * rest.len();
    if rest_cost < budget / 2 { (batch.len(), cost + rest_cost) } else { (end, cost) }
}

/// Makes a batch of columns, which are borrowed where the library can search them in place.
fn with_batch<T>(
    py: Python<'_>,
    is_cartesian: bool,
    coordinates: &Coordinates<'_>,
    layer: &LayerColumn<'_>,
    offsets_column: &PyReadonlyArray1<'_, i64>,
    rois: &Bound<'_, PyDict>,
    work: impl FnOnce(BatchView<'_>) -> PyResult<T>,
) -> PyResult<T> {
    let offsets = offsets(offsets_column)?;
    let descriptors = descriptors(rois, offsets.len().saturating_sub(1))?;
    let layer = layer.as_slice()?;
    match coordinates {
        Coordinates::Single(columns) => {
            with_columns(py, is_cartesian, slices(columns)?, layer, &offsets, &descriptors, work)
        }
        Coordinates::Double(columns) => {
            with_columns(py, is_cartesian, slices(columns)?, layer, &offsets, &descriptors, work)
        }
    }
}

fn with_columns<C: Coordinate + Sync, T>(
    py: Python<'_>,
    is_cartesian: bool,
    [a, b, z]: [&[C]; 3],
    layer: &[u8],
    offsets: &[usize],
    descriptors: &[RoiDescriptor],
    work: impl FnOnce(BatchView<'_>) -> PyResult<T>,
) -> PyResult<T> {
    if !is_cartesian {
        let columns = Columns::cylindrical(a, b, z, layer).map_err(IntoException::into_exception)?;
        return work(BatchView::new(descriptors, offsets, columns).map_err(IntoException::into_exception)?);
    }
    // rho and phi are computed in f64, as the readers of files do.
    let columns = Columns::cartesian(a, b, z, layer).map_err(IntoException::into_exception)?;
    let batch = detached(py, || {
        let mut batch = RoiBatch::new();
        batch.extend_columns(descriptors, offsets, columns).map(|()| batch)
    })?;
    work((&batch.map_err(IntoException::into_exception)?).into())
}
