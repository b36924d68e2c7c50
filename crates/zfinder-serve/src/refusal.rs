//! Reasons for refusing a request, in the terms of both protocols.

use std::fmt;

use hyper::StatusCode;
use tonic::{Code, Status};

use crate::limits::{MESSAGE_CHARACTERS, NAME_BYTES, SHOWN_CHARACTERS};

/// The class of a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// The request contradicts the protocol or the model's tensors.
    Invalid,
    /// A web page sent the request, or the request is for another host.
    Forbidden,
    /// The request is larger than a limit.
    TooLarge,
    /// The request is compressed in a way that the server does not read.
    UnknownEncoding,
    /// There is no such model, version or address.
    NotFound,
    /// The queue is full.
    Full,
    /// The rest of the request does not arrive.
    Stalled,
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
    pub(crate) const ALL: [Self; 11] = [
        Self::Invalid,
        Self::Forbidden,
        Self::TooLarge,
        Self::UnknownEncoding,
        Self::NotFound,
        Self::Full,
        Self::Stalled,
        Self::Expired,
        Self::Stopping,
        Self::Unsupported,
        Self::Failed,
    ];

    /// Returns the label in metrics.
    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::Invalid => "INVALID",
            Self::Forbidden => "FORBIDDEN",
            Self::TooLarge => "TOO_LARGE",
            Self::UnknownEncoding => "UNKNOWN_ENCODING",
            Self::NotFound => "NOT_FOUND",
            Self::Full => "REJECTED",
            Self::Stalled => "STALLED",
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
        let mut message = message.into();
        if let Some((end, _)) = message.char_indices().nth(MESSAGE_CHARACTERS) {
            message.truncate(end);
            message.push_str("...");
        }
        Self { reason, message }
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
            Reason::Forbidden => StatusCode::FORBIDDEN,
            Reason::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Reason::UnknownEncoding => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Reason::NotFound => StatusCode::NOT_FOUND,
            Reason::Full => StatusCode::TOO_MANY_REQUESTS,
            Reason::Stalled => StatusCode::REQUEST_TIMEOUT,
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
            Reason::Forbidden => Code::PermissionDenied,
            Reason::NotFound => Code::NotFound,
            Reason::TooLarge | Reason::Full => Code::ResourceExhausted,
            Reason::Stalled | Reason::Expired => Code::DeadlineExceeded,
            Reason::Stopping => Code::Unavailable,
            Reason::UnknownEncoding | Reason::Unsupported => Code::Unimplemented,
            Reason::Failed => Code::Internal,
        };
        Self::new(code, refusal.message)
    }
}

/// Returns a client's text for a message: its first 100 characters, in printable ASCII. Messages
/// travel in headers, whose size clients limit.
pub(crate) fn shown(text: &str) -> String {
    shown_up_to(text, SHOWN_CHARACTERS)
}

/// Returns the error of a parser, which may repeat a client's text. Its end says where the fault
/// is.
pub(crate) fn shown_error(error: impl fmt::Display) -> String {
    let text = error.to_string();
    let length = text.chars().count();
    if length <= 2 * SHOWN_CHARACTERS {
        return shown_up_to(&text, length);
    }
    let end: String = text.chars().skip(length - SHOWN_CHARACTERS).collect();
    shown(&text) + &shown(&end)
}

fn shown_up_to(text: &str, most: usize) -> String {
    let mut shown = String::new();
    let mut characters = text.chars();
    for character in characters.by_ref().take(most) {
        match character {
            ' '..='~' => shown.push(character),
            _ => shown.extend(character.escape_default()),
        }
    }
    if characters.next().is_some() {
        shown.push_str("...");
    }
    shown
}

/// Checks the length of a client's text that the server keeps.
pub(crate) fn check_name(what: &str, text: &str) -> Result<(), Refusal> {
    if text.len() <= NAME_BYTES {
        return Ok(());
    }
    Err(Refusal::invalid(format!("{what} has {} bytes, and {NAME_BYTES} is the most", text.len())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_clients_is_cut_and_escaped() {
        assert_eq!(shown("zfinder-auto"), "zfinder-auto");
        assert_eq!(shown("gr\u{f6}\u{df}e\n\0"), "gr\\u{f6}\\u{df}e\\n\\u{0}");
        assert_eq!(shown(&"a".repeat(100)), "a".repeat(100));
        assert_eq!(shown(&"a".repeat(17 << 20)), format!("{}...", "a".repeat(100)));
        assert!(shown(&"\u{10ffff}".repeat(17 << 20)).len() < 1100);
        assert_eq!(shown_error("short"), "short");
        let long = format!("invalid type: string \"{}\", expected i64 at line 1", "b".repeat(17 << 20));
        let error = shown_error(&long);
        assert!(error.len() < 250 && error.starts_with("invalid type: string \"b"), "{error}");
        assert!(error.ends_with("b\", expected i64 at line 1"), "{error}");
        let middle = "c".repeat(150);
        assert_eq!(shown_error(&middle).matches('c').count(), 150);
    }

    #[test]
    fn messages_have_a_length() {
        let refusal = Refusal::invalid("\u{e9}".repeat(1 << 20));
        assert!(refusal.message.len() <= 2 * MESSAGE_CHARACTERS + 3);
    }
}
