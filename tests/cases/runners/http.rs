//! Endpoints on loopback, served by the test itself.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;

use serde_json::{Value, json};
use shellgate_tests::Gate;

use super::{policy, run};

/// What was POSTed, and where to.
pub(crate) struct Posted {
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Posted {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }
}

/// Answers every request on loopback with `answer`, each on a connection of its own, for as long as the test runs. Says
/// where.
pub(crate) fn served(answer: impl Fn(&Posted) -> Vec<u8> + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback is there");
    let url = format!("http://{}", listener.local_addr().expect("it is bound"));
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut reader = BufReader::new(stream);
            let mut posted = Posted { path: String::new(), headers: Vec::new(), body: Vec::new() };
            loop {
                let mut line = String::new();
                if reader.read_line(&mut line).unwrap_or(0) == 0 || line.trim().is_empty() {
                    break;
                }
                if posted.path.is_empty() {
                    line.split(' ').nth(1).unwrap_or_default().clone_into(&mut posted.path);
                } else if let Some((name, value)) = line.split_once(':') {
                    posted.headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
                }
            }
            posted.body = vec![0; posted.header("content-length").parse().unwrap_or(0)];
            if reader.read_exact(&mut posted.body).is_ok() {
                let _ = reader.get_mut().write_all(&answer(&posted));
            }
        }
    });
    url
}

/// An endpoint that is sent JSON.
pub(crate) fn endpoint(answer: impl Fn(&Value) -> String + Send + 'static) -> Value {
    let url =
        served(move |posted| answer(&serde_json::from_slice(&posted.body).unwrap_or_default()).into_bytes());
    json!({"url": format!("{url}/judge")})
}

pub(crate) fn ok(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

#[test]
fn an_endpoint_decides_each_exec_by_its_whole_event() {
    let hook = endpoint(|event| {
        let touch = event["argv"] == json!(["/bin/touch", "RAN"]);
        ok(if touch { r#"{"verdict":"deny","reason":"no touching"}"# } else { r#"{"verdict":"none"}"# })
    });
    let ran = Gate::with_hooks(&[policy("http", hook)]).bash("/bin/echo one; /bin/touch RAN; /bin/echo two");
    assert_eq!(ran.stdout, "one\ntwo\n", "{}", ran.story());
    ran.absent(["RAN"]);
    assert_eq!(ran.denied()[0]["reason"], "no touching", "{}", ran.story());
}

#[test]
fn whatever_an_endpoint_does_but_a_clean_none_refuses() {
    let table: &[(&'static str, Option<&str>, &str)] = &[
        ("HTTP/1.1 500 Oops\r\ncontent-length: 0\r\n\r\n", Some("crash"), "status 500"),
        ("HTTP/1.1 301 Moved\r\nlocation: /x\r\ncontent-length: 0\r\n\r\n", Some("crash"), "status 301"),
        ("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", Some("unreadable"), ""),
        ("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}", Some("unreadable"), "verdict"),
        ("HTTP/1.1 200 OK\r\ncontent-length: 900\r\n\r\n{\"verdict\":\"none\"}", Some("spawn"), ""),
        ("no http at all\r\n\r\n", Some("unreadable"), "HTTP"),
        ("", Some("spawn"), ""),
    ];
    for (answer, defect, reason) in table {
        let ran = run(policy("http", endpoint(|_| (*answer).to_owned())));
        ran.refused_by("guard", reason, *defect);
        ran.absent(["RAN"]);
    }
    let nobody = json!({"url": "http://127.0.0.1:1/"});
    run(policy("http", nobody)).refused_by("guard", "cannot ask", Some("spawn"));
}
