//! Tests of `zfinder serve` from start to end, and of `zfinder find --follow`. The protocol has its
//! own tests.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::common::{failed, folder, spawn, succeeded, written, zfinder};

/// Two straight tracks of an event from z = 0.
fn tracks(event: u64) -> String {
    let mut text = String::new();
    for (phi, slope) in [(0.1, 0.5), (0.7, -0.25)] {
        for (layer, rho) in [(0, 50.5), (1, 88.5), (2, 122.5)] {
            text.push_str(&format!("{event},{rho},{phi},{},{layer}\n", slope * rho));
        }
    }
    text
}

#[test]
fn answers_come_before_the_input_ends() {
    let arguments = ["find", "-q", "--engine", "reference", "--format", "csv", "-"];
    let mut child = spawn(&[&arguments[..], &["--follow=1"]].concat());
    let mut input = child.stdin.take().expect("a pipe");
    let mut output = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let mut line = || output.next().expect("a line").expect("text");
    input.write_all(format!("event_id,rho,phi,z,layer\n{}", tracks(0)).as_bytes()).expect("written");
    for event in 0..3 {
        // The first row of the next event ends this event.
        let next = tracks(event + 1);
        let (first, rest) = next.split_at(next.find('\n').expect("rows") + 1);
        input.write_all(first.as_bytes()).expect("written");
        if event == 0 {
            assert!(line().starts_with("event_id,"));
        }
        let answer = line();
        assert!(answer.starts_with(&format!("{event},0,0,")), "{answer}");
        input.write_all(rest.as_bytes()).expect("written");
    }
    drop(input);
    assert!(line().starts_with("3,0,0,"));
    assert!(output.next().is_none());
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
}

#[test]
fn following_changes_no_answer() {
    let dir = folder();
    let rows: String = (0..40).map(tracks).collect();
    let file = written(&dir, "events.csv", &format!("event_id,rho,phi,z,layer\n{rows}"));
    let arguments = ["find", "-q", "--engine", "cpu", "--format", "csv", &file];
    let whole = succeeded(zfinder(&arguments));
    assert_eq!(succeeded(zfinder(&[&arguments[..], &["--follow"]].concat())), whole);
    assert_eq!(succeeded(zfinder(&[&arguments[..], &["--follow=0"]].concat())), whole);
    // An error ends the run, after the answers before it.
    let broken = written(&dir, "broken.csv", &format!("event_id,rho,phi,z,layer\n{}{}", tracks(0), "1,2\n"));
    let output = zfinder(&["find", "-q", "--engine", "cpu", "--format", "csv", "--follow", &broken]);
    failed(&output, 1, &["broken.csv, row 8"]);
    let output = zfinder(&["find", "-q", "--engine", "cpu", "--follow", "--on-error", "skip", &broken]);
    failed(&output, 5, &["1 error, which was skipped"]);
}

#[cfg(all(unix, feature = "serve"))]
mod server {
    use super::*;

    const START: [&str; 3] = ["serve", "--detector", "generic"];
    const ANY: [&str; 8] = ["--grpc", "0", "--http", "0", "--metrics", "off", "--engine", "cpu"];

    /// Returns the lines on standard error up to the word `ready`.
    fn ready(child: &mut Child) -> (Vec<String>, impl Read + use<>) {
        let mut said = BufReader::new(child.stderr.take().expect("a pipe"));
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            assert_ne!(said.read_line(&mut line).expect("text"), 0, "{lines:?}");
            // A log in JSON has an object a line.
            let line = match serde_json::from_str::<serde_json::Value>(&line) {
                Ok(object) => object["message"].as_str().expect("a message").to_owned(),
                Err(_) => line.trim_end().to_owned(),
            };
            if line == "ready" {
                return (lines, said);
            }
            lines.push(line);
        }
    }

    fn terminate(child: &Child) {
        let killed = Command::new("kill").args(["-TERM", &child.id().to_string()]).status().expect("there is kill");
        assert!(killed.success());
    }

    #[test]
    fn it_listens_on_loopback_and_drains_on_a_signal() {
        // A background job of a shell ignores INT, and so do its children.
        for format in ["json", "text"] {
            let mut child = spawn(&[&START[..], &ANY, &["--preset", "default", "--log-format", format]].concat());
            let (lines, mut rest) = ready(&mut child);
            let address = |what: &str| {
                let line = lines.iter().find_map(|line| line.strip_prefix(what)).expect("an address");
                line.trim().parse::<std::net::SocketAddr>().expect("an address")
            };
            let (grpc, http) = (address("gRPC on "), address("HTTP on "));
            assert!(grpc.ip().is_loopback() && http.ip().is_loopback());
            let mut stream = TcpStream::connect(http).expect("it listens");
            stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout");
            stream.write_all(b"GET /v2/health/ready HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n").expect("sent");
            let mut answer = [0; 15];
            stream.read_exact(&mut answer).expect("an answer");
            assert_eq!(&answer, b"HTTP/1.1 200 OK");
            // The open connection does not keep the server running.
            terminate(&child);
            let mut said = String::new();
            rest.read_to_string(&mut said).expect("text");
            assert_eq!(child.wait().expect("it ends").code(), Some(0), "{said}");
            assert!(said.contains("draining") && said.contains("all accepted requests are answered"), "{said}");
            if format == "json" {
                assert!(said.lines().all(|line| line.starts_with('{')), "{said}");
            }
        }
    }

    /// Connections without a request fill the server: it answers others, and its log has one line.
    #[test]
    fn a_full_server_warns_once() {
        let command = env!("CARGO_BIN_EXE_zfinder");
        let options = [&START[1..], &ANY, &["--preset", "default", "--max-connections", "100"]].concat().join(" ");
        // The command raises the limit of open files.
        let script = format!("ulimit -Sn 64; exec '{command}' serve {options}");
        let mut shell = Command::new("sh");
        let mut child = shell.args(["-c", &script]).stderr(Stdio::piped()).spawn().expect("a shell");
        let (lines, mut rest) = ready(&mut child);
        let address = lines.iter().find_map(|line| line.strip_prefix("HTTP on ")).expect("an address");
        let silent: Vec<_> = (0..150).map(|_| TcpStream::connect(address).expect("it listens")).collect();
        let mut stream = TcpStream::connect(address).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout");
        stream.write_all(b"GET /v2/health/ready HTTP/1.1\r\nHost: localhost\r\n\r\n").expect("sent");
        let mut answer = [0; 15];
        stream.read_exact(&mut answer).expect("an answer");
        assert_eq!(&answer, b"HTTP/1.1 200 OK");
        drop((silent, stream));
        terminate(&child);
        let mut said = String::new();
        rest.read_to_string(&mut said).expect("text");
        assert_eq!(child.wait().expect("it ends").code(), Some(0), "{said}");
        assert_eq!(said.matches("all 100 connections are in use").count(), 1, "{said}");
        assert!(!said.contains("are not accepted"), "{said}");
    }

    #[test]
    fn numbers_out_of_range_name_their_option() {
        for (option, value, words) in [
            ("--in-flight", "0", "1 is the least"),
            ("--in-flight", "1025", "1024 is the most"),
            ("--batch-rois", "0", "1 is the least"),
            ("--queue", "0", "1 is the least"),
            ("--queue-mib", "0", "1 is the least"),
            ("--max-message-mib", "0", "1 is the least"),
            ("--max-receiving-mib", "63", "the largest request"),
            ("--max-sending-mib", "0", "1 is the least"),
            ("--max-connections", "0", "1 is the least"),
            ("--max-connections", "18446744073709551615", "is the most"),
            ("--max-delay-us", "18446744073709551615", "is the most"),
            ("--allow-origin", "*", "is not an origin"),
        ] {
            failed(&zfinder(&[&START[..], &ANY, &[option, value]].concat()), 2, &[option, words]);
        }
    }

    #[test]
    fn what_cannot_be_served_is_told() {
        let dir = folder();
        let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = taken.local_addr().expect("an address").port().to_string();
        let preset = ["--preset", "default"];
        let refused = |arguments: &[&str], code, words: &[&str]| {
            failed(&zfinder(&[&START[..], &ANY, &preset, arguments].concat()), code, words);
        };
        let plain = |arguments: &[&str], code, words: &[&str]| {
            failed(&zfinder(&[&START[..], arguments].concat()), code, words);
        };
        let on_port = ["--engine", "cpu", "--preset", "default", "--grpc", &port];
        plain(&on_port, 1, &["cannot listen on 127.0.0.1:", "another port"]);
        plain(&["--grpc", "x"], 2, &["a number from 0 to 65535, or off"]);
        plain(&["--grpc", "off", "--http", "off", "--engine", "cpu"], 2, &["neither gRPC nor HTTP"]);
        failed(&zfinder(&["serve"]), 2, &["--detector"]);
        refused(&["--preset", "default"], 2, &["two models `zfinder-default`"]);
        refused(&["--tls-cert", "a.pem"], 2, &["--tls-key"]);
        let bad = written(&dir, "bad.pem", "no certificate");
        refused(&["--tls-cert", &bad, "--tls-key", &bad], 1, &["bad.pem"]);
        refused(&["--model-folder", &dir.path().display().to_string()], 1, &["there is no model in it"]);
        failed(&zfinder(&["serve", "--detector", "none"]), 2, &["there is no detector `none`"]);
        plain(&["--adapter", "no such GPU"], 3, &["no GPU adapter is"]);
    }
}
