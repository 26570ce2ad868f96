//! A real browser without a window: Chromium, driven over a pipe in its own DevTools protocol. A pipe needs no driver of
//! another program, no port and no library, and a click is the browser's own, at the place where the element is.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use base64::Engine as _;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::need::{PATH, lacks};
use crate::watched::patience;

/// The same browser; the first has no parts for a window, and is smaller.
const NAMES: &[&str] = &["chromium-headless-shell", "chromium"];
const FLAGS: &[&str] = &[
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
    "--window-size=1280,1000",
    "about:blank",
];

/// A browser with one page.
#[derive(Debug)]
pub struct Browser {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    last_id: u64,
    session: String,
    /// What the page said on its console, errors included.
    said: Vec<String>,
    _profile: TempDir,
}

impl Browser {
    /// Why there is none here, if so.
    pub fn missing() -> Option<String> {
        lacks(NAMES[0]).filter(|_| lacks(NAMES[1]).is_some())
    }

    /// With a profile of its own, at this page.
    pub fn open(link: &str) -> Self {
        let name = NAMES.iter().find(|name| lacks(name).is_none()).expect("a browser is installed");
        let profile = tempfile::tempdir().expect("the temporary folder is writable");
        let mut command = Command::new("sh");
        // Its pipe are the descriptors 3 and 4.
        command.args(["-c", "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null"]).arg(name).args(FLAGS);
        command.arg(format!("--user-data-dir={}", profile.path().display()));
        command.env_clear().env("PATH", PATH).env("HOME", profile.path()).stderr(Stdio::null());
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the browser starts");
        let to = child.stdin.take().expect("stdin is piped");
        let from = BufReader::new(child.stdout.take().expect("stdout is piped"));
        let (session, said) = (String::new(), Vec::new());
        let mut browser = Self { child, to, from, last_id: 0, session, said, _profile: profile };
        let targets = browser.call("Target.getTargets", &json!({}));
        let pages = targets["targetInfos"].as_array().expect("a list of targets").clone();
        let page = pages.iter().find(|target| target["type"] == "page").expect("a page is open");
        let attach = json!({"targetId": page["targetId"], "flatten": true});
        let attached = browser.call("Target.attachToTarget", &attach);
        attached["sessionId"].as_str().expect("a session").clone_into(&mut browser.session);
        for domain in ["Page", "Runtime", "Log"] {
            browser.call(&format!("{domain}.enable"), &json!({}));
        }
        browser.go(link);
        browser
    }

    /// Another page.
    pub fn go(&mut self, link: &str) {
        self.call("Page.navigate", &json!({ "url": link }));
        self.until("document.readyState === 'complete' && location.href !== 'about:blank'");
    }

    #[track_caller]
    fn call(&mut self, method: &str, params: &Value) -> Value {
        self.last_id += 1;
        let mut request = json!({"id": self.last_id, "method": method, "params": params});
        if !self.session.is_empty() {
            request["sessionId"] = self.session.clone().into();
        }
        self.to.write_all(format!("{request}\0").as_bytes()).expect("the browser takes a message");
        loop {
            let mut bytes = Vec::new();
            self.from.read_until(0, &mut bytes).expect("the browser's pipe is open");
            assert_eq!(bytes.pop(), Some(0), "the browser ended");
            let message: Value = serde_json::from_slice(&bytes).expect("a message is JSON");
            if message["id"] == self.last_id {
                assert!(message["error"].is_null(), "{method} {params}: {}", message["error"]);
                return message["result"].clone();
            }
            let said = ["Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"];
            if message["method"].as_str().is_some_and(|method| said.contains(&method)) {
                self.said.push(message["params"].to_string());
            }
        }
    }

    /// What went to the console so far.
    pub fn said(&self) -> &[String] {
        &self.said
    }

    /// The value of an expression, a promise's too.
    #[track_caller]
    pub fn value(&mut self, expression: &str) -> Value {
        let params = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let done = self.call("Runtime.evaluate", &params);
        assert!(done["exceptionDetails"].is_null(), "{expression}: {}", done["exceptionDetails"]);
        done["result"]["value"].clone()
    }

    /// Waits until an expression is true.
    #[track_caller]
    pub fn until(&mut self, expression: &str) {
        let start = Instant::now();
        while self.value(expression) != json!(true) {
            let text = self.value("document.body?.innerText ?? ''");
            assert!(start.elapsed() < patience(), "never: {expression}\n{text}\n{:?}", self.said);
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits for an element, and clicks where it is.
    #[track_caller]
    pub fn click(&mut self, selector: &str) {
        let find = format!("document.querySelector({})", json!(selector));
        self.until(&format!("{find} !== null"));
        let place = self.value(&format!(
            "(() => {{ const box = {find}.getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2] }})()"
        ));
        for kind in ["mousePressed", "mouseReleased"] {
            let event =
                json!({"type": kind, "x": place[0], "y": place[1], "button": "left", "clickCount": 1});
            self.call("Input.dispatchMouseEvent", &event);
        }
    }

    /// Types into what has the focus.
    pub fn type_text(&mut self, text: &str) {
        self.call("Input.insertText", &json!({ "text": text }));
    }

    /// A key with a name, such as `ArrowDown`.
    pub fn press(&mut self, key: &str) {
        for kind in ["rawKeyDown", "keyUp"] {
            self.call("Input.dispatchKeyEvent", &json!({"type": kind, "key": key}));
        }
    }

    /// As a PNG.
    pub fn screenshot(&mut self, file: &Path) {
        let shot = self.call("Page.captureScreenshot", &json!({"format": "png"}));
        let data = shot["data"].as_str().expect("an image");
        let bytes = base64::engine::general_purpose::STANDARD.decode(data).expect("it is base64");
        std::fs::write(file, bytes).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Its helpers end when it does.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
