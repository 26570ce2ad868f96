//! `shellgate ui`, started for a case, and spoken to byte by byte: what a client may really send.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::live::{signal, until};
use crate::watched::Watched;

/// A page that is served.
#[derive(Debug)]
pub struct Ui {
    run: Watched,
    pub address: SocketAddr,
    pub token: String,
}

/// What came back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    pub status: u16,
    /// In lower case.
    pub head: String,
    pub body: String,
}

impl Ui {
    #[track_caller]
    pub(crate) fn new(run: Watched) -> Self {
        let mut line = String::new();
        until("the link of the page", || {
            line = run.stdout_so_far();
            line.ends_with('\n')
        });
        let link = line.trim().strip_prefix("http://").and_then(|rest| rest.split_once("/#"));
        let (address, token) = link.unwrap_or_else(|| panic!("no link: {line}"));
        let address = address.parse().expect("an address and a port");
        Self { run, address, token: token.to_owned() }
    }

    pub fn pid(&self) -> i32 {
        self.run.pid()
    }

    pub fn link(&self) -> String {
        format!("http://{}/#{}", self.address, self.token)
    }

    /// The headers of the page's own requests.
    pub fn headers(&self) -> Vec<(&'static str, String)> {
        vec![
            ("Host", self.address.to_string()),
            ("Authorization", format!("Bearer {}", self.token)),
            ("Origin", format!("http://{}", self.address)),
            ("Content-Type", "application/json".to_owned()),
        ]
    }

    /// A request with exactly these headers, and the whole answer.
    #[track_caller]
    pub fn request(&self, method: &str, path: &str, headers: &[(&str, String)], body: &str) -> Reply {
        let mut text = self.open(method, path, headers, body);
        let mut answer = Vec::new();
        text.read_to_end(&mut answer).expect("the server answers");
        Reply::of(&String::from_utf8_lossy(&answer))
    }

    /// As the page asks.
    #[track_caller]
    pub fn get(&self, path: &str) -> Reply {
        self.request("GET", path, &self.headers(), "")
    }

    /// As the page answers an ask.
    #[track_caller]
    pub fn answer(&self, ask: &Value, body: &Value) -> Reply {
        let path = format!("/api/running/{}/asks/{}", ask["at"], ask["id"]);
        self.request("POST", &path, &self.headers(), &body.to_string())
    }

    /// The connection of a request that was sent.
    #[track_caller]
    pub fn open(&self, method: &str, path: &str, headers: &[(&str, String)], body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).expect("the page is served");
        stream.set_read_timeout(Some(Duration::from_mins(1))).expect("a plain socket option");
        let mut lines = vec![format!("{method} {path} HTTP/1.1")];
        lines.extend(headers.iter().map(|(name, value)| format!("{name}: {value}")));
        lines.extend(["Connection: close".to_owned(), format!("Content-Length: {}", body.len())]);
        let text = format!("{}\r\n\r\n{body}", lines.join("\r\n"));
        stream.write_all(text.as_bytes()).expect("the server takes a request");
        stream
    }

    /// The messages of a stream, as `(id, event, data)`, until one is the last that is wanted.
    #[track_caller]
    pub fn events(
        &self,
        path: &str,
        after: Option<&str>,
        mut last: impl FnMut(&Event) -> bool,
    ) -> Vec<Event> {
        let mut headers = self.headers();
        headers.extend(after.map(|id| ("Last-Event-ID", id.to_owned())));
        let mut stream = self.open("GET", path, &headers, "");
        let (mut text, mut block, mut found) = (String::new(), vec![0; 1 << 16], Vec::new());
        loop {
            let got = stream.read(&mut block).expect("the stream goes on");
            assert!(got > 0, "the stream ended: {text}");
            text.push_str(&String::from_utf8_lossy(&block[..got]));
            while let Some((one, rest)) = text.split_once("\n\n") {
                let event = Event::of(one);
                text = rest.to_owned();
                let Some(event) = event else { continue };
                let done = last(&event);
                found.push(event);
                if done {
                    let _ = stream.shutdown(Shutdown::Both);
                    return found;
                }
            }
        }
    }

    /// Ends it.
    pub fn end(mut self) {
        signal(self.pid(), Signal::SIGTERM);
        until("the end of the page's server", || self.run.has_ended());
    }
}

/// One message of a stream.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    pub id: Option<String>,
    pub name: String,
    pub data: Value,
}

impl Event {
    fn of(text: &str) -> Option<Self> {
        let field = |name: &str| {
            text.lines().find_map(|line| line.trim_end_matches('\r').strip_prefix(name)).map(str::to_owned)
        };
        let data = serde_json::from_str(&field("data: ")?).expect("data is JSON");
        Some(Self { id: field("id: "), name: field("event: ").unwrap_or_default(), data })
    }
}

impl Reply {
    fn of(text: &str) -> Self {
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((text, ""));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status = status.unwrap_or_else(|| panic!("no answer: {text:?}"));
        Self { status, head: head.to_lowercase(), body: body.to_owned() }
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}
