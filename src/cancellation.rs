//! Searches that end before they are complete.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::{Error, Result};

/// Cancels searches, from any thread. All clones are the same token.
///
/// A batch is searched with a token by [`BatchView::cancelled_by`](crate::BatchView::cancelled_by).
/// The CPU engines look at the token within each RoI, the GPU engine before each part of a batch.
///
/// ```
/// use zfinder::{BatchView, CancellationToken, Detector, Engine, Error, Roi, ZFinder};
/// let finder = ZFinder::builder(Detector::generic()).engine(Engine::Cpu).build()?;
/// let (token, roi) = (CancellationToken::default(), Roi::default());
/// let batch = BatchView::from(&roi).cancelled_by(&token);
/// assert!(finder.find_batch(batch).is_ok());
/// token.cancel();
/// assert!(matches!(finder.find_batch(batch), Err(Error::Cancelled)));
/// # Ok::<(), zfinder::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct CancellationToken(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    is_cancelled: AtomicBool,
    /// Tokens that cancel this one together.
    all_of: Box<[CancellationToken]>,
}

impl CancellationToken {
    /// Cancels the searches with this token: each ends soon, with [`Error::Cancelled`]. Later
    /// searches with it end at once.
    pub fn cancel(&self) {
        self.0.is_cancelled.store(true, Ordering::Relaxed);
    }

    /// Returns a token that is cancelled once all of these are, for a search on behalf of several
    /// callers. Without tokens it is not cancelled.
    ///
    /// ```
    /// use zfinder::CancellationToken;
    /// let tokens = [CancellationToken::default(), CancellationToken::default()];
    /// let all = CancellationToken::all(tokens.clone());
    /// tokens[1].cancel();
    /// assert!(!all.is_cancelled());
    /// tokens[0].cancel();
    /// assert!(all.is_cancelled());
    /// ```
    #[must_use]
    pub fn all(tokens: impl IntoIterator<Item = Self>) -> Self {
        Self(Arc::new(Inner { is_cancelled: AtomicBool::new(false), all_of: tokens.into_iter().collect() }))
    }

    /// Returns whether the token was cancelled.
    #[inline]
    pub fn is_cancelled(&self) -> bool {
        let Inner { is_cancelled, all_of } = &*self.0;
        is_cancelled.load(Ordering::Relaxed) || !all_of.is_empty() && all_of.iter().all(Self::is_cancelled)
    }
}

/// The token of a search, if it has one.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cancellation<'a>(pub(crate) Option<&'a CancellationToken>);

impl Cancellation<'_> {
    #[inline(always)]
    pub(crate) fn is_requested(self) -> bool {
        self.0.is_some_and(CancellationToken::is_cancelled)
    }

    /// # Errors
    /// [`Error::Cancelled`].
    pub(crate) fn check(self) -> Result<()> {
        if self.is_requested() { Err(Error::Cancelled) } else { Ok(()) }
    }
}
