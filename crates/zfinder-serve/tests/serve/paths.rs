//! Tests of paths and methods over HTTP.

use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
use hyper::Request;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use zfinder::Preset;
use zfinder_serve::{Model, Options, Server};

use crate::answers::{binary_request, check_binary};
use crate::common::*;

/// Returns a server whose models have these names.
fn server_of(names: &[&str]) -> Server {
    let model = |name: &&str| Model { name: (*name).into(), ..Model::preset(Preset::Default) };
    Server::start(Options { models: names.iter().map(model).collect(), ..options(&[]) }).unwrap()
}

#[test]
fn names_in_paths_are_decoded_once() {
    let server = server_of(&["my model", "50%", "%20", "größe", "a+b"]);
    let address = server.http_address().unwrap();
    for (name, status, words) in [
        ("my%20model", 200, r#""name":"my model""#),
        ("my%20model/versions/%31", 200, r#""name":"my model""#),
        ("my%20model-xyz", 200, r#""name":"my model-xyz""#),
        ("%6dy%20model/config", 200, r#""name":"my model""#),
        ("my+model", 404, "there is no model `my+model`; models are my model, 50%, %20, größe, a+b"),
        ("my%2520model", 404, "there is no model `my%20model`"),
        ("50%25", 200, r#""name":"50%""#),
        ("%2520", 200, r#""name":"%20""#),
        ("gr%C3%B6%c3%9fe", 200, r#""name":"größe""#),
        ("größe", 200, r#""name":"größe""#),
        ("a+b", 200, r#""name":"a+b""#),
        ("a%2Bb", 200, r#""name":"a+b""#),
        ("a%2Fb", 404, "there is no model `a/b`"),
        ("my%20model/versions/2", 404, "model `my model` has no version `2`; its versions are 1"),
        ("my%20model/versions/%C3%A9", 404, r"has no version `\\u{e9}`"),
        ("50%", 400, "the path `/v2/models/50%` has the segment `50%`"),
        ("%zz/infer", 400, "the path `/v2/models/%zz/infer` has the segment `%zz`"),
        ("%ff", 400, "the path `/v2/models/%ff` has the segment `%ff`, whose bytes are not UTF-8"),
    ] {
        let (found, body) = get(address, &format!("/v2/models/{name}"));
        assert!(found == status && body.contains(words), "{name}: {found} {body}");
    }
    let sample = Sample::new(2);
    let (body, length) = binary_request(&sample, true);
    let header = format!("Inference-Header-Content-Length: {length}\r\n");
    let (status, head, answer) = http(address, "POST", "/v2/models/my%20model/infer", &header, &body);
    assert_eq!(status, 200, "{}", String::from_utf8_lossy(&answer));
    let length = head.lines().find_map(|line| line.strip_prefix("inference-header-content-length: ")).unwrap();
    let json = check_binary("HTTP", length.trim().parse().unwrap(), &answer, &sample.answers(Preset::Default));
    assert_eq!(json["model_name"], "my model");
}

/// Paths of GET, with the status of each.
const GET: [(&str, u16); 14] = [
    ("/v2", 200),
    ("/v2/health/live", 200),
    ("/v2/health/ready", 200),
    ("/v2/models/mine", 200),
    ("/v2/models/mine/versions/1", 200),
    ("/v2/models/mine/config", 200),
    ("/v2/models/mine/stats", 200),
    ("/v2/models/mine/ready", 200),
    ("/v2/models/stats", 200),
    ("/v2/systemsharedmemory/status", 200),
    ("/v2/models/other", 404),
    ("/v2/models/other/ready", 503),
    ("/v2/models/%", 400),
    ("/v3", 404),
];

/// Returns sorted headers without the date.
fn undated(head: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = head.lines().filter(|line| !line.starts_with("date:")).collect();
    lines.sort_unstable();
    lines
}

#[test]
fn head_answers_as_get_without_a_body() {
    let server = server_of(&["mine"]);
    let address = server.http_address().unwrap();
    let metrics = server.metrics_address().unwrap();
    let cases = GET.map(|(path, status)| (address, path, status));
    for (address, path, status) in cases.into_iter().chain([(metrics, "/metrics", 200), (metrics, "/", 404)]) {
        let (of_get, get_headers, _) = http(address, "GET", path, "", b"");
        let (of_head, headers, body) = http(address, "HEAD", path, "", b"");
        assert_eq!((of_get, of_head, body.len()), (status, status, 0), "{path}");
        // The lengths of these bodies may change between the two requests.
        if !path.contains("stats") && path != "/metrics" {
            assert_eq!(undated(&headers), undated(&get_headers), "{path}");
        }
    }
    runtime().block_on(async {
        let stream = TokioIo::new(tokio::net::TcpStream::connect(address).await.unwrap());
        let (mut sender, connection) = http2::handshake(TokioExecutor::new(), stream).await.unwrap();
        tokio::spawn(connection);
        for (path, status) in GET {
            let mut answer = async |method: &str| {
                let request = Request::builder().method(method).uri(format!("http://{address}{path}"));
                let (head, body) =
                    sender.send_request(request.body(Empty::<Bytes>::new()).unwrap()).await.unwrap().into_parts();
                let length = head.headers.get("content-length").map_or("0", |length| length.to_str().unwrap());
                (head.status.as_u16(), length.to_owned(), body.collect().await.unwrap().to_bytes())
            };
            let (of_get, of_head) = (answer("GET").await, answer("HEAD").await);
            assert_eq!((of_get.0, of_head.0, of_head.2.len()), (status, status, 0), "{path}");
            assert_eq!(of_get.1, of_get.2.len().to_string(), "{path}");
            if !path.contains("stats") {
                assert_eq!(of_head.1, of_get.1, "{path}");
            }
        }
    });
}

#[test]
fn wrong_methods_are_refused_with_the_allowed_ones() {
    let server = server_of(&["mine"]);
    let address = server.http_address().unwrap();
    let gets = GET.into_iter().filter(|(path, status)| *status == 200 || path.ends_with("/ready"));
    let posts = [
        "/v2/models/mine/infer",
        "/v2/models/my%20model/versions/1/infer",
        "/v2/repository/index",
        "/v2/repository/models/mine/load",
        "/v2/systemsharedmemory/region/a/register",
        "/v2/systemsharedmemory/unregister",
    ];
    let cases = gets
        .flat_map(|(path, _)| ["POST", "PUT", "DELETE", "OPTIONS"].map(|method| (address, method, path, "GET, HEAD")));
    let posts = posts.into_iter().flat_map(|path| ["GET", "HEAD", "PUT"].map(|method| (address, method, path, "POST")));
    let metrics = (server.metrics_address().unwrap(), "POST", "/metrics", "GET, HEAD");
    for (address, method, path, allowed) in cases.chain(posts).chain([metrics]) {
        let (status, head, body) = http(address, method, path, "", b"");
        let wanted = format!("allow: {}", allowed.to_lowercase());
        assert!(status == 405 && head.lines().any(|line| line == wanted), "{method} {path}: {head}");
        let body = String::from_utf8(body).unwrap();
        let words = format!("`{path}` takes the methods {allowed}, not {method}");
        assert!(if method == "HEAD" { body.is_empty() } else { body.contains(&words) }, "{method} {path}: {body}");
    }
    // A path that is unknown is unknown to every method.
    for method in ["GET", "POST", "PUT"] {
        let (status, _, body) = http(address, method, "/v2/models/mine/nothing", "", b"");
        let body = String::from_utf8(body).unwrap();
        assert!(status == 404 && body.contains("there is no `/v2/models/mine/nothing`"), "{method}: {status} {body}");
    }
}
