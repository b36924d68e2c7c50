//! Reasons for refusing a request, in the terms of both protocols.

use std::fmt;

use hyper::StatusCode;
use tonic::{Code, Status};

/// The class of a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// The request contradicts the protocol or the model's tensors.
    Invalid,
    /// The request is larger than a limit.
    TooLarge,
    /// The request is compressed in a way that the server does not read.
    UnknownEncoding,
    /// There is no such model, version or address.
    NotFound,
    /// The queue is full.
    Full,
    /// The deadline of the request has passed.
    Expired,
    /// The server is shutting down.
    Stopping,
    /// The server does not offer this.
    Unsupported,
    /// The engine failed: a fault of the server.
    Failed,
}

impl Reason {
    /// All reasons, for metrics.
    pub(crate) const ALL: [Self; 9] = [
        Self::Invalid,
        Self::TooLarge,
        Self::UnknownEncoding,
        Self::NotFound,
        Self::Full,
        Self::Expired,
        Self::Stopping,
        Self::Unsupported,
        Self::Failed,
    ];

    /// Returns the label in metrics.
    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::Invalid => "INVALID",
            Self::TooLarge => "TOO_LARGE",
            Self::UnknownEncoding => "UNKNOWN_ENCODING",
            Self::NotFound => "NOT_FOUND",
            Self::Full => "REJECTED",
            Self::Expired => "EXPIRED",
            Self::Stopping => "UNAVAILABLE",
            Self::Unsupported => "UNSUPPORTED",
            Self::Failed => "BACKEND",
        }
    }
}

/// A refusal: the fault, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) reason: Reason,
    pub(crate) message: String,
}

impl Refusal {
    pub(crate) fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self { reason, message: message.into() }
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(Reason::Invalid, message)
    }

    pub(crate) fn expired() -> Self {
        Self::new(Reason::Expired, "the deadline of the request has passed before it was computed")
    }

    pub(crate) fn stopping() -> Self {
        Self::new(Reason::Stopping, "the server is shutting down; ask another one")
    }

    /// Returns the status of an HTTP response.
    pub(crate) fn http_status(&self) -> StatusCode {
        match self.reason {
            Reason::Invalid => StatusCode::BAD_REQUEST,
            Reason::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Reason::UnknownEncoding => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Reason::NotFound => StatusCode::NOT_FOUND,
            Reason::Full => StatusCode::TOO_MANY_REQUESTS,
            Reason::Expired => StatusCode::GATEWAY_TIMEOUT,
            Reason::Stopping => StatusCode::SERVICE_UNAVAILABLE,
            Reason::Unsupported => StatusCode::NOT_IMPLEMENTED,
            Reason::Failed => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl From<Refusal> for Status {
    fn from(refusal: Refusal) -> Self {
        let code = match refusal.reason {
            Reason::Invalid => Code::InvalidArgument,
            Reason::NotFound => Code::NotFound,
            Reason::TooLarge | Reason::Full => Code::ResourceExhausted,
            Reason::Expired => Code::DeadlineExceeded,
            Reason::Stopping => Code::Unavailable,
            Reason::UnknownEncoding | Reason::Unsupported => Code::Unimplemented,
            Reason::Failed => Code::Internal,
        };
        Self::new(code, refusal.message)
    }
}
