//! just's functions, as far as they can be computed from the call and the files.

use heck::{
    ToKebabCase, ToLowerCamelCase, ToShoutyKebabCase, ToShoutySnakeCase, ToSnakeCase, ToTitleCase,
    ToUpperCamelCase,
};
use sha2::{Digest, Sha256};

use super::super::super::Listing;
use super::super::Unresolved;
use super::evaluate::{Scope, regex};
use super::machine::Machine;
use super::paths;
use super::value::Value;

pub(super) enum Answer {
    Is(Value),
    /// Only running just would tell.
    Unknown,
    /// just stops here.
    Failed(String),
}

pub(super) fn call(
    machine: &mut Machine<'_>,
    name: &str,
    values: &[Value],
    scope: &Scope,
) -> Result<Answer, Unresolved> {
    let name = match name.strip_suffix("_dir").or_else(|| name.strip_suffix("_dir_native")) {
        Some(prefix) => format!("{prefix}_directory"),
        None => name.strip_suffix("_native").unwrap_or(name).to_owned(),
    };
    let texts: Vec<String> = values.iter().map(Value::joined).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    if let Some(answer) = of_values(machine, &name, values, scope) {
        return Ok(answer);
    }
    if let Some(answer) = of_text(&name, &texts) {
        return Ok(answer);
    }
    of_place(machine, &name, &texts, scope)
}

/// `env()` and its older names; the default may be a value that is not known.
pub(super) fn environment(
    machine: &mut Machine<'_>,
    name: &str,
    values: &[Value],
    scope: &Scope,
) -> Option<Answer> {
    let (("env" | "env_var", [keys]) | ("env" | "env_var_or_default", [keys, _])) = (name, values) else {
        return None;
    };
    if !keys.known {
        return Some(Answer::Unknown);
    }
    let found = keys.elements.iter().find_map(|key| machine.variable_of_environment(key, scope));
    Some(match (found, values.get(1)) {
        (Some(Some(value)), _) => Answer::Is(Value::text(value)),
        (Some(None), _) => Answer::Unknown,
        (None, Some(default)) => Answer::Is(default.clone()),
        (None, None) => Answer::Failed(format!("environment variable {} is not set", keys.joined())),
    })
}

/// Functions of lists.
fn of_values(machine: &mut Machine<'_>, name: &str, values: &[Value], scope: &Scope) -> Option<Answer> {
    let lists = machine.has_lists(scope.module);
    let boolean = |holds: bool| match (lists, holds) {
        (true, true) => Value::text("true"),
        (true, false) => Value::list(Vec::new()),
        (false, holds) => Value::text(holds.to_string()),
    };
    let each = |value: &Value, change: &dyn Fn(&str) -> String| {
        Value::list(value.elements.iter().map(|element| change(element)).collect())
    };
    let words = |value: &Value, change: &dyn Fn(&str) -> String| {
        if lists {
            return each(value, change);
        }
        let joined = value.joined();
        let words: Vec<String> = joined.split_whitespace().map(change).collect();
        Value::text(words.join(" "))
    };
    Some(Answer::Is(match (name, values) {
        ("append", [suffix, value]) => words(value, &|word| format!("{word}{}", suffix.joined())),
        ("prepend", [prefix, value]) => words(value, &|word| format!("{}{word}", prefix.joined())),
        ("quote", [value]) => each(value, &|text| format!("'{}'", text.replace('\'', r"'\''"))),
        ("absolute_path", [value]) => {
            let base = machine.directory(scope.module)?;
            each(value, &|path| paths::clean(&paths::join(&base, path)))
        }
        ("num_jobs", []) => machine.options.jobs.clone().map_or(Value::list(Vec::new()), Value::text),
        ("len", [value]) => Value::text(value.elements.len().to_string()),
        ("join_list", [value]) => Value::text(value.joined()),
        ("join_list", [value, separator]) => Value::text(value.elements.join(&separator.joined())),
        ("split", [value]) => Value::list(value.joined().split_whitespace().map(str::to_owned).collect()),
        ("split", [value, separator]) => {
            let (text, separator) = (value.joined(), separator.joined());
            Value::list(match separator.as_str() {
                "" => text.chars().map(String::from).collect(),
                separator => text.split(separator).map(str::to_owned).collect(),
            })
        }
        ("bool", [value]) => match value.joined().as_str() {
            "" | "0" | "false" => boolean(false),
            "1" | "true" => boolean(true),
            other => return Some(Answer::Failed(format!("{other} is no boolean"))),
        },
        ("is_dependency", []) => boolean(scope.is_dependency),
        _ => return None,
    }))
}

/// Functions of text alone.
fn of_text(name: &str, texts: &[&str]) -> Option<Answer> {
    let no = |what: &str, path: &str| Answer::Failed(format!("{path} has no {what}"));
    let text = match (name, texts) {
        ("arch", []) => std::env::consts::ARCH.to_owned(),
        ("os", []) => "linux".to_owned(),
        ("os_family", []) => "unix".to_owned(),
        ("capitalize", [s]) => {
            let mut chars = s.chars();
            let first: String = chars.next().into_iter().flat_map(char::to_uppercase).collect();
            first + &chars.as_str().to_lowercase()
        }
        ("clean", [path]) => paths::clean(path),
        ("encode_uri_component", [s]) => encode(s),
        ("error", [why]) => return Some(Answer::Failed((*why).to_owned())),
        ("extension", [path]) => match paths::extension(path) {
            Some(extension) => extension.to_owned(),
            None => return Some(no("extension", path)),
        },
        ("file_name", [path]) => match paths::file_name(path) {
            Some(name) => name.to_owned(),
            None => return Some(no("file name", path)),
        },
        ("file_stem", [path]) => match paths::stem(path) {
            Some(stem) => stem.to_owned(),
            None => return Some(no("file stem", path)),
        },
        ("parent_directory", [path]) => match paths::parent(path) {
            Some("") => ".".to_owned(),
            Some(parent) => parent.to_owned(),
            None => return Some(no("parent", path)),
        },
        ("without_extension", [path]) => match (paths::parent(path), paths::stem(path)) {
            (Some(parent), Some(stem)) => paths::join(parent, stem),
            _ => return Some(no("file stem", path)),
        },
        ("join", [base, with @ ..]) if !with.is_empty() => {
            with.iter().fold((*base).to_owned(), |path, part| paths::join(&path, part))
        }
        ("kebabcase", [s]) => s.to_kebab_case(),
        ("lowercamelcase", [s]) => s.to_lower_camel_case(),
        ("lowercase", [s]) => s.to_lowercase(),
        ("shoutykebabcase", [s]) => s.to_shouty_kebab_case(),
        ("shoutysnakecase", [s]) => s.to_shouty_snake_case(),
        ("snakecase", [s]) => s.to_snake_case(),
        ("titlecase", [s]) => s.to_title_case(),
        ("uppercamelcase", [s]) => s.to_upper_camel_case(),
        ("uppercase", [s]) => s.to_uppercase(),
        ("replace", [s, from, to]) => return Some(replaced(s, from, to)),
        ("replace_regex", [s, pattern, to]) => match regex(pattern) {
            Some(pattern) if s.len() * (to.len() + 1) < 1 << 20 => pattern.replace_all(s, *to).into_owned(),
            Some(_) => return Some(Answer::Unknown),
            None => return Some(Answer::Failed(format!("{pattern} is no regular expression"))),
        },
        ("sha256", [s]) => format!("{:x}", Sha256::digest(s.as_bytes())),
        ("trim", [s]) => s.trim().to_owned(),
        ("trim_end", [s]) => s.trim_end().to_owned(),
        ("trim_end_match", [s, end]) => s.strip_suffix(end).unwrap_or(s).to_owned(),
        ("trim_end_matches", [s, end]) => s.trim_end_matches(end).to_owned(),
        ("trim_start", [s]) => s.trim_start().to_owned(),
        ("trim_start_match", [s, start]) => s.strip_prefix(start).unwrap_or(s).to_owned(),
        ("trim_start_matches", [s, start]) => s.trim_start_matches(start).to_owned(),
        _ => return None,
    };
    Some(Answer::Is(Value::text(text)))
}

fn replaced(s: &str, from: &str, to: &str) -> Answer {
    // One replacement at each character at worst.
    if s.len() * (to.len() + 1) < 1 << 20 {
        Answer::Is(Value::text(s.replace(from, to)))
    } else {
        Answer::Unknown
    }
}

/// Functions of where the justfile lies and what is there.
fn of_place(
    machine: &mut Machine<'_>,
    name: &str,
    texts: &[&str],
    scope: &Scope,
) -> Result<Answer, Unresolved> {
    let module = &machine.tree.modules[scope.module];
    let parent = |path: &str| paths::parent(path).map(str::to_owned);
    let home = || machine.environment("HOME").filter(|home| !home.is_empty());
    let base = |variable: &str, below: &str| {
        let set = machine.environment(variable).filter(|path| path.starts_with('/'));
        set.or_else(|| home().map(|home| paths::join(&home, below)))
    };
    let text = match (name, texts) {
        ("just_executable", []) => Some(machine.call.program.to_owned()),
        ("justfile", []) => Some(machine.found.justfile.clone()),
        ("justfile_directory", []) => parent(&machine.found.justfile),
        ("invocation_directory", []) => Some(machine.call.cwd.to_owned()),
        ("source_file", []) => Some(machine.tree.sources[scope.source].path.clone()),
        ("source_directory", []) => parent(&machine.tree.sources[scope.source].path),
        ("module_file", []) => Some(machine.tree.sources[module.source].path.clone()),
        ("module_directory", []) => parent(&machine.tree.sources[module.source].path),
        ("module_path", []) => Some(module.path.join("::")),
        ("recipe_name", []) if scope.in_recipe => Some(scope.name.clone()),
        ("home_directory", []) => home(),
        ("cache_directory", []) => base("XDG_CACHE_HOME", ".cache"),
        ("config_directory" | "config_local_directory", []) => base("XDG_CONFIG_HOME", ".config"),
        ("data_directory" | "data_local_directory", []) => base("XDG_DATA_HOME", ".local/share"),
        ("executable_directory", []) => base("XDG_BIN_HOME", ".local/bin"),
        ("path_exists" | "read", [path]) => {
            let Some(directory) = machine.directory(scope.module) else { return Ok(Answer::Unknown) };
            let path = paths::join(&directory, path);
            if scope.in_recipe {
                machine.note(format!("{name}() is asked now and may answer otherwise when the recipe runs"));
            }
            if name == "read" {
                let file = machine.call.files.text(&path)?;
                let text = file.and_then(|file| String::from_utf8(file.bytes).ok());
                return Ok(match text {
                    Some(text) => Answer::Is(Value::text(text)),
                    None => Answer::Failed(format!("{path} cannot be read")),
                });
            }
            let exists = !texts[0].is_empty() && machine.call.files.kind(&path)? != Listing::Absent;
            match (machine.has_lists(scope.module), exists) {
                (true, false) => return Ok(Answer::Is(Value::list(Vec::new()))),
                (_, exists) => Some(exists.to_string()),
            }
        }
        _ => None,
    };
    Ok(text.map_or(Answer::Unknown, |text| Answer::Is(Value::text(text))))
}

fn encode(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.!~*'()".contains(&byte);
    let one = |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    text.bytes().map(one).collect()
}
