//! Refuses requests of web pages.
//!
//! A page can make a browser send requests to any address. The browser adds the header Origin to
//! requests that change something. With a name that leads to 127.0.0.1, the page can also read
//! answers; the header Host then has that name.

use std::net::IpAddr;

use hyper::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, HOST, HeaderValue, ORIGIN, VARY,
};
use hyper::http::uri::{Authority, Uri};
use hyper::{Method, Request, Response, StatusCode};

use crate::error::{Error, Result};
use crate::refusal::{Reason, Refusal, shown};

/// The origins and hosts that a port accepts.
#[derive(Clone, Debug)]
pub(crate) struct OriginCheck {
    bound: IpAddr,
    /// Web pages whose requests are answered: a scheme, a host and a port.
    allowed: Vec<String>,
    /// Their hosts.
    hosts: Vec<String>,
}

impl OriginCheck {
    /// Checks the form of the allowed origins.
    pub(crate) fn new(bound: IpAddr, allowed: &[String]) -> Result<Self> {
        let host = |origin: &String| {
            let uri: Option<Uri> = origin.parse().ok();
            let is_alone = |uri: &Uri| {
                let authority = uri.authority().is_some_and(|authority| !authority.as_str().contains('@'));
                authority && uri.scheme().is_some() && uri.path() == "/" && !origin.ends_with('/')
            };
            let host = uri.filter(is_alone).and_then(|uri| uri.host().map(str::to_ascii_lowercase));
            host.ok_or_else(|| Error::Option {
                name: "allowed_origins",
                reason: format!("`{}` is not an origin, such as https://example.org:8080", shown(origin)),
            })
        };
        let hosts = allowed.iter().map(host).collect::<Result<_>>()?;
        let allowed = allowed.iter().map(|origin| origin.to_ascii_lowercase()).collect();
        Ok(Self { bound, allowed, hosts })
    }

    /// Refuses a request with a foreign Host or Origin. Returns the origin of an allowed page.
    pub(crate) fn check<B>(&self, request: &Request<B>) -> Result<Option<HeaderValue>, Refusal> {
        // Names lead to other addresses legitimately, and the server does not know them.
        if self.bound.to_canonical().is_loopback() {
            let authority = request.uri().authority().map(|authority| authority.as_str().as_bytes());
            let headers = request.headers().get_all(HOST).into_iter().map(HeaderValue::as_bytes);
            for host in authority.into_iter().chain(headers) {
                if !self.is_local(host) {
                    let host = shown(&String::from_utf8_lossy(host));
                    return Err(Refusal::new(
                        Reason::Forbidden,
                        format!(
                            "the request is for the host `{host}`, and this server listens on {} for clients on this \
                             machine; connect to localhost, or start zfinder serve with --bind or --allow-origin",
                            self.bound
                        ),
                    ));
                }
            }
        }
        let mut origins = request.headers().get_all(ORIGIN).into_iter();
        let Some(origin) = origins.next() else { return Ok(None) };
        let lower = origin.as_bytes().to_ascii_lowercase();
        if origins.next().is_none() && self.allowed.iter().any(|allowed| allowed.as_bytes() == lower) {
            return Ok(Some(origin.clone()));
        }
        let origin = shown(&String::from_utf8_lossy(origin.as_bytes()));
        let message = format!(
            "requests of the web page `{origin}` are refused; start zfinder serve with --allow-origin to answer them"
        );
        Err(Refusal::new(Reason::Forbidden, message))
    }

    /// Whether a host, with or without a port, is this machine.
    fn is_local(&self, host: &[u8]) -> bool {
        let Ok(authority) = Authority::try_from(host) else { return false };
        let host = authority.host();
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        if let Ok(address) = bare.parse::<IpAddr>() {
            return address.to_canonical().is_loopback() || address == self.bound;
        }
        host.eq_ignore_ascii_case("localhost") || self.hosts.iter().any(|allowed| host.eq_ignore_ascii_case(allowed))
    }
}

/// Returns the answer to a browser that asks which requests a page may send. None if it does not
/// ask.
pub(crate) fn preflight<B, T: Default>(request: &Request<B>) -> Option<Response<T>> {
    let asks = request.method() == Method::OPTIONS && request.headers().contains_key("access-control-request-method");
    asks.then(|| {
        let mut response = Response::new(T::default());
        *response.status_mut() = StatusCode::NO_CONTENT;
        for (name, value) in [
            (ACCESS_CONTROL_ALLOW_METHODS, "GET, HEAD, POST"),
            (ACCESS_CONTROL_ALLOW_HEADERS, "content-type, content-encoding, inference-header-content-length"),
            (ACCESS_CONTROL_MAX_AGE, "600"),
        ] {
            response.headers_mut().insert(name, HeaderValue::from_static(value));
        }
        response
    })
}

/// Lets a page read an answer.
pub(crate) fn allow<T>(response: &mut Response<T>, origin: HeaderValue) {
    let headers = response.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("inference-header-content-length"));
    headers.append(VARY, HeaderValue::from_static("origin"));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bound: &str, host: &str, origin: Option<&str>) -> bool {
        let allowed = ["https://Example.org:8080".to_owned()];
        let check = OriginCheck::new(bound.parse().expect("an address"), &allowed).expect("an origin");
        let mut request = Request::post("/v2").header(HOST, host);
        if let Some(origin) = origin {
            request = request.header(ORIGIN, origin);
        }
        let checked = check.check(&request.body(()).expect("a request"));
        checked.as_ref().is_ok_and(|found| found.is_some() == origin.is_some())
    }

    #[test]
    fn hosts_are_checked_on_loopback() {
        for host in ["localhost", "LocalHost:1", "127.0.0.1:8000", "127.9.8.7", "[::1]:80", "[::ffff:127.0.0.1]"] {
            assert!(check("127.0.0.1", host, None) && check("::1", host, None), "{host}");
        }
        assert!(check("127.0.0.1", "example.org:1", None), "the host of an allowed origin");
        for host in ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "10.0.0.1", "[::2]", "", "a b"]
        {
            assert!(!check("127.0.0.1", host, None), "{host}");
            assert!(check("0.0.0.0", host, None), "{host}");
        }
    }

    #[test]
    fn origins_are_checked_everywhere() {
        for bound in ["127.0.0.1", "0.0.0.0"] {
            assert!(check(bound, "localhost", Some("https://example.org:8080")));
            for origin in ["https://example.org", "http://example.org:8080", "null", "", "http://localhost:8000"] {
                assert!(!check(bound, "localhost", Some(origin)), "{origin}");
            }
        }
    }

    #[test]
    fn options_are_origins() {
        for origin in ["", "*", "null", "example.org", "https://example.org/", "https://example.org/a", "https://a@b"] {
            let error = OriginCheck::new(IpAddr::from([127, 0, 0, 1]), &[origin.to_owned()]);
            assert!(error.is_err(), "{origin}");
        }
    }
}
