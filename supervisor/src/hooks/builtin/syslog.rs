//! `syslog`: every event as an RFC 5424 message with structured data, to the system's log socket or over UDP on this
//! machine. Nobody waits for it; a message that is not taken is lost, which is a failure in the hook's log.

use std::borrow::Cow;
use std::fmt::{self, Write as _};
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use super::facts::Facts;
use super::lost;
use crate::hooks::command::Fault;
use crate::hooks::in_process::{InProcess, Told, Wanted};

/// Bytes of a value that are sent; receivers cut messages of more than 8 KiB.
const VALUE: usize = 512;
/// The number that RFC 5612 keeps for documentation: we have none of our own.
const SD_ID: &str = "shellgate@32473";

/// Options of `syslog`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Syslog {
    /// `unix:PATH`, or `udp:ADDRESS:PORT` of this machine.
    pub address: String,
    /// Where a receiver sorts the messages.
    pub facility: Facility,
    /// APP-NAME of the messages.
    pub identifier: String,
}

impl Default for Syslog {
    fn default() -> Self {
        Self {
            address: "unix:/dev/log".to_owned(),
            facility: Facility::Authpriv,
            identifier: "shellgate".to_owned(),
        }
    }
}

/// Where a receiver sorts it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Facility {
    User = 1,
    Daemon = 3,
    Auth = 4,
    /// What not everybody should read.
    Authpriv = 10,
    Local0 = 16,
    Local1,
    Local2,
    Local3,
    Local4,
    Local5,
    Local6,
    Local7,
}

#[derive(Debug)]
enum Address {
    Unix(PathBuf),
    Udp(SocketAddr),
}

impl Address {
    fn parse(text: &str) -> Result<Self, String> {
        if let Some(path) = text.strip_prefix("unix:").filter(|path| path.starts_with('/')) {
            return Ok(Self::Unix(path.into()));
        }
        match text.strip_prefix("udp:").and_then(|address| address.parse::<SocketAddr>().ok()) {
            Some(address) if address.ip().is_loopback() => Ok(Self::Udp(address)),
            Some(_) => Err(format!(
                "address: {text:?} is another machine, and nothing would be encrypted; send it to a receiver on \
                 this one that relays with TLS"
            )),
            None => Err(format!("address: {text:?} is neither unix:/PATH nor udp:ADDRESS:PORT")),
        }
    }

    fn send(&self, timeout: Duration, message: &[u8]) -> io::Result<()> {
        match self {
            Self::Unix(path) => {
                let socket = UnixDatagram::unbound()?;
                socket.set_write_timeout(Some(timeout))?;
                socket.send_to(message, path)?;
            }
            Self::Udp(address) => {
                let socket = UdpSocket::bind((address.ip(), 0))?;
                socket.set_write_timeout(Some(timeout))?;
                socket.connect(address)?;
                socket.send(message)?;
                // On this machine it is known at once that nobody receives there.
                if let Some(error) = socket.take_error()? {
                    return Err(error);
                }
            }
        }
        Ok(())
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => write!(f, "{}", path.display()),
            Self::Udp(address) => write!(f, "udp:{address}"),
        }
    }
}

impl Syslog {
    pub(super) fn build(&self) -> Result<Messages, String> {
        let address = Address::parse(&self.address)?;
        let fits = |c: char| c.is_ascii_graphic();
        if self.identifier.is_empty() || self.identifier.len() > 48 || !self.identifier.chars().all(fits) {
            return Err(format!(
                "identifier: {:?} is not 1 to 48 printable ASCII characters",
                self.identifier
            ));
        }
        let name = nix::sys::utsname::uname().ok();
        let host = name.as_ref().and_then(|name| name.nodename().to_str());
        let host = host.filter(|host| !host.is_empty() && host.chars().all(fits)).unwrap_or("-");
        Ok(Messages { address, options: self.clone(), host: host.to_owned() })
    }
}

#[derive(Debug)]
pub(super) struct Messages {
    address: Address,
    options: Syslog,
    host: String,
}

impl InProcess for Messages {
    fn observe(&self, timeout: Duration, told: &Told, _wanted: Wanted<'_>) -> Result<(), Fault> {
        let message = self.message(&Facts::of(told), jiff::Timestamp::now());
        self.address.send(timeout, message.as_bytes()).map_err(|error| lost(&self.address, &error))
    }
}

impl Messages {
    fn message(&self, facts: &Facts, time: jiff::Timestamp) -> String {
        let priority = self.options.facility as u8 * 8 + facts.severity as u8;
        let time = time.strftime("%Y-%m-%dT%H:%M:%S.%6fZ");
        let (host, name, own) = (&self.host, &self.options.identifier, std::process::id());
        let mut message = format!("<{priority}>1 {time} {host} {name} {own} {} [{SD_ID}", facts.verdict);
        for (name, value) in &facts.fields {
            // Writing to a String cannot fail.
            let _ = write!(message, " {name}=\"{}\"", value_of(value));
        }
        message + "] " + &facts.message
    }
}

/// A value between its quotes: bounded, on one line, and with what would end it escaped.
fn value_of(value: &str) -> String {
    let (shown, cut) = match value.len() {
        ..=VALUE => (Cow::Borrowed(value), ""),
        _ => (Cow::Borrowed(&value[..value.floor_char_boundary(VALUE)]), "…"),
    };
    let mut safe = String::with_capacity(shown.len() + 8);
    for letter in shown.chars() {
        match letter {
            '"' | '\\' | ']' => safe.extend(['\\', letter]),
            letter if letter.is_control() => safe.push('\u{fffd}'),
            letter => safe.push(letter),
        }
    }
    safe + cut
}

impl fmt::Display for Messages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "builtin: syslog to {}", self.address)
    }
}

#[cfg(test)]
mod tests {
    use super::{Address, value_of};

    #[test]
    fn what_would_end_a_value_is_escaped_and_a_long_one_is_cut_between_letters() {
        assert_eq!(value_of("a\"b\\c]d\n"), "a\\\"b\\\\c\\]d\u{fffd}");
        let long = "é".repeat(300);
        assert_eq!(value_of(&long), "é".repeat(256) + "…");
    }

    #[test]
    fn nothing_goes_to_another_machine_or_to_nowhere() {
        for good in ["unix:/dev/log", "udp:127.0.0.1:514", "udp:[::1]:514"] {
            assert!(Address::parse(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            "/dev/log",
            "unix:",
            "unix:log",
            "udp:10.0.0.1:514",
            "udp:localhost:514",
            "udp:127.0.0.1",
            "tcp:127.0.0.1:1",
        ] {
            assert!(Address::parse(bad).is_err(), "{bad}");
        }
    }
}
