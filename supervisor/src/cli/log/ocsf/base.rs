//! Records that are no program's start or end.

use super::Severity::{High, Informational, Low, Medium};
use super::{Class, Control, Denied, Gist, Line, Ocsf, Value, json, put, refusal};
use crate::cli::log::line::tool_call;
use crate::trace::record::Lifecycle;

impl Ocsf {
    /// Nothing for a program's start or end, which is no such record.
    pub(super) fn base(&self, line: &Line<'_>) -> Option<Value> {
        let mut made = self.gist(&gist(line)?);
        match line {
            Line::CallDenied(denied) => {
                if let Denied::Tool(event) = &denied.event {
                    made["unmapped"] =
                        json!({"tool_name": event.payload.tool(), "input": event.payload.input});
                }
                refusal(&mut made, denied);
            }
            Line::ToolCall(call) => {
                let payload = &call.event.payload;
                made["unmapped"] = json!({"tool_name": payload.tool(), "input": payload.input});
            }
            Line::Gap(gap) => made["count"] = json!(i32::try_from(gap.lost).unwrap_or(i32::MAX)),
            Line::SessionStart(start) => {
                made["unmapped"] = json!({
                    "command": start.command, "config": start.config, "seal": start.seal, "ungated": start.ungated,
                    "policy_hooks": start.policy_hooks, "observer_hooks": start.observer_hooks,
                    "warnings": start.warnings,
                });
                put(&mut made["unmapped"], "container", start.container.as_ref().map(|whole| json!(whole)));
            }
            Line::SessionEnd(end) => made["unmapped"] = json!({"totals": end.totals}),
            Line::Ask(asked) => {
                made["unmapped"] =
                    json!({"hook": asked.hook, "answer": asked.answer, "by": asked.by, "scope": asked.scope});
            }
            Line::HookFault(fault) => made["unmapped"] = json!({"hook": fault.hook}),
            _ => {}
        }
        Some(made)
    }
}

fn gist<'a>(line: &'a Line<'_>) -> Option<Gist<'a>> {
    let made =
        |code, time: &'a str, seq, config_digest: Option<&'a String>, severity, message: String| Gist {
            class: Class::Base,
            severity,
            control: None,
            time,
            recorded: time,
            seq,
            code,
            config_digest: config_digest.map(String::as_str),
            message,
        };
    Some(match line {
        Line::Shell(_) | Line::Outcome(_) => return None,
        Line::SessionStart(of) => {
            let how = if of.ungated { "begins without a gate" } else { "begins" };
            let message = format!("session {} {how}: {}", of.session_id, shell_words::join(&of.command));
            made("session_start", &of.time, of.seq, Some(&of.config_digest), Informational, message)
        }
        Line::SessionEnd(of) => {
            let (execs, refused) = (of.totals.execs, of.totals.refused);
            let message = format!("the session ends: {execs} execs, {refused} refused");
            made("session_end", &of.time, of.seq, of.config_digest.as_ref(), Informational, message)
        }
        Line::ToolCall(of) => {
            let message = format!("tool call let through: {}", tool_call(&of.event));
            let made = made("tool_call", &of.time, of.seq, of.config_digest.as_ref(), Informational, message);
            Gist { control: Some(Control::Allowed), ..made }
        }
        Line::CallDenied(of) => {
            let Denied::Tool(event) = &of.event else { return None };
            let message = format!("tool call refused by {}: {}", of.hook, tool_call(event));
            let made = made("call_denied", &of.time, of.seq, of.config_digest.as_ref(), Medium, message);
            Gist { control: Some(Control::Denied), ..made }
        }
        Line::Lifecycle(of) => {
            made("lifecycle", &of.time, of.seq, of.config_digest.as_ref(), Informational, happened(of))
        }
        Line::Ask(of) => {
            let message = format!("{} asked: {}; {}", of.hook, of.question, of.answer);
            made("ask", &of.time, of.seq, of.config_digest.as_ref(), Low, message)
        }
        Line::HookFault(of) => {
            let message = format!("hook {} failed, which changed nothing: {}", of.hook, of.detail);
            made("hook_fault", &of.time, of.seq, of.config_digest.as_ref(), Low, message)
        }
        Line::Gap(of) => {
            let message = format!("{} records are missing: {}", of.lost, of.what);
            made("gap", &of.time, of.seq, of.config_digest.as_ref(), High, message)
        }
        Line::ConfigChanged(of) => {
            let message = format!("{} is in force", of.config);
            made("config_changed", &of.time, of.seq, Some(&of.config_digest), Informational, message)
        }
        Line::ConfigRejected(of) => {
            let message = format!("{} is not used: {}", of.config, of.error);
            made("config_rejected", &of.time, of.seq, of.config_digest.as_ref(), Medium, message)
        }
    })
}

fn happened(of: &Lifecycle<'_>) -> String {
    let commits =
        of.commits.iter().map(|commit| format!("; {} {}: {}", commit.hook, commit.arm, commit.what));
    format!("{} {:?}{}", of.event.event, of.event.phase, commits.collect::<String>())
}
