//! Against a real server on loopback, one connection at a time.
#![expect(clippy::unwrap_used, reason = "a test that cannot set itself up has failed")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;

use super::*;
use crate::hooks::manifest::Protocol;
use crate::hooks::{HookAnswer, protocol, sample};

/// A server that answers `times` requests with `answer`, and what it was told.
fn server(answer: &'static str, times: usize) -> (String, std::thread::JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/judge", listener.local_addr().unwrap());
    let told = std::thread::spawn(move || {
        (0..times)
            .map(|_| {
                let (stream, _) = listener.accept().unwrap();
                let mut reader = BufReader::new(stream);
                let (mut head, mut length) = (String::new(), 0);
                loop {
                    let mut line = String::new();
                    reader.read_line(&mut line).unwrap();
                    if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                        length = value.trim().parse().unwrap();
                    }
                    if line.trim().is_empty() {
                        break;
                    }
                    head.push_str(&line);
                }
                let mut body = vec![0; length];
                reader.read_exact(&mut body).unwrap();
                let _ = reader.get_mut().write_all(answer.as_bytes());
                head + &String::from_utf8(body).unwrap()
            })
            .collect()
    });
    (url, told)
}

fn payload(argv: &[&str]) -> Vec<u8> {
    protocol::payload(Protocol::Native, &sample::event(argv)).unwrap()
}

fn ask(url: &str) -> HookAnswer {
    let headers = BTreeMap::from([("Authorization".to_owned(), "Bearer T".to_owned())]);
    judge(&Http::new(url, headers).unwrap(), Duration::from_secs(2), &payload(&["touch", "x"]))
}

fn judge(hook: &Http, timeout: Duration, payload: &[u8]) -> HookAnswer {
    hook.ask(timeout, payload, &|| true).and_then(Reply::verdict).unwrap_or_else(Into::into)
}

fn answered(answer: &'static str) -> HookAnswer {
    let (url, told) = server(answer, 1);
    let heard = ask(&url);
    told.join().unwrap();
    heard
}

fn defect(answer: &HookAnswer) -> Defect {
    match answer {
        HookAnswer::Fault { defect, .. } => *defect,
        other => panic!("no fault: {other:?}"),
    }
}

macro_rules! ok {
    ($body:literal) => {
        concat!("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n", $body)
    };
}

#[test]
fn the_event_is_posted_and_the_verdict_is_the_body() {
    let (url, told) = server(ok!("{\"verdict\":\"none\"}"), 1);
    assert_eq!(ask(&url), HookAnswer::None);
    let request = told.join().unwrap().remove(0);
    assert!(request.starts_with("POST /judge HTTP/1.1\r\n"), "{request}");
    assert!(request.to_ascii_lowercase().contains("authorization: bearer t"), "{request}");
    assert!(request.contains("\"argv\":[\"touch\",\"x\"]"), "{request}");
    let denied = answered(ok!("{\"verdict\":\"deny\",\"reason\":\"no\"}"));
    assert_eq!(denied, HookAnswer::Deny { reason: "no".into() });
}

#[test]
fn whatever_is_no_verdict_of_a_200_is_a_fault() {
    for (answer, expected) in [
        ("HTTP/1.1 500 Oops\r\nconnection: close\r\n\r\n{\"verdict\":\"none\"}", Defect::Crash),
        ("HTTP/1.1 302 Found\r\nlocation: /ok\r\nconnection: close\r\n\r\n", Defect::Crash),
        ("HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n", Defect::Crash),
        (ok!(""), Defect::Unreadable),
        (ok!("yes"), Defect::Unreadable),
        (ok!("{\"verdict\":\"none\"}{\"verdict\":\"none\"}"), Defect::Unreadable),
        (ok!("{\"verdict\":\"allow\"}"), Defect::WrongArm),
        (ok!("{\"verdict\":\"deny\"}"), Defect::EmptyReason),
        ("HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{\"verdict\":\"none\"}", Defect::Spawn),
    ] {
        assert_eq!(defect(&answered(answer)), expected, "{answer}");
    }
}

#[test]
fn a_server_that_is_not_there_or_does_not_answer_is_a_fault_in_time() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let hook = Http::new(&url, BTreeMap::new()).unwrap();
    let started = std::time::Instant::now();
    let answer = judge(&hook, Duration::from_millis(300), &payload(&["x"]));
    assert_eq!(defect(&answer), Defect::Timeout);
    assert!(started.elapsed() < Duration::from_secs(20));
    drop(listener);
    assert_eq!(defect(&ask(&url)), Defect::Spawn);
}

#[test]
fn plain_http_is_for_this_machine_only() {
    for url in ["http://127.0.0.1:1/x", "http://localhost/", "http://[::1]:9/", "https://policy.example/x"] {
        assert!(Http::new(url, BTreeMap::new()).is_ok(), "{url}");
    }
    for url in ["http://10.0.0.1/", "http://localhost.example/", "ftp://127.0.0.1/", "/x", "", "http://"] {
        assert!(Http::new(url, BTreeMap::new()).is_err(), "{url}");
    }
}
