//! From the written configuration to the effective one: versions, capabilities, patterns, and every hook
//! staged. The first thing wrong ends it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

use sha2::{Digest, Sha256};

use super::lookup::{self, Found};
use super::wire::{RawConfig, RawEnv, RawOnFailure};
use super::{
    Capabilities, Config, ConfigError, DEFAULT_ASK_TIMEOUT, DEFAULT_REOPEN_LIMIT, DEFAULT_SEED_BUDGET,
    EventEnv, MAX_ASK_TIMEOUT, OnFailure, TraceConfig, warn, wire,
};
use crate::hooks::lifecycle::ToolName;
use crate::hooks::manifest::wire::{RawHook, RawManifest};
use crate::hooks::manifest::{Grants, Problem, RawGrants, Staged, Workshop, duration, stage};
use crate::hooks::rules::Pattern;
use serde_saphyr::{Location, Spanned};

/// The one version of the file format there is.
const VERSION: u64 = 1;

pub(super) fn from_file(found: &Found) -> Result<Config, ConfigError> {
    from_file_with(found, std::env::var_os("PATH"))
}

/// Programs that hooks name without a folder are looked for in `search`.
pub(super) fn from_file_with(found: &Found, search: Option<OsString>) -> Result<Config, ConfigError> {
    let path = std::path::absolute(&found.path).unwrap_or_else(|_| found.path.clone());
    let folder = path.parent().unwrap_or(Path::new("/")).to_owned();
    let workshop = Workshop { path: search, ..Workshop::new(&folder) };
    let mut config = assemble(&found.path.display().to_string(), &found.text, &workshop)?;
    config.texts.insert(0, path.clone());
    config.files.insert(0, path);
    config.warnings.extend(warn::writable(&config.files));
    Ok(config)
}

/// `folder` of the workshop is where relative paths start.
pub(super) fn assemble(file: &str, text: &str, workshop: &Workshop) -> Result<Config, ConfigError> {
    let raw: RawConfig = wire::parse(file, text)?;
    let invalid = |problem| ConfigError::invalid(file, problem, None);
    match &raw.version {
        Some(version) if version.value == VERSION => {}
        Some(version) => {
            let message = format!("version {} is not known; this shellgate reads version 1", version.value);
            return Err(invalid(Problem::at(version.referenced, message)));
        }
        None => {
            let message = "has no version; add \"version: 1\" as its first line".to_owned();
            return Err(invalid(Problem { line: 1, column: 1, message }));
        }
    }
    let workshop = &Workshop { grants: grants(file, &raw, workshop)?, ..workshop.clone() };
    let mut assembly = Assembly {
        file,
        workshop,
        digest: Sha256::new_with_prefix(text),
        components: Vec::new(),
        config: settings(file, &raw)?,
    };
    for (at, hook) in raw.hooks.iter().enumerate() {
        assembly.add(at, hook)?;
    }
    if let Some(error) = assembly.granted_in_vain(&raw) {
        return Err(error);
    }
    let Assembly { digest, mut config, .. } = assembly;
    config.digest = hex(&digest.finalize());
    config.warnings.extend(warn::inert(&config.hooks));
    Ok(config)
}

/// What components are granted. A name that no component has is a grant that somebody believes in.
fn grants(file: &str, raw: &RawConfig, workshop: &Workshop) -> Result<BTreeMap<String, Grants>, ConfigError> {
    let read = |(name, written): (&String, &Spanned<RawGrants>)| {
        let grants = Grants::read(written, &workshop.folder)
            .map_err(|problem| Problem {
                message: format!("capabilities.hooks.{name}: {}", problem.message),
                ..problem
            })
            .map_err(|problem| ConfigError::invalid(file, problem, None))?;
        Ok((name.clone(), grants))
    };
    raw.capabilities.hooks.iter().map(read).collect()
}

fn settings(file: &str, raw: &RawConfig) -> Result<Config, ConfigError> {
    let invalid =
        |place: Location, message: String| ConfigError::invalid(file, Problem::at(place, message), None);
    let shell_allow = match &raw.capabilities.shell.allow {
        None => vec!["*".to_owned()],
        Some(listed) => listed
            .iter()
            .map(|pattern| match Pattern::parse(&pattern.value) {
                Ok(_) => Ok(pattern.value.clone()),
                Err(error) => Err(invalid(pattern.referenced, format!("capabilities.shell.allow: {error}"))),
            })
            .collect::<Result<_, _>>()?,
    };
    for pattern in &raw.trace.redact_patterns {
        if let Err(error) = regex::Regex::new(&pattern.value) {
            let message = format!("trace.redact_patterns: {:?} is not a pattern: {error}", pattern.value);
            return Err(invalid(pattern.referenced, message));
        }
    }
    let tools_allow = match &raw.capabilities.tools.allow {
        None => vec!["*".to_owned()],
        Some(listed) => listed
            .iter()
            .map(|name| match ToolName::parse(&name.value) {
                Ok(_) => Ok(name.value.clone()),
                Err(reason) => Err(invalid(name.referenced, format!("capabilities.tools.allow: {reason}"))),
            })
            .collect::<Result<_, _>>()?,
    };
    let ask_timeout = match &raw.ask.timeout {
        None => DEFAULT_ASK_TIMEOUT,
        Some(written) => duration("ask.timeout", &written.value, MAX_ASK_TIMEOUT)
            .map_err(|message| invalid(written.referenced, message))?,
    };
    let mut warnings = Vec::new();
    if shell_allow.is_empty() {
        warnings.push("capabilities.shell.allow is empty: no command may run".to_owned());
    }
    Ok(Config {
        source: file.to_owned(),
        digest: String::new(),
        capabilities: Capabilities { shell_allow, tools_allow },
        hooks: Vec::new(),
        trace: TraceConfig {
            on_failure: match raw.trace.on_failure {
                RawOnFailure::Refuse => OnFailure::Refuse,
                RawOnFailure::Continue => OnFailure::Continue,
            },
            redact: raw.trace.redact.unwrap_or(true),
            redact_patterns: raw.trace.redact_patterns.iter().map(|pattern| pattern.value.clone()).collect(),
        },
        event_env: match raw.event.env {
            RawEnv::Known => EventEnv::Known,
            RawEnv::All => EventEnv::All,
        },
        seed_budget: raw
            .context
            .seed_budget
            .map_or(DEFAULT_SEED_BUDGET, |bytes| usize::try_from(bytes).unwrap_or(usize::MAX)),
        reopen_limit: raw.task.reopen_limit.unwrap_or(DEFAULT_REOPEN_LIMIT),
        ask_timeout,
        no_new_privs: raw.no_new_privs.unwrap_or(true),
        warnings,
        files: Vec::new(),
        texts: Vec::new(),
    })
}

struct Assembly<'a> {
    file: &'a str,
    workshop: &'a Workshop,
    digest: Sha256,
    /// Names of the hooks that are components.
    components: Vec<String>,
    config: Config,
}

impl Assembly<'_> {
    /// After the last hook: what was granted to none of them.
    fn granted_in_vain(&self, raw: &RawConfig) -> Option<ConfigError> {
        let in_vain = |name: &&String| !self.components.contains(name);
        let (name, written) = raw.capabilities.hooks.iter().find(|(name, _)| in_vain(name))?;
        let message = format!("capabilities.hooks.{name}: no hook with \"wasm:\" has this name");
        Some(ConfigError::invalid(self.file, Problem::at(written.referenced, message), None))
    }

    fn add(&mut self, at: usize, hook: &Spanned<RawHook>) -> Result<(), ConfigError> {
        match &hook.value {
            RawHook::Inline(raw) => {
                let workshop = self.workshop.clone();
                self.stage(at, raw, hook.referenced, self.file.to_owned().as_str(), &workshop)
            }
            RawHook::File(path) => {
                let path = self.workshop.folder.join(path);
                let found = lookup::read(&path).map_err(|error| {
                    let problem = Problem::at(hook.referenced, error.to_string());
                    ConfigError::invalid(self.file, problem, Some((at, None)))
                })?;
                let name = path.display().to_string();
                let raw: Spanned<RawManifest> = wire::parse(&name, &found.text)?;
                // The text counts towards the digest, so that an edit of the manifest shows.
                self.digest.update([0]);
                self.digest.update(&found.text);
                let folder = path.parent().unwrap_or(Path::new("/")).to_owned();
                let workshop = Workshop { folder, ..self.workshop.clone() };
                self.stage(at, &raw.value, raw.referenced, &name, &workshop)?;
                self.config.texts.push(path.clone());
                self.config.files.push(path);
                Ok(())
            }
        }
    }

    fn stage(
        &mut self,
        at: usize,
        raw: &RawManifest,
        place: Location,
        file: &str,
        workshop: &Workshop,
    ) -> Result<(), ConfigError> {
        let name = raw.name.as_ref().map(|name| name.value.clone());
        let invalid = |problem| ConfigError::invalid(file, problem, Some((at, name.clone())));
        let Staged { manifest, warnings, files } = stage(raw, place, workshop).map_err(invalid)?;
        if let Some(earlier) = self.config.hooks.iter().position(|hook| hook.name == manifest.name) {
            let place = raw.name.as_ref().map_or(place, |name| name.referenced);
            let message = format!("hooks[{earlier}] has this name already; names must differ");
            return Err(invalid(Problem::at(place, message)));
        }
        if raw.wasm.is_some() {
            self.components.push(manifest.name.clone());
        }
        let prefix = format!("hook {:?}", manifest.name);
        self.config.warnings.extend(warnings.into_iter().map(|warning| format!("{prefix}: {warning}")));
        self.config.files.extend(files);
        self.config.hooks.push(manifest);
        Ok(())
    }
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
