//! Tests of requests whose search would take minutes: they do not keep others waiting, and end with
//! their clients.

use std::time::{Duration, Instant};

use tonic::Code;
use zfinder::{Preset, Spacepoint};
use zfinder_serve::{BatchOptions, Options, Server};

use crate::common::*;

/// Longest time of a step that must not wait for a heavy search, with other tests running.
const SOON: Duration = Duration::from_secs(10);

/// An RoI of 10,000 spacepoints at one azimuth: 6 * 10^10 triplets.
fn crowd() -> Sample {
    let mut sample = Sample { offsets: vec![0], ..Sample::default() };
    let spacepoint = |i: u32| {
        let layer = i % 4;
        Spacepoint { rho: 50.0 + 40.0 * f64::from(layer), phi: 0.1, z: f64::from(i % 997) * 0.1 - 50.0, layer }
    };
    sample.push((0..10_000).map(spacepoint));
    sample
}

fn server(drain: Duration, in_flight: usize) -> Server {
    let batches = BatchOptions { in_flight: Some(in_flight), ..BatchOptions::default() };
    Server::start(Options { drain, batches, ..options(&[Preset::Auto]) }).unwrap()
}

/// Waits until a heavy request is searched, and so many others wait.
fn wait_until_searched(server: &Server, waiting: u64) {
    std::thread::sleep(Duration::from_millis(500));
    wait_until("a heavy search", || metric(server, &["nv_inference_pending_request_count"]) == waiting);
}

/// Heavy requests of many clients do not take the threads of others. When the clients leave, their
/// searches end.
#[test]
fn heavy_requests_do_not_hold_others_up_and_end_with_their_clients() {
    let server = server(Duration::from_secs(30), 2);
    let (runtime, sample) = (runtime(), Sample::new(3));
    let wanted = sample.answers(Preset::Auto);
    let heavy: Vec<_> = (0..3)
        .map(|_| {
            let mut client = runtime.block_on(connect(&server));
            runtime.spawn(async move { client.model_infer(crowd().request("zfinder-auto")).await })
        })
        .collect();
    wait_until_searched(&server, 1);
    let begun = Instant::now();
    let mut client = runtime.block_on(connect(&server));
    for _ in 0..5 {
        let response = runtime.block_on(client.model_infer(sample.request("zfinder-auto"))).unwrap();
        check_grpc("beside heavy requests", &response.into_inner(), &wanted);
    }
    assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
    assert!(heavy.iter().all(|request| !request.is_finished()), "the requests are heavy");
    // The clients leave.
    heavy.into_iter().for_each(|request| request.abort());
    let begun = Instant::now();
    server.handle().shut_down();
    drop(runtime);
    server.wait();
    assert!(begun.elapsed() < SOON, "searches end with their clients: {:?}", begun.elapsed());
}

/// Requests that are larger than a batch do not take all threads.
#[test]
fn requests_larger_than_a_batch_do_not_hold_others_up() {
    let server = server(Duration::from_secs(30), 2);
    let (runtime, sample) = (runtime(), Sample::new(3));
    let wanted = sample.answers(Preset::Auto);
    // 65,536 RoIs of three spacepoints.
    let mut large = Sample { offsets: vec![0], ..Sample::default() };
    for _ in 0..1 << 16 {
        large.push(
            [(50.5, 37.25), (88.5, 56.25), (122.5, 73.25)].into_iter().zip(0..).map(|((rho, z), layer)| Spacepoint {
                rho,
                phi: 0.1,
                z,
                layer,
            }),
        );
    }
    let large: Vec<_> = (0..2)
        .map(|_| {
            let (mut client, request) = (runtime.block_on(connect(&server)), large.request("zfinder-auto"));
            runtime.spawn(async move { client.model_infer(request).await })
        })
        .collect();
    // A request that has just arrived waits too, so the other is searched if the number stays.
    let one_waits = || metric(&server, &["nv_inference_pending_request_count"]) == 1;
    let is_stable = || one_waits() && (0..5).all(|_| (std::thread::sleep(Duration::from_millis(20)), one_waits()).1);
    wait_until("a large search", is_stable);
    let mut client = runtime.block_on(connect(&server));
    let response = runtime.block_on(client.model_infer(sample.request("zfinder-auto"))).unwrap();
    check_grpc("beside large requests", &response.into_inner(), &wanted);
    assert!(large.iter().all(|request| !request.is_finished()), "the requests are large");
    large.into_iter().for_each(|request| request.abort());
}

/// The deadline of a request, and the end of the time to drain, end its search.
#[test]
fn a_heavy_search_ends_at_its_deadline_and_at_the_end_of_the_server() {
    let server = server(Duration::from_millis(200), 1);
    let (runtime, sample) = (runtime(), Sample::new(3));
    let wanted = sample.answers(Preset::Auto);
    let mut client = runtime.block_on(connect(&server));
    let mut request = tonic::Request::new(crowd().request("zfinder-auto"));
    request.set_timeout(Duration::from_millis(500));
    let status = runtime.block_on(client.model_infer(request)).unwrap_err();
    assert!(matches!(status.code(), Code::DeadlineExceeded | Code::Cancelled), "{status:?}");
    // Its thread is free again.
    let begun = Instant::now();
    let response = runtime.block_on(client.model_infer(sample.request("zfinder-auto"))).unwrap();
    check_grpc("after a deadline", &response.into_inner(), &wanted);
    assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
    let mut other = client.clone();
    let heavy = runtime.spawn(async move { other.model_infer(crowd().request("zfinder-auto")).await });
    wait_until_searched(&server, 0);
    let begun = Instant::now();
    server.handle().shut_down();
    assert!(!server.wait(), "the heavy request was refused");
    assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
    let status = runtime.block_on(heavy).unwrap().unwrap_err();
    assert_eq!(status.code(), Code::Unavailable, "{status:?}");
}
