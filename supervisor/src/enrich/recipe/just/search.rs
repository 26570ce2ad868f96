//! Which justfile, and in which directory its recipes run.

use super::super::super::Listing;
use super::super::{Call, Unresolved};
use super::options::Options;
use super::paths;

pub(super) const NAMES: [&str; 2] = ["justfile", ".justfile"];
const ROOTS: [&str; 5] = [".bzr", ".git", ".hg", ".svn", "_darcs"];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) justfile: String,
    pub(super) directory: String,
    /// Whether `set fallback` may look above it.
    pub(super) falls_back: bool,
}

pub(super) fn search(call: &Call<'_>, options: &Options) -> Result<Found, Unresolved> {
    let absolute = |path: &str| paths::clean(&paths::join(call.cwd, path));
    if let Some(start) = &options.search {
        if options.global || options.justfile.is_some() || options.directory.is_some() {
            return Err("a directory and --justfile exclude each other".into());
        }
        return upwards(call, options, &absolute(start));
    }
    if options.global {
        let justfile = global(call)?;
        return Ok(Found { justfile, directory: project(call, options)?, falls_back: false });
    }
    match (&options.justfile, &options.directory) {
        (None, Some(_)) => Err("--working-directory needs --justfile".into()),
        (None, None) => upwards(call, options, call.cwd),
        (Some(justfile), _) if justfile == "-" => Err("the justfile comes from standard input".into()),
        (Some(justfile), directory) => {
            let justfile = absolute(justfile);
            let directory = match directory {
                Some(directory) => absolute(directory),
                None => parent_of(&justfile)?,
            };
            Ok(Found { justfile, directory, falls_back: false })
        }
    }
}

/// The nearest directory, from `start` upwards, that holds one justfile.
pub(super) fn upwards(call: &Call<'_>, options: &Options, start: &str) -> Result<Found, Unresolved> {
    let wanted = |name: &str| match options.names.as_slice() {
        [] => NAMES.iter().any(|wanted| name.eq_ignore_ascii_case(wanted)),
        names => names.iter().any(|wanted| name.eq_ignore_ascii_case(wanted)),
    };
    for directory in paths::ancestors(start) {
        let names = call.files.names(directory)?;
        let mut found = names.iter().filter(|name| wanted(name));
        match (found.next(), found.next()) {
            (Some(_), Some(_)) => return Err(format!("{directory} holds several justfiles").into()),
            (Some(name), None) => {
                let justfile = paths::join(directory, name);
                return Ok(Found { justfile, directory: directory.to_owned(), falls_back: true });
            }
            _ if options.ceiling.as_deref() == Some(directory) => break,
            _ => {}
        }
    }
    Err(format!("no justfile in {start} or above").into())
}

pub(super) fn parent_of(path: &str) -> Result<String, Unresolved> {
    paths::parent(path).map(str::to_owned).ok_or_else(|| format!("{path} has no parent").into())
}

fn global(call: &Call<'_>) -> Result<String, Unresolved> {
    let text = |name: &str| call.env(name).and_then(|value| std::str::from_utf8(value).ok());
    let home = text("HOME").filter(|home| !home.is_empty());
    let config = text("XDG_CONFIG_HOME").filter(|path| path.starts_with('/')).map(str::to_owned);
    let config = config.or_else(|| home.map(|home| paths::join(home, ".config")));
    let mut places: Vec<(String, &str)> = Vec::new();
    places.extend(config.map(|config| (paths::join(&config, "just"), "justfile")));
    if let Some(home) = home {
        places.push((paths::join(home, ".config/just"), "justfile"));
        places.extend(NAMES.map(|name| (home.to_owned(), name)));
    }
    for (directory, wanted) in places {
        if call.files.kind(&directory)? != Listing::Directory {
            continue;
        }
        let names = call.files.names(&directory)?;
        if let Some(name) = names.iter().find(|name| name.eq_ignore_ascii_case(wanted)) {
            return Ok(paths::join(&directory, name));
        }
    }
    Err("there is no global justfile".into())
}

/// Where a global justfile's recipes run: the project's root.
fn project(call: &Call<'_>, options: &Options) -> Result<String, Unresolved> {
    for directory in paths::ancestors(call.cwd) {
        for root in ROOTS {
            if call.files.kind(&paths::join(directory, root))? != Listing::Absent {
                return Ok(directory.to_owned());
            }
        }
        if options.ceiling.as_deref() == Some(directory) {
            break;
        }
    }
    Ok(call.cwd.to_owned())
}
