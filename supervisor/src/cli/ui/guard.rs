//! Which requests are answered at all: those made to this very address, by this very page, with the token of this start.
//! There is no cookie, because browsers send one to every port of the host, and what agents write listens on such ports.

use std::fs::File;
use std::io::{self, Read as _};
use std::net::SocketAddr;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderMap, HeaderName, ORIGIN};
use hyper::{Method, Request, StatusCode};
use subtle::ConstantTimeEq as _;

/// Whoever has it may see and answer. Never on a command line, in an environment or in a file of ours.
pub(super) struct Token(String);

impl Token {
    /// 256 bits of the kernel's.
    pub(super) fn fresh() -> io::Result<Self> {
        let mut bytes = [0; 32];
        File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        Ok(Self(URL_SAFE_NO_PAD.encode(bytes)))
    }

    pub(super) fn text(&self) -> &str {
        &self.0
    }

    /// In a time that says nothing about how much of it was right.
    fn is(&self, given: &[u8]) -> bool {
        self.0.as_bytes().ct_eq(given).into()
    }
}

/// Why a request is not answered.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Refused(pub(super) StatusCode, pub(super) &'static str);

/// Everything that a request must be before anyone looks at what it wants.
pub(super) fn admit<B>(request: &Request<B>, address: SocketAddr, token: &Token) -> Result<(), Refused> {
    let headers = request.headers();
    // Another name that leads here is an attempt to be taken for us by a browser (DNS rebinding).
    if one(headers, &HOST) != Some(address.to_string().as_bytes()) {
        let why = "this page has another address than the one that was asked for";
        return Err(Refused(StatusCode::MISDIRECTED_REQUEST, why));
    }
    let foreign = Refused(StatusCode::FORBIDDEN, "another page made this request");
    let ours = format!("http://{address}");
    if headers.contains_key(ORIGIN) && one(headers, &ORIGIN) != Some(ours.as_bytes()) {
        return Err(foreign);
    }
    if !request.uri().path().starts_with("/api/") {
        // The page itself, which is the same for everybody.
        return Ok(());
    }
    // A browser says who made the request; one that does not is judged by the rest.
    let site = HeaderName::from_static("sec-fetch-site");
    if headers.contains_key(&site) && one(headers, &site) != Some(b"same-origin") {
        return Err(foreign);
    }
    let given = one(headers, &AUTHORIZATION).and_then(|value| value.strip_prefix(b"Bearer "));
    if !given.is_some_and(|given| token.is(given)) {
        let why = "this needs the link that `shellgate ui` printed when it was started";
        return Err(Refused(StatusCode::UNAUTHORIZED, why));
    }
    if request.method() == Method::POST {
        if !headers.contains_key(ORIGIN) {
            return Err(foreign);
        }
        if one(headers, &CONTENT_TYPE) != Some(b"application/json") {
            return Err(Refused(StatusCode::UNSUPPORTED_MEDIA_TYPE, "an answer is JSON"));
        }
    }
    Ok(())
}

/// The value of a header that is there once.
fn one<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a [u8]> {
    let mut values = headers.get_all(name).iter();
    let first = values.next()?;
    values.next().is_none().then(|| first.as_bytes())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

    use super::*;

    const ADDRESS: &str = "127.0.0.1:4000";

    fn status(method: &str, path: &str, headers: &[(&str, &str)]) -> u16 {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let token = Token("right".to_owned());
        match admit(&request.body(()).unwrap(), ADDRESS.parse().unwrap(), &token) {
            Ok(()) => 200,
            Err(Refused(status, _)) => status.as_u16(),
        }
    }

    const GOOD: &[(&str, &str)] = &[
        ("host", ADDRESS),
        ("authorization", "Bearer right"),
        ("origin", "http://127.0.0.1:4000"),
        ("sec-fetch-site", "same-origin"),
        ("content-type", "application/json"),
    ];

    /// The good request with one header replaced, or left out.
    fn with(name: &str, value: Option<&str>) -> u16 {
        let mut headers = GOOD.to_vec();
        headers.retain(|(known, _)| *known != name);
        headers.extend(value.map(|value| (name, value)));
        status("POST", "/api/x", &headers)
    }

    #[test]
    fn a_request_of_our_own_page_is_answered_and_one_wrong_header_is_enough_to_refuse() {
        assert_eq!(status("POST", "/api/x", GOOD), 200);
        assert_eq!(with("sec-fetch-site", None), 200, "not every browser says it");
        for (name, value, expected) in [
            ("host", None, 421),
            ("host", Some("localhost:4000"), 421),
            ("host", Some("127.0.0.1"), 421),
            ("host", Some("evil.example:4000"), 421),
            ("origin", None, 403),
            ("origin", Some("null"), 403),
            ("origin", Some("http://127.0.0.1:3000"), 403),
            ("origin", Some("https://127.0.0.1:4000"), 403),
            ("sec-fetch-site", Some("same-site"), 403),
            ("sec-fetch-site", Some("cross-site"), 403),
            ("authorization", None, 401),
            ("authorization", Some("right"), 401),
            ("authorization", Some("Bearer righ"), 401),
            ("authorization", Some("Bearer wrong"), 401),
            ("content-type", None, 415),
            ("content-type", Some("text/plain"), 415),
        ] {
            assert_eq!(with(name, value), expected, "{name}: {value:?}");
        }
    }

    #[test]
    fn a_header_that_is_there_twice_is_none() {
        for (name, value) in &GOOD[..3] {
            let mut headers = GOOD.to_vec();
            headers.push((*name, *value));
            assert_ne!(status("POST", "/api/x", &headers), 200, "{name}");
        }
    }

    #[test]
    fn the_page_itself_needs_no_token_and_still_its_own_name() {
        assert_eq!(status("GET", "/", &[("host", ADDRESS)]), 200);
        assert_eq!(status("GET", "/", &[("host", ADDRESS), ("sec-fetch-site", "cross-site")]), 200);
        assert_eq!(status("GET", "/", &[("host", "evil.example")]), 421);
        assert_eq!(status("GET", "/", &[("host", ADDRESS), ("origin", "http://evil.example")]), 403);
        assert_eq!(status("GET", "/api/live", &[("host", ADDRESS)]), 401);
    }

    #[test]
    fn two_tokens_are_two() {
        let (one, other) = (Token::fresh().unwrap(), Token::fresh().unwrap());
        assert!(one.text().len() == 43 && !one.is(other.text().as_bytes()) && one.is(one.text().as_bytes()));
    }
}
