//! The staging table: which arm each binding honours, and what may be async. Pure.

use super::{Binding, CommitPolicy, ExecutionMode};

/// A manifest that contradicts its binding. Raised before the hook is loaded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StagingError {
    #[error(
        "binding {binding} cannot honour commit_policy {declared}; it honours {}",
        admitted(*binding)
    )]
    Arm { binding: Binding, declared: CommitPolicy },
    #[error(
        "a hook without a binding cannot honour commit_policy deny; it honours every other arm. \
         Write \"binding: on-shell\" to refuse commands"
    )]
    DenyWithoutBinding,
    #[error(
        "a hook without a binding cannot honour commit_policy steer: what it may do depends on the binding; name one"
    )]
    SteerWithoutBinding,
    #[error(
        "commit_policy {declared} needs execution_mode blocking: \
         an async hook answers too late to commit anything"
    )]
    AsyncCommits { declared: CommitPolicy },
    #[error(
        "binding on-stage is never async: the session waits for what it stages; use execution_mode blocking"
    )]
    AsyncStage,
}

/// The one arm a binding honours besides none.
pub fn honoured(binding: Binding) -> Option<CommitPolicy> {
    match binding {
        Binding::OnStage => Some(CommitPolicy::WriteManifests),
        Binding::OnTaskStart => Some(CommitPolicy::SeedContext),
        Binding::OnToolCall | Binding::OnShell => Some(CommitPolicy::Deny),
        Binding::OnCompaction => Some(CommitPolicy::ReplaceContext),
        Binding::OnTaskEnd => Some(CommitPolicy::ReopenTask),
        Binding::OnSessionStart | Binding::OnInference | Binding::OnSessionEnd => None,
    }
}

/// Whether hooks may steer at this binding: block, rewrite, add context, halt. On tool calls, after the call.
pub fn steered(binding: Binding) -> bool {
    matches!(
        binding,
        Binding::OnSessionStart
            | Binding::OnTaskStart
            | Binding::OnToolCall
            | Binding::OnCompaction
            | Binding::OnTaskEnd
    )
}

/// In words.
fn admitted(binding: Binding) -> String {
    let steer = steered(binding).then(|| CommitPolicy::Steer.to_string());
    match honoured(binding).map(|arm| arm.to_string()).into_iter().chain(steer).reduce(|a, b| a + ", " + &b) {
        Some(arms) => arms + " or none",
        None => "none only".to_owned(),
    }
}

/// Checks binding, mode and policy against each other.
pub fn check(
    binding: Option<Binding>,
    mode: ExecutionMode,
    policy: CommitPolicy,
) -> Result<(), StagingError> {
    match binding {
        None if policy == CommitPolicy::Deny => return Err(StagingError::DenyWithoutBinding),
        None if policy == CommitPolicy::Steer => return Err(StagingError::SteerWithoutBinding),
        Some(binding) if policy == CommitPolicy::Steer && steered(binding) => {}
        Some(binding) if policy != CommitPolicy::None && honoured(binding) != Some(policy) => {
            return Err(StagingError::Arm { binding, declared: policy });
        }
        None | Some(_) => {}
    }
    match mode {
        ExecutionMode::Async if policy != CommitPolicy::None => {
            Err(StagingError::AsyncCommits { declared: policy })
        }
        ExecutionMode::Async if binding == Some(Binding::OnStage) => Err(StagingError::AsyncStage),
        ExecutionMode::Async | ExecutionMode::Blocking => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BINDINGS: [Option<Binding>; 10] = [
        None,
        Some(Binding::OnStage),
        Some(Binding::OnSessionStart),
        Some(Binding::OnTaskStart),
        Some(Binding::OnInference),
        Some(Binding::OnToolCall),
        Some(Binding::OnShell),
        Some(Binding::OnCompaction),
        Some(Binding::OnTaskEnd),
        Some(Binding::OnSessionEnd),
    ];
    const POLICIES: [CommitPolicy; 7] = [
        CommitPolicy::None,
        CommitPolicy::WriteManifests,
        CommitPolicy::SeedContext,
        CommitPolicy::Deny,
        CommitPolicy::ReplaceContext,
        CommitPolicy::ReopenTask,
        CommitPolicy::Steer,
    ];

    /// The whole table, written out: a row per binding, a column per policy of [`POLICIES`].
    const BLOCKING: [[bool; 7]; 10] = [
        [true, true, true, false, true, true, false],
        [true, true, false, false, false, false, false],
        [true, false, false, false, false, false, true],
        [true, false, true, false, false, false, true],
        [true, false, false, false, false, false, false],
        [true, false, false, true, false, false, true],
        [true, false, false, true, false, false, false],
        [true, false, false, false, true, false, true],
        [true, false, false, false, false, true, true],
        [true, false, false, false, false, false, false],
    ];

    #[test]
    fn each_binding_honours_exactly_its_arm_and_none() {
        for (binding, row) in BINDINGS.into_iter().zip(BLOCKING) {
            for (policy, expected) in POLICIES.into_iter().zip(row) {
                let found = check(binding, ExecutionMode::Blocking, policy);
                assert_eq!(found.is_ok(), expected, "{binding:?} {policy:?}");
            }
        }
    }

    #[test]
    fn async_commits_nothing_and_never_stages() {
        for binding in BINDINGS {
            for policy in POLICIES {
                let expected = policy == CommitPolicy::None && binding != Some(Binding::OnStage);
                let found = check(binding, ExecutionMode::Async, policy);
                assert_eq!(found.is_ok(), expected, "{binding:?} {policy:?}");
            }
        }
    }

    #[test]
    fn the_error_names_binding_declared_and_honoured_policy() {
        let text = check(Some(Binding::OnShell), ExecutionMode::Blocking, CommitPolicy::SeedContext)
            .map_err(|error| error.to_string());
        let expected = "binding on-shell cannot honour commit_policy seed-context; it honours deny or none";
        assert_eq!(text, Err(expected.to_owned()));
        let text = check(Some(Binding::OnInference), ExecutionMode::Blocking, CommitPolicy::Deny)
            .map_err(|error| error.to_string());
        let expected = "binding on-inference cannot honour commit_policy deny; it honours none only";
        assert_eq!(text, Err(expected.to_owned()));
        let text = check(Some(Binding::OnToolCall), ExecutionMode::Blocking, CommitPolicy::ReopenTask)
            .map_err(|error| error.to_string());
        let expected =
            "binding on-tool-call cannot honour commit_policy reopen-task; it honours deny, steer or none";
        assert_eq!(text, Err(expected.to_owned()));
    }
}
