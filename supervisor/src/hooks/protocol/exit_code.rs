//! The `exit-code` protocol: 0 is a none, 2 a deny with stderr as its reason; at 0 an object on stdout may
//! decide instead: `{"decision"|"verdict":…,"reason":…}`.

use serde_json::Value;

use super::strict::Object;
use super::{Decision, Output, crash, sort, unknown_word};
use crate::hooks::HookAnswer;
use crate::hooks::command::{End, Fault, Run};

pub(super) fn answer(run: &Run) -> Result<HookAnswer, Fault> {
    match run.end {
        End::Exit(0) => match sort(run)? {
            Output::Silent => Ok(HookAnswer::None),
            Output::Object(text) => {
                let (decision, reason) = envelope(text)?;
                decision.with_reason(reason.as_deref())
            }
        },
        End::Exit(2) => {
            let stderr = String::from_utf8_lossy(&run.stderr);
            Decision::Deny.with_reason(Some(&stderr)).or_else(|blank| {
                let Ok(Output::Object(text)) = sort(run) else { return Err(blank) };
                let (_, reason) = envelope(text)?;
                Decision::Deny.with_reason(reason.as_deref())
            })
        }
        End::Exit(_) | End::Signal(_) => Err(crash(run.end)),
    }
}

fn envelope(text: &[u8]) -> Result<(Decision, Option<String>), Fault> {
    let mut object = Object::parse(text)?;
    let word = match (object.take_string("decision")?, object.take_string("verdict")?) {
        (Some(word), None) | (None, Some(word)) => word,
        (None, None) => return Err(object.unreadable("wrote an object without a \"decision\"")),
        (Some(_), Some(_)) => return Err(object.unreadable("wrote both a \"decision\" and a \"verdict\"")),
    };
    let decision = match word.as_str() {
        "none" | "allow" | "approve" => Decision::None,
        "ask" => Decision::Ask,
        "deny" | "block" => Decision::Deny,
        other => return Err(unknown_word("decision", other)),
    };
    let reason = match object.take("reason") {
        Some(Value::String(reason)) => Some(reason),
        None => None,
        Some(_) if decision != Decision::None => None,
        Some(_) => return Err(object.unreadable("wrote a \"reason\" that is not a string")),
    };
    object.finish()?;
    Ok((decision, reason))
}
