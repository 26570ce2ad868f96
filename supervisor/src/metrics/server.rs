//! `GET /metrics` and nothing else, one reader after the other, each with a deadline. Trusts no reader.

use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use super::Metrics;

/// A reader that is slower holds up the next one.
const PATIENCE: Duration = Duration::from_secs(5);
/// More than any scraper sends.
const LONGEST: usize = 8 * 1024;
/// After an accept that failed: most likely out of descriptors.
const PAUSE: Duration = Duration::from_millis(100);
const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Serves on a thread until the process ends. Says where, since port 0 is any that is free.
pub fn serve(address: SocketAddr, metrics: Arc<Metrics>) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind(address)?;
    let bound = listener.local_addr()?;
    thread::Builder::new().name("metrics".into()).spawn(move || {
        loop {
            match listener.accept() {
                Ok((reader, _)) => {
                    if let Err(error) = answer(reader, &metrics) {
                        tracing::debug!(%error, "a reader of metrics was not served");
                    }
                }
                Err(_) => thread::sleep(PAUSE),
            }
        }
    })?;
    Ok(bound)
}

fn answer(mut reader: TcpStream, metrics: &Metrics) -> io::Result<()> {
    reader.set_write_timeout(Some(PATIENCE))?;
    let (status, kind, body) = match request(&mut reader)? {
        Some((method, path)) if path.split('?').next() == Some("/metrics") => {
            if method == "GET" {
                ("200 OK", CONTENT_TYPE, metrics.text().map_err(io::Error::other)?)
            } else {
                ("405 Method Not Allowed", "text/plain", "GET only\n".to_owned())
            }
        }
        Some(_) => ("404 Not Found", "text/plain", "there is /metrics\n".to_owned()),
        None => ("400 Bad Request", "text/plain", "this is no HTTP request\n".to_owned()),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    reader.write_all((head + &body).as_bytes())
}

/// Method and path, once all of the head is there.
fn request(reader: &mut TcpStream) -> io::Result<Option<(String, String)>> {
    let until = Instant::now() + PATIENCE;
    let (mut text, mut room) = (Vec::new(), [0; 1024]);
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        reader.set_read_timeout(Some(left))?;
        let count = reader.read(&mut room)?;
        text.extend_from_slice(&room[..count]);
        let mut headers = [httparse::EMPTY_HEADER; 64];
        let mut request = httparse::Request::new(&mut headers);
        match request.parse(&text) {
            Ok(httparse::Status::Complete(_)) => {
                return Ok(request
                    .method
                    .zip(request.path)
                    .map(|(method, path)| (method.into(), path.into())));
            }
            Ok(httparse::Status::Partial) if count > 0 && text.len() <= LONGEST => {}
            Ok(httparse::Status::Partial) | Err(_) => return Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed call fails the test")]
    use super::*;

    fn asked(address: SocketAddr, request: &[u8]) -> String {
        let mut reader = TcpStream::connect(address).unwrap();
        let mut said = String::new();
        // Who says too much has the connection reset, before or behind the answer.
        let _ = reader.write_all(request);
        let _ = reader.shutdown(std::net::Shutdown::Write);
        let _ = reader.read_to_string(&mut said);
        said
    }

    #[test]
    fn metrics_are_served_and_nothing_else() {
        let metrics = Arc::new(Metrics::default());
        let address = serve("127.0.0.1:0".parse().unwrap(), Arc::clone(&metrics)).unwrap();
        metrics.allowed();
        // Who says nothing is waited for; the next one all the same gets an answer.
        let silent = TcpStream::connect(address).unwrap();
        drop(silent);
        for (request, status) in [
            (&b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"[..], "200"),
            (b"GET /metrics?x=1 HTTP/1.0\r\n\r\n", "200"),
            (b"POST /metrics HTTP/1.1\r\n\r\n", "405"),
            (b"GET / HTTP/1.1\r\n\r\n", "404"),
            (b"\x16\x03\x01 nonsense\r\n\r\n", "400"),
            (b"GET /metr", "400"),
        ] {
            let said = asked(address, request);
            assert!(said.starts_with(&format!("HTTP/1.1 {status} ")), "{said}");
            assert_eq!(
                said.contains("shellgate_execs_total{verdict=\"allowed\"} 1"),
                status == "200",
                "{said}"
            );
        }
        let said = asked(address, &vec![b'x'; 3 * LONGEST]);
        assert!(said.is_empty() || said.starts_with("HTTP/1.1 400 "), "{said}");
        assert!(asked(address, b"GET /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 200 "), "it goes on");
    }
}
