//! Hooks as components, made of `programs/hook.wat` and the text that a test puts in it.

use std::path::PathBuf;

use crate::program::{kept, sources};

/// A component that is not compiled yet.
#[derive(Debug, Clone)]
pub struct Component(String);

impl Component {
    /// With this body of its function, in the text format. `$event` and `$size` are where the event is; what runs to
    /// its end traps.
    pub fn new(body: &str) -> Self {
        let source = sources().join("hook.wat");
        let text = std::fs::read_to_string(&source)
            .unwrap_or_else(|error| panic!("cannot read {}: {error}", source.display()));
        Self(text).with("BODY", body)
    }

    /// Of this text alone.
    pub fn of_text(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// One that answers each event with this text.
    pub fn answering(text: &str) -> Self {
        Self::saying(0, text)
    }

    /// One that says why it has no answer.
    pub fn failing(text: &str) -> Self {
        Self::saying(1, text)
    }

    fn saying(case: u32, text: &str) -> Self {
        let body =
            format!("(return (call $result (i32.const {case}) (i32.const 16) (i32.const {})))", text.len());
        Self::new(&body).data(text.as_bytes())
    }

    /// These bytes at address 16.
    #[must_use]
    pub fn data(self, bytes: &[u8]) -> Self {
        let text = bytes.iter().fold(String::new(), |text, byte| format!("{text}\\{byte:02x}"));
        self.with("DATA", &format!("(data (i32.const 16) \"{text}\")"))
    }

    /// Text where `(;PLACE;)` stands.
    #[must_use]
    pub fn with(self, place: &str, text: &str) -> Self {
        let mark = format!("(;{place};)");
        assert!(self.0.contains(&mark), "no {mark} left in the component");
        Self(self.0.replace(&mark, text))
    }

    /// The file of the component.
    pub fn file(self) -> PathBuf {
        let whole = if self.0.contains("(;INSTANCE;)") {
            self.with("INSTANCE", "(core instance $core (instantiate $code))")
        } else {
            self
        };
        let binary = wat::parse_str(&whole.0).unwrap_or_else(|error| panic!("{error}"));
        kept("hook.wasm", &binary)
    }
}
