//! The operations of both protocols: models, their metadata, and searches.

use std::sync::Arc;
use std::time::Instant;

use tokio::sync::{Semaphore, oneshot};

use zfinder::{CancellationToken, Status};

use crate::answer::OutputSelection;
use crate::connections::Connections;
use crate::drain::{Phase, Phases};
use crate::limits::INLINE_BYTES;
use crate::model::Model;
use crate::queue::ClientId;
use crate::refusal::{Reason, Refusal, shown};
use crate::rois::RequestRois;
use crate::scheduler::{Answer, BatchOptions, Job, Outcome, Scheduler};
use crate::schema::{self, InputSet};
use crate::sending::SendLimits;
use crate::shared_memory::Regions;
use crate::statistics::{Count, Statistics};
use crate::tensor::Tensor;

/// Name of the server in its metadata.
pub(crate) const SERVER_NAME: &str = "zfinder";

/// Extensions of the protocol that are always served.
const EXTENSIONS: [&str; 4] = ["binary_tensor_data", "model_configuration", "model_repository", "statistics"];

/// Value of `platform` and `backend`.
pub(crate) const PLATFORM: &str = "zfinder";

/// Why models cannot be loaded or unloaded.
pub(crate) const NO_CONTROL: &str =
    "models are loaded at the start of the server; put files into --model-folder and start it again";

/// State that both protocols share.
pub(crate) struct Service {
    pub(crate) models: Arc<[Model]>,
    pub(crate) scheduler: Arc<Scheduler>,
    pub(crate) batch_options: BatchOptions,
    /// Shared memory of clients on this host.
    pub(crate) regions: Regions,
    pub(crate) connections: Arc<Connections>,
    pub(crate) sending: Arc<SendLimits>,
    /// Permits to parse or to write large bodies.
    heavy: Arc<Semaphore>,
    /// Requests without a known model, and invalid ones.
    pub(crate) unassigned: Count,
    pub(crate) phases: Phases,
}

/// Ends the search of a request when the request ends.
struct CancelsOnDrop(CancellationToken);

impl Drop for CancelsOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// A request in the terms of both protocols.
pub(crate) struct Request {
    pub(crate) model: usize,
    pub(crate) client: ClientId,
    pub(crate) tensors: Vec<Tensor>,
    pub(crate) wanted: OutputSelection,
    pub(crate) arrived: Instant,
    pub(crate) deadline: Option<Instant>,
}

/// A model under one of its names.
#[derive(Clone, Copy)]
pub(crate) struct Served {
    /// Index of the model.
    pub(crate) model: usize,
    pub(crate) inputs: InputSet,
}

impl Service {
    pub(crate) fn new(
        models: Arc<[Model]>,
        scheduler: Arc<Scheduler>,
        batch_options: BatchOptions,
        regions: Regions,
        connections: Arc<Connections>,
        sending: Arc<SendLimits>,
        phases: Phases,
    ) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        // Searches need the other half.
        let heavy = Arc::new(Semaphore::new((cores / 2).max(1)));
        let unassigned = Count::default();
        Self { models, scheduler, batch_options, regions, connections, sending, heavy, unassigned, phases }
    }

    /// Does work on this many bytes. Work on many of them would delay other requests, so it has
    /// threads of its own.
    pub(crate) async fn work<T: Send + 'static>(
        &self,
        bytes: usize,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Refusal> {
        if bytes <= INLINE_BYTES {
            return Ok(work());
        }
        let failed = |what: &str| Refusal::new(Reason::Failed, format!("{what} a large body has ended"));
        let permit = Arc::clone(&self.heavy).acquire_owned().await.map_err(|_| failed("work on"))?;
        let work = move || {
            let _permit = permit;
            work()
        };
        tokio::task::spawn_blocking(work).await.map_err(|_| failed("the thread of"))
    }

    /// Extensions of the protocol that this server offers.
    pub(crate) fn extensions(&self) -> Vec<String> {
        let shared_memory = self.regions.is_offered().then_some("system_shared_memory");
        EXTENSIONS.into_iter().chain(shared_memory).map(String::from).collect()
    }

    /// Returns whether the server accepts new requests.
    pub(crate) fn is_ready(&self) -> bool {
        !self.phases.has_reached(Phase::Draining)
    }

    /// Returns the model of this name. Without a version, the highest one.
    pub(crate) fn find(&self, name: &str, version: &str) -> Result<Served, Refusal> {
        let of_set = |inputs: InputSet| {
            let name = name.strip_suffix(inputs.suffix())?;
            let named = self.models.iter().enumerate().filter(|(_, model)| model.name == name);
            let found = if version.is_empty() {
                named.max_by_key(|(_, model)| model.version)
            } else {
                named.into_iter().find(|(_, model)| version.parse() == Ok(model.version))
            };
            found.map(|(model, _)| Served { model, inputs })
        };
        InputSet::ALL.into_iter().find_map(of_set).ok_or_else(|| {
            self.unassigned.add(1);
            Refusal::new(Reason::NotFound, self.explain_missing(name, version))
        })
    }

    /// Returns why there is no such model, and the models or versions that there are.
    fn explain_missing(&self, name: &str, version: &str) -> String {
        let bare = |inputs: InputSet| name.strip_suffix(inputs.suffix());
        let (shown_name, version) = (shown(name), shown(version));
        let is_named = |model: &&Model| InputSet::ALL.into_iter().filter_map(bare).any(|bare| bare == model.name);
        let mut versions: Vec<u32> = self.models.iter().filter(is_named).map(|model| model.version).collect();
        if !versions.is_empty() {
            versions.sort_unstable();
            let versions: Vec<String> = versions.iter().map(u32::to_string).collect();
            return format!(
                "model `{shown_name}` has no version `{version}`; its versions are {}",
                versions.join(", ")
            );
        }
        let mut known: Vec<&str> = Vec::new();
        for model in &*self.models {
            if !known.contains(&&*model.name) {
                known.push(&model.name);
            }
        }
        format!("there is no model `{shown_name}`; models are {}, each also with -xyz or -points", known.join(", "))
    }

    /// Returns all models under all their names.
    pub(crate) fn served(&self) -> impl Iterator<Item = Served> {
        let models = 0..self.models.len();
        models.flat_map(|model| InputSet::ALL.map(|inputs| Served { model, inputs }))
    }

    /// Returns the models of a request for statistics: the named one, or all without a name.
    pub(crate) fn select(&self, name: &str, version: &str) -> Result<Vec<usize>, Refusal> {
        if name.is_empty() { Ok((0..self.models.len()).collect()) } else { Ok(vec![self.find(name, version)?.model]) }
    }

    /// Returns the name by which a client called a model.
    pub(crate) fn name(&self, served: Served) -> String {
        format!("{}{}", self.models[served.model].name, served.inputs.suffix())
    }

    pub(crate) fn statistics(&self, model: usize) -> &Statistics {
        &self.scheduler.statistics[model]
    }

    /// Returns the versions of the model that has this name, in ascending order.
    pub(crate) fn versions(&self, served: Served) -> Vec<String> {
        let name = &self.models[served.model].name;
        let mut versions: Vec<_> =
            self.models.iter().filter(|model| model.name == *name).map(|model| model.version).collect();
        versions.sort_unstable();
        versions.into_iter().map(|version| version.to_string()).collect()
    }

    /// Searches the RoIs of a request. Dropping the future cancels the request.
    pub(crate) async fn infer(&self, request: Request) -> Outcome {
        let (model, arrived) = (request.model, request.arrived);
        let outcome = self.infer_uncounted(request).await;
        if let Ok(Answer { warning: Some(warning), .. }) = &outcome {
            tracing::warn!(model = self.models[model].name, warning, "a request's spacepoints do not fit the detector");
        }
        if let Err(refusal) = &outcome {
            self.statistics(model).fail(refusal.reason, arrived.elapsed());
            tracing::debug!(model = self.models[model].name, reason = refusal.reason.label(), %refusal, "refused");
        }
        outcome
    }

    async fn infer_uncounted(&self, request: Request) -> Outcome {
        let Request { model, client, tensors, wanted, arrived, deadline } = request;
        if deadline.is_some_and(|deadline| deadline <= Instant::now()) {
            return Err(Refusal::expired());
        }
        self.sending.check()?;
        let rois = RequestRois::read(tensors, &self.models[model].config)?;
        let (answer, answered) = oneshot::channel();
        let sending = Arc::clone(&self.sending);
        let cancellation = CancellationToken::default();
        // If the client leaves, this future is dropped.
        let _ends_with_request = CancelsOnDrop(cancellation.clone());
        let job = Job { client, rois, wanted, arrived, deadline, cancellation, sending, answer };
        self.scheduler.submit(model, job);
        let expired = async {
            match deadline {
                Some(deadline) => tokio::time::sleep_until(deadline.into()).await,
                None => std::future::pending().await,
            }
        };
        let mut phases = self.phases.clone();
        let answered = tokio::select! {
            biased;
            answered = answered => answered,
            () = expired => return Err(Refusal::expired()),
            // A search may take longer than the time to drain.
            () = phases.reached(Phase::Over) => return Err(Refusal::stopping()),
        };
        answered.unwrap_or_else(|_| Err(Refusal::new(Reason::Failed, "the thread of the search has ended")))
    }

    /// Returns the parameters of a model's configuration: the configuration of the search in TOML,
    /// and the meaning of the outputs.
    pub(crate) fn parameters(&self, model: usize) -> [(&'static str, String); 4] {
        let words = Status::ALL.iter().map(|status| format!("{} {status}", status.code()));
        [
            ("config_toml", zfinder_io::config_to_toml(&self.models[model].config)),
            ("schema_version", schema::VERSION.to_owned()),
            ("status_codes", words.collect::<Vec<_>>().join(", ")),
            ("tensors", schema::MEANING.to_owned()),
        ]
    }

    /// Returns the number of RoIs at which a batch does not wait for more.
    pub(crate) fn batch_rois(&self) -> usize {
        self.batch_options.batch_rois.unwrap_or_default()
    }

    /// Returns the microseconds that a request may wait for others.
    pub(crate) fn max_delay_us(&self) -> u64 {
        u64::try_from(self.batch_options.max_delay.as_micros()).unwrap_or(u64::MAX)
    }
}
