//! Workspaces: the packages that the root's patterns name, and which of them a call is for.

use super::super::super::Listing;
use super::super::{Call, Unresolved};
use super::config::Config;
use super::package::{Package, below, resolve};

/// Folders within each other that `**` looks into.
const DEEPEST: usize = 12;
const MOST: usize = 256;

pub(super) struct Workspace {
    pub(super) name: String,
    pub(super) directory: String,
}

/// All workspaces of a root, in the order of its patterns.
pub(super) fn of(call: &Call<'_>, root: &Package) -> Result<Vec<Workspace>, Unresolved> {
    let mut wanted: Vec<String> = Vec::new();
    let mut unwanted: Vec<String> = Vec::new();
    for stated in root.workspaces().unwrap_or_default() {
        let pattern = stated.trim_start_matches('!');
        let negated = (stated.len() - pattern.len()) % 2 == 1;
        let pattern = pattern.strip_prefix('.').filter(|rest| rest.starts_with('/')).unwrap_or(pattern);
        let pattern = pattern.trim_start_matches('/').trim_end_matches('/');
        for pattern in braces(pattern) {
            if negated {
                unwanted.push(pattern);
            } else {
                unwanted.retain(|negated| !matches(negated, &pattern));
                wanted.push(pattern);
            }
        }
    }
    let mut found: Vec<Workspace> = Vec::new();
    for pattern in &wanted {
        let mut paths = Vec::new();
        let parts: Vec<&str> = pattern.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
        expand(call, &root.directory, String::new(), &parts, 0, &mut paths)?;
        paths.sort();
        paths.dedup();
        for path in paths {
            let left_out = unwanted.iter().any(|negated| matches(negated, &path));
            let directory = resolve(&root.directory, &path);
            if left_out || found.iter().any(|one| one.directory == directory) {
                continue;
            }
            let Some(package) = Package::read(call, &directory)? else { continue };
            if found.len() == MOST {
                return Err(format!("more than {MOST} workspaces").into());
            }
            let folder = directory.rsplit('/').next().unwrap_or_default();
            let name = package.name().unwrap_or(folder).to_owned();
            if found.iter().any(|one| one.name == name) {
                return Err(format!("two workspaces are called {name}").into());
            }
            found.push(Workspace { name, directory });
        }
    }
    Ok(found)
}

/// The directories a call runs in; `None` when it is not about workspaces.
pub(super) fn chosen(call: &Call<'_>, config: &Config) -> Result<Option<Vec<String>>, Unresolved> {
    let mut filters = config.all("workspace");
    let all = config.flag("workspaces");
    if filters.is_empty() && all.is_none() {
        filters.extend(config.implied.as_deref());
    }
    if filters.is_empty() && all != Some(true) {
        return Ok(None);
    }
    if config.is_global() {
        return Err("workspaces and --global exclude each other".into());
    }
    if all == Some(false) {
        return if filters.is_empty() { Ok(None) } else { Err("--workspace and --no-workspaces".into()) };
    }
    let root = Package::read(call, &config.prefix)?.ok_or("no package.json at the root")?;
    let workspaces = of(call, &root)?;
    let mut directories = Vec::new();
    if config.is_on("include-workspace-root") {
        directories.push(root.directory.clone());
    }
    if filters.is_empty() {
        directories.extend(workspaces.iter().map(|one| one.directory.clone()));
    }
    let inside = call.cwd == config.prefix || call.cwd.starts_with(&below(&config.prefix, ""));
    let from = if inside { call.cwd } else { &config.prefix };
    for filter in filters {
        for one in &workspaces {
            let named = filter == one.name || resolve(from, filter) == one.directory;
            let mut path = relative(from, &one.directory);
            if filter.starts_with("./") {
                path = format!("./{path}");
            }
            let of_root = relative(&config.prefix, &resolve(call.cwd, filter));
            let above = |filter: &str| matches(&format!("{}/*", filter.trim_end_matches('/')), &path);
            if (named || above(&of_root) || above(filter)) && !directories.contains(&one.directory) {
                directories.push(one.directory.clone());
            }
        }
    }
    if directories.is_empty() {
        return Err("no workspace of that name".into());
    }
    Ok(Some(directories))
}

/// The way from one absolute directory to another.
fn relative(from: &str, to: &str) -> String {
    let parts =
        |path: &str| path.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect::<Vec<_>>();
    let (from, to) = (parts(from), parts(to));
    let same = from.iter().zip(&to).take_while(|(from, to)| from == to).count();
    let up = std::iter::repeat_n("..", from.len() - same);
    up.chain(to[same..].iter().map(String::as_str)).collect::<Vec<_>>().join("/")
}

/// `{a,b}` written out, one level deep.
fn braces(pattern: &str) -> Vec<String> {
    let Some((before, rest)) = pattern.split_once('{') else { return vec![pattern.to_owned()] };
    let Some((inside, after)) = rest.split_once('}') else { return vec![pattern.to_owned()] };
    inside.split(',').take(64).map(|choice| format!("{before}{choice}{after}")).collect()
}

fn expand(
    call: &Call<'_>,
    root: &str,
    path: String,
    parts: &[&str],
    depth: usize,
    found: &mut Vec<String>,
) -> Result<(), Unresolved> {
    let Some((part, rest)) = parts.split_first() else {
        if !path.is_empty() && call.files.kind(&below(&below(root, &path), "package.json"))? == Listing::File
        {
            found.push(path);
        }
        return Ok(());
    };
    let join = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}/{name}") };
    if !part.contains(['*', '?', '[']) {
        let path = join(part);
        return match call.files.kind(&below(root, &path))? {
            Listing::Directory => expand(call, root, path, rest, depth, found),
            Listing::Absent | Listing::File => Ok(()),
        };
    }
    let any_depth = *part == "**";
    if any_depth {
        expand(call, root, path.clone(), rest, depth, found)?;
    }
    if depth == DEEPEST {
        return Ok(());
    }
    for name in call.files.names(&below(root, &path))? {
        if name == "node_modules" || name.starts_with('.') || !any_depth && !fits(part, &name) {
            continue;
        }
        let below_it = join(&name);
        if call.files.kind(&below(root, &below_it))? == Listing::Directory {
            expand(call, root, below_it, if any_depth { parts } else { rest }, depth + 1, found)?;
        }
    }
    Ok(())
}

/// Whether a pattern with `/` and `**` fits a whole path.
fn matches(pattern: &str, path: &str) -> bool {
    let pattern: Vec<&str> = pattern.split('/').take(64).collect();
    let path: Vec<&str> = path.split('/').collect();
    // reached[i]: the pattern so far fits the first i parts.
    let mut reached = vec![false; path.len() + 1];
    reached[0] = true;
    for part in pattern {
        let before = reached.clone();
        for index in 0..reached.len() {
            let stepped = index > 0 && before[index - 1] && fits(part, path[index - 1]);
            reached[index] = match part {
                "**" => before[..=index].contains(&true),
                _ => stepped,
            };
        }
    }
    reached[path.len()]
}

/// Whether a pattern of `*`, `?` and text fits one name.
fn fits(pattern: &str, name: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().take(256).collect();
    let name: Vec<char> = name.chars().collect();
    let (mut at, mut star, mut mark) = (0, None, 0);
    let mut index = 0;
    while index < name.len() {
        match pattern.get(at) {
            Some('*') => {
                star = Some(at);
                mark = index;
                at += 1;
            }
            Some('?') => {
                at += 1;
                index += 1;
            }
            Some(c) if *c == name[index] => {
                at += 1;
                index += 1;
            }
            _ => match star {
                Some(before) => {
                    at = before + 1;
                    mark += 1;
                    index = mark;
                }
                None => return false,
            },
        }
    }
    pattern[at.min(pattern.len())..].iter().all(|c| *c == '*')
}
