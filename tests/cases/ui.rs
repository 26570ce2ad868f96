//! `shellgate ui`: the page over real HTTP and in a real browser. Who may see and answer, and what is shown.

mod browser;
mod clients;
mod streams;

use serde_json::{Value, json};
use shellgate_tests::{Gate, Ui, rules};

/// A policy that asks about touch and refuses mv.
fn asking() -> Gate {
    let guard =
        rules("guard", &json!([{"ask": "touch this?", "exe": "touch"}, {"deny": "not moved", "exe": "mv"}]));
    let config = json!({"version": 1, "ask": {"timeout": "90s"}, "hooks": [guard]});
    Gate::with_config(&config.to_string()).option("--interactive")
}

/// What waits, once that is so many.
#[track_caller]
fn asks(ui: &Ui, wanted: usize) -> Vec<Value> {
    let has = |state: &Value| state["asks"].as_array().is_some_and(|asks| asks.len() == wanted);
    let events = ui.events("/api/live", None, |event| has(&event.data));
    let last = events.last().expect("at least the one that was waited for");
    last.data["asks"].as_array().expect("a list").clone()
}
