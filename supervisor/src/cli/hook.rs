//! `shellgate hook …`.

use std::fmt::Write as _;
use std::process::ExitCode;

use crate::cli::{ConfigArgs, print, say};
use crate::config::Config;
use crate::hooks::manifest::CommitPolicy;

#[derive(Debug, clap::Subcommand)]
pub enum HookVerb {
    /// Check a configuration and everything it names, without running anything.
    Validate(ConfigArgs),
}

pub(super) fn run(verb: &HookVerb) -> anyhow::Result<ExitCode> {
    match verb {
        HookVerb::Validate(args) => validate(args),
    }
}

fn validate(args: &ConfigArgs) -> anyhow::Result<ExitCode> {
    match args.load() {
        Ok(config) => {
            print(&describe(&config))?;
            Ok(ExitCode::SUCCESS)
        }
        Err(error) => {
            say(format_args!("{}", crate::errors::whole(error.as_ref())));
            Ok(ExitCode::from(1))
        }
    }
}

/// What the configuration will do, a line per hook, and what is odd about it.
fn describe(config: &Config) -> String {
    let mut text = format!("{}: valid\n", config.source);
    // Writing to a String cannot fail.
    for hook in &config.hooks {
        let binding = hook.binding.map_or("every session event".to_owned(), |binding| binding.to_string());
        let role = match hook.commit_policy {
            CommitPolicy::Deny => "policy",
            CommitPolicy::Steer => "steering",
            _ => "observer",
        };
        let _ = writeln!(
            text,
            "  {:<16} {role:<8} {binding}, {}, commit_policy {}, timeout {:?}\n  {:<16} {}",
            hook.name, hook.execution_mode, hook.commit_policy, hook.timeout, "", hook.runner
        );
    }
    let policies = config.hooks.iter().filter(|hook| hook.judges_shell()).count();
    let tools = config.hooks.iter().filter(|hook| hook.judges_tools()).count();
    let _ = writeln!(
        text,
        "{} hooks, {policies} of them decide on commands, {tools} on tool calls",
        config.hooks.len()
    );
    for warning in &config.warnings {
        let _ = writeln!(text, "warning: {warning}");
    }
    text
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests may fail loudly")]
    use super::*;
    use crate::config::ConfigSource;

    #[test]
    fn a_configuration_is_described_by_hook() {
        let text = describe(&Config::preset("strict").unwrap());
        assert!(text.starts_with("preset:strict: valid\n"), "{text}");
        assert!(text.contains("policy   on-shell, blocking, commit_policy deny, timeout 10s"), "{text}");
        assert!(text.contains("2 hooks, 1 of them decide on commands, 1 on tool calls"), "{text}");
    }

    #[test]
    fn an_explicit_file_or_preset_stands_before_the_lookup() {
        let args = |config: Option<&str>, preset: Option<&str>| {
            ConfigArgs {
                config: config.map(Into::into),
                preset: preset.map(Into::into),
                claude_settings: None,
            }
            .source()
        };
        assert_eq!(args(Some("x"), None), ConfigSource::File("x".into()));
        assert_eq!(args(None, Some("dev")), ConfigSource::Preset("dev".into()));
        assert_eq!(args(None, None), ConfigSource::Lookup);
    }
}
