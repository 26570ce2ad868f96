//! Checks the terms of a manifest: that each means something for its binding, policy and protocol. One that would be
//! passed over in silence is an error.

use std::path::PathBuf;

use serde_saphyr::Location;

use super::stage::process;
use super::wire::{OneOrMany, RawManifest, Written};
use super::{Binding, CommitPolicy, Matcher, Problem, Protocol, Terms, Workshop};
use crate::hooks::point::Point;

/// Where `hook-runner` commands are run that name no other shell.
const SHELL: &str = "/bin/sh";

pub(super) fn terms(
    raw: &RawManifest,
    protocol: Protocol,
    workshop: &Workshop,
    files: &mut Vec<PathBuf>,
) -> Result<Terms, Problem> {
    let mut terms = Terms { points: points(raw, protocol)?, ..Terms::default() };
    let decides = raw.commit_policy == CommitPolicy::Deny;
    let steers = raw.commit_policy == CommitPolicy::Steer;
    let on_shell = raw.binding == Some(Binding::OnShell);
    if let Some(matcher) = &raw.matcher {
        if on_shell {
            let message = "matcher: tells tool calls and events of the loop apart; on on-shell write rules";
            return Err(Problem::at(matcher.referenced, message));
        }
        terms.matcher = Matcher::parse(&matcher.value)
            .map_err(|error| Problem::at(matcher.referenced, format!("matcher: {error}")))?;
    }
    if let Some(on_fault) = &raw.on_fault {
        if !steers {
            let message = "on_fault: belongs to commit_policy steer; a policy that cannot answer refuses, and \
                           any other failure changes nothing";
            return Err(Problem::at(on_fault.referenced, message));
        }
        terms.on_fault = Some(on_fault.value);
    }
    if let Some(guardrail) = &raw.guardrail {
        if !(decides || steers) || raw.binding != Some(Binding::OnToolCall) {
            let message = "guardrail: stands around tool calls: it needs binding on-tool-call, and commit_policy deny or steer";
            return Err(Problem::at(guardrail.referenced, message));
        }
        terms.guardrail = guardrail.value;
    }
    if let Some(learner) = &raw.learner {
        if !decides {
            let message = "learner: belongs to commit_policy deny: only such a hook can ask";
            return Err(Problem::at(learner.referenced, message));
        }
        terms.learner = Some(process(raw, learner, protocol, workshop, files)?);
    }
    Ok(terms)
}

/// The points that the hook is called at; empty for all of its binding's, whatever they are called.
fn points(raw: &RawManifest, protocol: Protocol) -> Result<Vec<Point>, Problem> {
    let named = matches!(protocol, Protocol::Claude | Protocol::HookRunner);
    let spoken = |point: &Point| protocol != Protocol::HookRunner || point.has_runner_phase();
    let heard = |point: &Point| {
        raw.binding == Some(point.binding())
            && match raw.commit_policy {
                CommitPolicy::Deny => *point != Point::PostToolUse,
                CommitPolicy::Steer => *point != Point::PreToolUse,
                _ => true,
            }
    };
    if let Some(points) = &raw.points {
        if let Some(never) = points.value.iter().find(|point| !heard(point) || !spoken(point)) {
            let message = format!(
                "points: a hook with this binding, commit_policy and protocol is never called at {never}, which is {}",
                never.binding()
            );
            return Err(Problem::at(points.referenced, message));
        }
        return Ok(points.value.clone());
    }
    let own: Vec<Point> = Point::ALL.into_iter().filter(|point| heard(point) && spoken(point)).collect();
    if let Some(protocol) = &raw.protocol
        && protocol.value == Protocol::HookRunner
        && own.is_empty()
        && !matches!(raw.binding, None | Some(Binding::OnShell))
    {
        let message = "protocol hook-runner has no phase at this binding";
        return Err(Problem::at(protocol.referenced, message));
    }
    Ok(if named && raw.commit_policy != CommitPolicy::None { own } else { Vec::new() })
}

/// The words that run a command which is one line for a shell; `None`: there is no shell.
pub(super) fn in_shell(
    raw: &RawManifest,
    command: &OneOrMany,
    protocol: Protocol,
) -> Result<Option<Vec<String>>, Problem> {
    let shell = raw.shell.as_ref().map(|shell| (shell.value.trim(), shell.referenced));
    let one_line = protocol == Protocol::HookRunner && command.1 == Written::One;
    match (shell, command.0.as_slice()) {
        (Some((_, place)), _) if !one_line => Err(misplaced(place)),
        (Some(("", place)), _) => Err(Problem::at(place, "shell: is empty; name a shell, as in /bin/bash")),
        (shell, [line]) if one_line => {
            let shell = shell.map_or(SHELL, |(shell, _)| shell);
            Ok(Some(vec![shell.to_owned(), "-c".to_owned(), line.clone()]))
        }
        _ => Ok(None),
    }
}

fn misplaced(place: Location) -> Problem {
    Problem::at(place, "shell: belongs to protocol hook-runner, with a command that is one line")
}
