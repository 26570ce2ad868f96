//! The names in a built-in gate: of programs on on-shell, of tools on on-tool-call.

use crate::event::Event;
use crate::hooks::lifecycle::ToolName;
use crate::hooks::manifest::Binding;
use crate::hooks::rules::{self, Pattern};

/// A list of names that is not empty.
#[derive(Debug)]
pub(super) enum Names {
    /// As in a rule's `exe`: names, absolute paths, `*`.
    Programs(Vec<Pattern>),
    /// Names, or beginnings of names that end in `*`.
    Tools(Vec<String>),
}

impl Names {
    /// `key` is where they are written.
    pub(super) fn parse(key: &str, texts: &[String], binding: Option<Binding>) -> Result<Self, String> {
        if texts.is_empty() {
            return Err(format!("{key}: names nothing; name what is meant, or leave it out"));
        }
        let wrong = |error: &dyn std::fmt::Display| format!("{key}: {error}");
        match binding {
            Some(Binding::OnShell) => {
                let parsed = texts.iter().map(|text| Pattern::parse(text));
                Ok(Self::Programs(parsed.collect::<Result<_, _>>().map_err(|error| wrong(&error))?))
            }
            Some(Binding::OnToolCall) => {
                for text in texts {
                    ToolName::parse(text).map_err(|error| wrong(&error))?;
                }
                Ok(Self::Tools(texts.to_vec()))
            }
            _ => Err("decides on calls: it needs \"binding: on-shell\" or \"binding: on-tool-call\"".into()),
        }
    }

    /// Whether any program that this exec is, by any of its names, is named here.
    pub(super) fn mean_program(&self, event: &Event) -> bool {
        matches!(self, Self::Programs(patterns) if rules::concerned(event, patterns))
    }

    /// Whether every program that this exec is is named here.
    pub(super) fn admit_program(&self, event: &Event) -> bool {
        matches!(self, Self::Programs(patterns) if rules::admitted(event, patterns))
    }

    pub(super) fn mean_tool(&self, tool: &str) -> bool {
        // Each was parsed when the hook was loaded.
        matches!(self, Self::Tools(names)
            if names.iter().filter_map(|text| ToolName::parse(text).ok()).any(|name| name.matches(tool)))
    }
}
