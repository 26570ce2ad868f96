//! The control socket, spoken to byte by byte: what a peer may really send, not what a client would.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

/// A raw connection.
#[derive(Debug)]
pub struct Socket(BufReader<UnixStream>);

impl Socket {
    /// The one socket in a session's folder.
    #[track_caller]
    pub fn in_session(session: &Path) -> PathBuf {
        let entries = std::fs::read_dir(session).expect("the session has a folder").flatten();
        let named = |path: &PathBuf| path.extension().is_some_and(|end| end == "sock");
        let found: Vec<_> = entries.map(|entry| entry.path()).filter(named).collect();
        assert_eq!(found.len(), 1, "sockets of the session: {found:?}");
        found[0].clone()
    }

    /// As one whom also those kernels know that do so only the second time.
    #[track_caller]
    pub fn acquainted(path: &Path) -> Self {
        Self::connect(path).call("session", &json!({}));
        Self::connect(path)
    }

    #[track_caller]
    pub fn connect(path: &Path) -> Self {
        let stream = UnixStream::connect(path).expect("the session listens");
        stream.set_read_timeout(Some(Duration::from_mins(1))).expect("a plain socket option");
        Self(BufReader::new(stream))
    }

    /// False when nobody takes it any more.
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) -> bool {
        self.0.get_mut().write_all(bytes.as_ref()).is_ok()
    }

    /// The next message; `None` at the end.
    #[track_caller]
    pub fn receive(&mut self) -> Option<Value> {
        let mut line = String::new();
        match self.0.read_line(&mut line) {
            Ok(0) => None,
            Ok(_) => Some(serde_json::from_str(&line).expect("a message is JSON")),
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => None,
            Err(error) => panic!("no message: {error}"),
        }
    }

    /// A request and its answer.
    #[track_caller]
    pub fn call(&mut self, method: &str, params: &Value) -> Value {
        let request = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
        assert!(self.send(format!("{request}\n")), "the session takes a request");
        self.receive().expect("the session answers")
    }
}
