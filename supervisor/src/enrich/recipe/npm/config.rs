//! npm's settings: command line, environment, the project's, the user's and the global `.npmrc`, in this order.

use super::super::super::Listing;
use super::super::{Call, Unresolved};
use super::commandline::CommandLine;
use super::package::{Package, ancestors, below, resolve};
use super::workspaces;

pub(super) struct Config {
    /// By rank, the first that has a setting wins.
    layers: Vec<Vec<(String, String)>>,
    /// The directory whose package.json counts.
    pub(super) prefix: String,
    /// The workspace that the working directory is, when nothing else names one.
    pub(super) implied: Option<String>,
}

impl Config {
    pub(super) fn load(call: &Call<'_>, line: &CommandLine) -> Result<Self, Unresolved> {
        let environment = environment(call);
        let mut config =
            Self { layers: vec![line.settings.clone(), environment], prefix: String::new(), implied: None };
        config.find_prefix(call, line)?;
        let user = match config.text("userconfig") {
            Some(path) => Some(resolve(call.cwd, path)),
            None => home(call).map(|home| below(&home, ".npmrc")),
        };
        let project = below(&config.prefix, ".npmrc");
        if user.as_deref() != Some(&project) && !config.is_global() {
            config.layers.push(settings(call, &project)?);
        }
        if let Some(user) = user {
            config.layers.push(settings(call, &user)?);
        }
        let builtin = match call.words.first().and_then(|word| std::str::from_utf8(word).ok()) {
            Some(script) if script.ends_with("/bin/npm-cli.js") => {
                let root = script.trim_end_matches("/bin/npm-cli.js");
                settings(call, &below(&resolve(call.cwd, root), "npmrc"))?
            }
            _ => Vec::new(),
        };
        let stated =
            builtin.iter().rev().find(|(name, _)| name == "globalconfig").map(|(_, path)| path.clone());
        if let Some(path) = config.text("globalconfig").map(str::to_owned).or(stated) {
            config.layers.push(settings(call, &resolve(call.cwd, &path))?);
        } else {
            // Where npm's own node lies is not known; these are the two usual places.
            config.layers.push(settings(call, "/usr/local/etc/npmrc")?);
            config.layers.push(settings(call, "/usr/etc/npmrc")?);
        }
        config.layers.push(builtin);
        Ok(config)
    }

    pub(super) fn text(&self, name: &str) -> Option<&str> {
        let mut found = self.layers.iter().filter_map(|layer| {
            layer.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
        });
        found.next()
    }

    /// Every value of the first layer that has one.
    pub(super) fn all(&self, name: &str) -> Vec<&str> {
        let mut layers = self.layers.iter().map(|layer| {
            layer.iter().filter(|(key, _)| key == name).map(|(_, value)| value.as_str()).collect::<Vec<_>>()
        });
        layers.find(|values| !values.is_empty()).unwrap_or_default()
    }

    pub(super) fn flag(&self, name: &str) -> Option<bool> {
        match self.text(name)? {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        }
    }

    pub(super) fn is_on(&self, name: &str) -> bool {
        self.flag(name) == Some(true)
    }

    pub(super) fn is_global(&self) -> bool {
        self.is_on("global") || self.text("location") == Some("global")
    }

    fn find_prefix(&mut self, call: &Call<'_>, line: &CommandLine) -> Result<(), Unresolved> {
        if let Some((_, prefix)) = line.settings.iter().rev().find(|(name, _)| name == "prefix") {
            self.prefix = resolve(call.cwd, prefix);
            return Ok(());
        }
        let cut = line.settings.iter().rev().find(|(name, _)| name == "workspaces");
        let alone = cut.is_some_and(|(_, value)| value == "false") || self.is_global();
        let mut found: Option<String> = None;
        for directory in ancestors(call.cwd) {
            let has_package = call.files.kind(&below(directory, "package.json"))? == Listing::File;
            match &found {
                None => {
                    let modules = below(directory, "node_modules");
                    if has_package || call.files.kind(&modules)? == Listing::Directory {
                        found = Some(directory.to_owned());
                        if alone {
                            break;
                        }
                    }
                }
                Some(prefix) if has_package => {
                    // A file that cannot be read is passed over, as npm does.
                    let Ok(Some(root)) = Package::read(call, directory) else { continue };
                    if root.workspaces().is_none() {
                        continue;
                    }
                    if workspaces::of(call, &root)?.iter().any(|one| one.directory == *prefix) {
                        self.implied = Some(prefix.clone());
                        found = Some(directory.to_owned());
                        break;
                    }
                }
                Some(_) => {}
            }
        }
        self.prefix = found.unwrap_or_else(|| call.cwd.to_owned());
        Ok(())
    }
}

fn home(call: &Call<'_>) -> Option<String> {
    call.env("HOME").and_then(|home| std::str::from_utf8(home).ok()).map(str::to_owned)
}

/// `npm_config_NAME=value`, in any case.
fn environment(call: &Call<'_>) -> Vec<(String, String)> {
    let mut settings = Vec::new();
    for entry in call.env {
        let entry = String::from_utf8_lossy(entry);
        let Some((name, value)) = entry.split_once('=') else { continue };
        let prefix = name.get(.."npm_config_".len());
        if !prefix.is_some_and(|prefix| prefix.eq_ignore_ascii_case("npm_config_")) || value.is_empty() {
            continue;
        }
        let name = name["npm_config_".len()..].to_lowercase();
        let start = usize::from(name.starts_with('_'));
        let name = name[..start].to_owned() + &name[start..].replace('_', "-");
        for value in value.split("\n\n") {
            settings.push((name.clone(), value.to_owned()));
        }
    }
    settings
}

/// The settings of an `.npmrc`; none when there is no such file.
fn settings(call: &Call<'_>, path: &str) -> Result<Vec<(String, String)>, Unresolved> {
    if call.files.kind(path)? != Listing::File {
        return Ok(Vec::new());
    }
    let Some(file) = call.files.text(path)? else { return Ok(Vec::new()) };
    let mut settings = Vec::new();
    for line in String::from_utf8_lossy(&file.bytes).lines() {
        let line = line.trim();
        if line.starts_with([';', '#']) || line.is_empty() {
            continue;
        }
        // Nothing npm knows stands under a section.
        if line.starts_with('[') {
            break;
        }
        let (name, value) = line.split_once('=').unwrap_or((line, "true"));
        let name = with_environment(call, name.trim().trim_end_matches("[]"));
        settings.push((name, with_environment(call, &unquoted(value.trim()))));
    }
    Ok(settings)
}

fn unquoted(value: &str) -> String {
    if value.starts_with('"') && value.ends_with('"') && value.len() > 1 {
        return serde_json::from_str(value).unwrap_or_else(|_| value.to_owned());
    }
    if value.starts_with('\'') && value.ends_with('\'') && value.len() > 1 {
        return value[1..value.len() - 1].to_owned();
    }
    let end = value.find([';', '#']).unwrap_or(value.len());
    value[..end].trim().to_owned()
}

/// Puts `${NAME}` and `${NAME?}` in.
fn with_environment(call: &Call<'_>, text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        out.push_str(before);
        let Some((name, after)) = after.split_once('}') else {
            rest = &rest[before.len()..];
            break;
        };
        let (bare, optional) = match name.strip_suffix('?') {
            Some(bare) => (bare, true),
            None => (name, false),
        };
        match call.env(bare) {
            Some(value) => out.push_str(&String::from_utf8_lossy(value)),
            None if optional => {}
            None => {
                out.push_str("${");
                out.push_str(name);
                out.push('}');
            }
        }
        rest = after;
    }
    out + rest
}
