//! The segments of the path of an HTTP request.

use std::borrow::Cow;

use crate::refusal::{Refusal, shown};

/// Splits a path at `/`, and then decodes the percent-encoding of each segment once. Empty segments
/// are left out. An encoded `/` does not split a segment.
///
/// # Errors
/// A `%` without two hexadecimal digits, or a segment whose bytes are not UTF-8.
pub(crate) fn segments(path: &str) -> Result<Vec<Cow<'_, str>>, Refusal> {
    let segments = path.split('/').filter(|segment| !segment.is_empty());
    let decoded = segments.map(|segment| {
        decode(segment).map_err(|fault| {
            let (path, segment) = (shown(path), shown(segment));
            Refusal::invalid(format!("the path `{path}` has the segment `{segment}`, {fault}"))
        })
    });
    decoded.collect()
}

fn decode(segment: &str) -> Result<Cow<'_, str>, &'static str> {
    if !segment.contains('%') {
        return Ok(segment.into());
    }
    let mut bytes = Vec::with_capacity(segment.len());
    let mut rest = segment.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let escape = (rest.next().and_then(digit), rest.next().and_then(digit));
                let (Some(high), Some(low)) = escape else { return Err("whose `%` has no two hexadecimal digits") };
                high << 4 | low
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).map(Cow::Owned).map_err(|_| "whose bytes are not UTF-8")
}

fn digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_are_decoded_once() {
        for (path, wanted) in [
            ("/", &[][..]),
            ("//v2///models/", &["v2", "models"]),
            ("/v2/models/my%20model/infer", &["v2", "models", "my model", "infer"]),
            ("/a+b/%C3%a9/%E2%82%ACx/é", &["a+b", "é", "€x", "é"]),
            ("/100%25/%2520/%252", &["100%", "%20", "%2"]),
            ("/a%2Fb/%2F", &["a/b", "/"]),
            ("/%00%7f", &["\0\u{7f}"]),
        ] {
            assert_eq!(segments(path), Ok(wanted.iter().map(|&segment| segment.into()).collect()), "{path}");
        }
    }

    #[test]
    fn a_refusal_shows_the_path_and_the_segment() {
        for (segment, words) in [
            ("%", "hexadecimal"),
            ("a%", "hexadecimal"),
            ("%2", "hexadecimal"),
            ("%2g", "hexadecimal"),
            ("%zz", "hexadecimal"),
            ("%+1", "hexadecimal"),
            ("%é", "hexadecimal"),
            ("%%20", "hexadecimal"),
            ("%ff", "UTF-8"),
            ("%C3", "UTF-8"),
            ("%ED%A0%80", "UTF-8"),
        ] {
            let path = format!("/v2/models/{segment}/infer");
            let message = segments(&path).expect_err(segment).message;
            let wanted = format!("the path `{}` has the segment `{}`, ", shown(&path), shown(segment));
            assert!(message.starts_with(&wanted) && message.contains(words), "{message}");
        }
    }
}
