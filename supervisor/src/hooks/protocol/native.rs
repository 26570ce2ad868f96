//! The `native` protocol: exit 0, and stdout is exactly one object `{"verdict":…,"reason":…}`.

use super::strict::Object;
use super::{Decision, crash, trim, unknown_word, unreadable};
use crate::hooks::command::{End, Fault, Run};
use crate::hooks::{Defect, HookAnswer};

use serde_json::Value;

pub(super) fn answer(run: &Run) -> Result<HookAnswer, Fault> {
    if run.end != End::Exit(0) {
        return Err(crash(run.end));
    }
    let text = trim(&run.stdout);
    if text.is_empty() {
        return Err(Fault::new(Defect::Unreadable, "exited without writing a verdict"));
    }
    verdict(Object::parse(text)?, text)
}

/// The rest of an object whose other keys were taken.
pub(super) fn verdict(mut object: Object<'_>, text: &[u8]) -> Result<HookAnswer, Fault> {
    let Some(verdict) = object.take_string("verdict")? else {
        return Err(unreadable("wrote an object without a \"verdict\"", text));
    };
    let decision = match verdict.as_str() {
        "none" => Decision::None,
        "ask" => Decision::Ask,
        "deny" => Decision::Deny,
        other => return Err(unknown_word("verdict", other)),
    };
    let reason = reason(&mut object, decision, text)?;
    object.finish()?;
    decision.with_reason(reason.as_deref())
}

/// What stands beside a decision.
pub(super) fn reason(
    object: &mut Object<'_>,
    decision: Decision,
    text: &[u8],
) -> Result<Option<String>, Fault> {
    match object.take("reason") {
        Some(Value::String(text)) => Ok(Some(text)),
        None => Ok(None),
        // A deny with an unusable reason is a deny without one.
        Some(_) if decision != Decision::None => Ok(None),
        Some(_) => Err(unreadable("wrote a \"reason\" that is not a string", text)),
    }
}
