//! Values of environment variables: only those that change what runs are kept, and never a secret's.

use super::MASK;

/// A value that is kept out without being known to be secret.
const WITHHELD: &str = "…";

/// Variables whose values explain what runs.
const KEPT: [&str; 39] = [
    "BASH_ENV",
    "ENV",
    "GCONV_PATH",
    "GIT_ASKPASS",
    "GIT_CONFIG",
    "GIT_CONFIG_COUNT",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_PARAMETERS",
    "GIT_CONFIG_SYSTEM",
    "GIT_DIR",
    "GIT_EDITOR",
    "GIT_EXEC_PATH",
    "GIT_EXTERNAL_DIFF",
    "GIT_PAGER",
    "GIT_PROXY_COMMAND",
    "GIT_SEQUENCE_EDITOR",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_TEMPLATE_DIR",
    "GIT_WORK_TREE",
    "IFS",
    "LD_AUDIT",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "MAKEFILES",
    "MAKEFLAGS",
    "NODE_OPTIONS",
    "NODE_PATH",
    "PATH",
    "PERL5LIB",
    "PERL5OPT",
    "PROMPT_COMMAND",
    "PS4",
    "PYTHONHOME",
    "PYTHONPATH",
    "PYTHONSTARTUP",
    "RUBYLIB",
    "RUBYOPT",
    "SHELL",
];

const SECRET: [&str; 8] = ["TOKEN", "SECRET", "PASS", "PWD", "KEY", "CREDENTIAL", "AUTH", "COOKIE"];

/// Whether [`mask`] would change the value.
pub(super) fn hides(name: &str, value: &str) -> bool {
    !kept(name) && !value.is_empty() && value != WITHHELD && value != MASK
}

/// Replaces the value unless it is one of those that explain what runs.
pub(super) fn mask(name: &str, value: &mut String) {
    if hides(name, value) {
        let upper = name.to_ascii_uppercase();
        let secret = !matches!(name, "PWD" | "OLDPWD") && SECRET.iter().any(|part| upper.contains(part));
        (if secret { MASK } else { WITHHELD }).clone_into(value);
    }
}

fn kept(name: &str) -> bool {
    let numbered = |start| {
        name.strip_prefix(start)
            .is_some_and(|rest: &str| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
    };
    KEPT.contains(&name) || numbered("GIT_CONFIG_KEY_") || numbered("GIT_CONFIG_VALUE_")
}

#[cfg(test)]
mod tests {
    use super::mask;

    #[test]
    fn only_variables_that_change_what_runs_keep_their_value() {
        for (name, kept) in [
            ("PATH", "v"),
            ("LD_PRELOAD", "v"),
            ("GIT_SSH_COMMAND", "v"),
            ("GIT_CONFIG_KEY_0", "v"),
            ("GIT_CONFIG_KEY_SECRET", "[redacted]"),
            ("HOME", "…"),
            ("PWD", "…"),
            ("GITHUB_TOKEN", "[redacted]"),
            ("my_api_key", "[redacted]"),
            ("PGPASSWORD", "[redacted]"),
        ] {
            let mut value = "v".to_owned();
            mask(name, &mut value);
            assert_eq!(value, kept, "{name}");
        }
    }
}
