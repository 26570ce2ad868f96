//! `.env` files as far as justfiles read them with `env()`. A value with a variable in it is not worked out.

use std::collections::BTreeMap;

use super::super::super::Listing;
use super::super::Unresolved;
use super::evaluate::Scope;
use super::machine::Machine;
use super::paths;

impl Machine<'_> {
    /// The variables of a module's `.env` file; `None` is a value that is not known.
    pub(super) fn dotenv(&mut self, module: usize) -> Result<BTreeMap<String, Option<String>>, Unresolved> {
        let mut variables = BTreeMap::new();
        if !self.options.dotenv {
            return Ok(variables);
        }
        let root = self.tree.modules[module].path.is_empty();
        let scope = Scope { module, name: "dotenv-command".to_owned(), ..Scope::default() };
        let setting = |machine: &mut Self, name: &str, given: &[String]| -> Result<Vec<String>, Unresolved> {
            if !given.is_empty() {
                return Ok(given.to_vec());
            }
            Ok(machine.setting(module, name)?.map(|value| value.elements).unwrap_or_default())
        };
        let (files, paths_given, commands) = (
            self.options.dotenv_files.clone(),
            self.options.dotenv_paths.clone(),
            if root { self.options.dotenv_commands.clone() } else { Vec::new() },
        );
        let commands = setting(self, "dotenv-command", &commands)?;
        if !commands.is_empty() {
            for command in commands {
                self.runs_while_reading(&command, true, &scope)?;
            }
            self.unknown_environment = true;
            return Ok(variables);
        }
        let mut files = setting(self, "dotenv-filename", &files)?;
        let named = setting(self, "dotenv-path", &paths_given)?;
        let wanted = ["dotenv-load", "dotenv-override", "dotenv-required"];
        let module = &self.tree.modules[module];
        if files.is_empty() && named.is_empty() && !wanted.iter().any(|name| module.is_set(name)) {
            return Ok(variables);
        }
        let overrides = module.is_set("dotenv-override");
        let base = if root { self.found.directory.clone() } else { module.directory.clone() };
        let mut found = false;
        for path in named {
            found |= self.load(&paths::join(&base, &path), overrides, &mut variables)?;
        }
        if found {
            return Ok(variables);
        }
        if files.is_empty() {
            files.push(".env".to_owned());
        }
        for directory in paths::ancestors(&base) {
            for file in &files {
                found |= self.load(&paths::join(directory, file), overrides, &mut variables)?;
            }
            if found {
                break;
            }
        }
        Ok(variables)
    }

    fn load(
        &self,
        path: &str,
        overrides: bool,
        variables: &mut BTreeMap<String, Option<String>>,
    ) -> Result<bool, Unresolved> {
        if self.call.files.kind(path)? != Listing::File {
            return Ok(false);
        }
        let Some(file) = self.call.files.text(path)? else { return Ok(false) };
        for line in String::from_utf8_lossy(&file.bytes).lines() {
            let line = line.trim_start();
            let line = line.strip_prefix("export ").unwrap_or(line);
            let Some((name, value)) = line.split_once('=').filter(|_| !line.starts_with('#')) else {
                continue;
            };
            let name = name.trim();
            if overrides || self.environment(name).is_none() {
                variables.insert(name.to_owned(), value_of(value.trim()));
            }
        }
        Ok(true)
    }
}

fn value_of(raw: &str) -> Option<String> {
    if let Some(quoted) = raw.strip_prefix('\'') {
        let (value, rest) = quoted.split_once('\'')?;
        return ended(rest).then(|| value.to_owned());
    }
    if raw.contains(['$', '\\']) {
        return None;
    }
    if let Some(quoted) = raw.strip_prefix('"') {
        let (value, rest) = quoted.split_once('"')?;
        return ended(rest).then(|| value.to_owned());
    }
    let value = raw.split_once(" #").map_or(raw, |(value, _)| value).trim_end();
    (!value.contains(['\'', '"'])).then(|| value.to_owned())
}

fn ended(rest: &str) -> bool {
    let rest = rest.trim_start();
    rest.is_empty() || rest.starts_with('#')
}
