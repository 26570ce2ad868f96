//! What the program that really runs will see as its arguments: past `ld.so` options and the name of a
//! multi-call binary, and where a subcommand starts. Rules decide on these; they never trust `argv[0]` for
//! who the program is, because the caller chooses it freely.

use super::pattern::{basename, glob};
use crate::event::Event;

/// Options in front of a subcommand that take the next word as their value.
const VALUE_OPTIONS: &[(&str, &[&str])] = &[
    (
        "git",
        &[
            "-C",
            "-c",
            "--git-dir",
            "--work-tree",
            "--namespace",
            "--super-prefix",
            "--config-env",
            "--attr-source",
        ],
    ),
    ("cargo*", &["-C", "-Z", "--config", "--color", "--explain"]),
    ("npm*", &["-C", "-w", "--prefix", "--workspace", "--loglevel", "--registry", "--userconfig", "--cache"]),
    ("pnpm*", &["-C", "--dir", "--filter", "-F", "--reporter", "--loglevel"]),
    ("yarn*", &["--cwd", "--registry", "--modules-folder", "--cache-folder"]),
    ("pip*", &["--log", "--proxy", "--timeout", "--retries", "--cache-dir", "--python", "--cert"]),
    ("docker", &["-c", "-H", "-l", "--context", "--host", "--log-level", "--config"]),
    ("podman", &["-c", "--connection", "--log-level", "--root", "--runroot", "--url", "--identity"]),
    (
        "systemctl",
        &["-H", "-M", "-t", "-p", "--host", "--machine", "--type", "--state", "--property", "--root"],
    ),
    ("gh", &["-R", "--repo", "--hostname"]),
    ("apt*", &["-o", "-c", "-t", "--option", "--config-file", "--target-release"]),
    ("dnf*", &["-c", "-x", "--config", "--enablerepo", "--disablerepo", "--installroot", "--releasever"]),
    ("uv", &["--directory", "--project", "--config-file", "--cache-dir", "--color"]),
    ("poetry", &["-C", "-P", "--directory", "--project"]),
    ("go", &["-C"]),
];

/// The argument list of the program that does the work: for `ld.so PROGRAM …` and `busybox APPLET …` the
/// part that starts at the program or applet, else all of it.
pub(super) fn effective(event: &Event) -> &[String] {
    let argv = event.argv.as_slice();
    let from = |wanted: &str| argv.iter().skip(1).position(|word| basename(word) == wanted).map(|at| at + 1);
    let mut start = 0;
    if let Some(payload) = &event.payload {
        start = from(basename(payload)).unwrap_or(0);
    } else if let Some(applet) = &event.applet
        && argv.first().is_none_or(|first| basename(first) != applet)
    {
        start = from(applet).unwrap_or(0);
    }
    &argv[start..]
}

/// The name of the program that does the work.
pub(super) fn program(event: &Event) -> &str {
    let applet = event.applet.as_deref().unwrap_or(event.name.as_str());
    event.payload.as_deref().map_or(applet, basename)
}

/// Everything after the program's own name.
pub fn args(event: &Event) -> &[String] {
    effective(event).get(1..).unwrap_or_default()
}

/// The arguments that are not options; after `--` everything is an operand.
pub(super) fn operands(event: &Event) -> Vec<&str> {
    let mut found = Vec::new();
    let mut options = true;
    for word in args(event) {
        if options && word == "--" {
            options = false;
        } else if !options || !word.starts_with('-') || word == "-" {
            found.push(word.as_str());
        }
    }
    found
}

/// The subcommand and all that follows it: `git -C dir -c k=v push -f` gives `["push", "-f"]`.
pub(super) fn words(event: &Event) -> Vec<&str> {
    let argv = effective(event);
    let args = args(event).iter().map(String::as_str);
    let name = program(event);
    // git takes its subcommand from argv[0] when that reads git-SUBCOMMAND, and so do the links in libexec.
    if name == "git"
        && let Some(sub) = argv.first().and_then(|first| basename(first).strip_prefix("git-"))
    {
        return std::iter::once(sub).chain(args).collect();
    }
    if let Some(sub) = name.strip_prefix("git-") {
        return std::iter::once(sub).chain(args).collect();
    }
    let with_value =
        value_options(name).or_else(|| value_options(basename(&event.path_raw))).unwrap_or_default();
    let mut args = args.peekable();
    while let Some(word) = args.peek() {
        if with_value.contains(word) {
            args.next();
            args.next();
        } else if word.len() > 1 && (word.starts_with('-') || (word.starts_with('+') && glob("cargo*", name)))
        {
            args.next();
        } else {
            break;
        }
    }
    args.collect()
}

fn value_options(name: &str) -> Option<&'static [&'static str]> {
    VALUE_OPTIONS.iter().find(|(program, _)| glob(program, name)).map(|(_, options)| *options)
}

#[cfg(test)]
mod tests {
    use super::super::example::event;
    use super::*;

    #[test]
    fn the_subcommand_is_found_behind_global_options() {
        for (line, expected) in [
            ("git push -f", &["push", "-f"][..]),
            ("git -C dir -c k=v --no-pager push -f", &["push", "-f"]),
            ("git --git-dir=/x push", &["push"]),
            ("git", &[]),
            ("cargo +nightly -Z x publish --dry-run", &["publish", "--dry-run"]),
            ("npm --prefix web install left-pad", &["install", "left-pad"]),
            ("/usr/lib/git-core/git-push -f", &["push", "-f"]),
            ("ls -l dir", &["dir"]),
        ] {
            assert_eq!(words(&event(line).expect("an example")), expected, "{line}");
        }
    }

    #[test]
    fn argv0_spelt_as_a_git_link_is_read_as_git_reads_it() {
        let mut event = event("git -f origin").expect("an example");
        event.argv[0] = "git-push".into();
        assert_eq!(words(&event), ["push", "-f", "origin"]);
    }

    #[test]
    fn the_loader_and_a_multi_call_binary_are_looked_through() {
        let mut loader = event("/lib64/ld.so --argv0 x /usr/bin/git push -f").expect("an example");
        loader.payload = Some("/usr/bin/git".into());
        assert_eq!(words(&loader), ["push", "-f"]);
        let mut busybox = event("busybox rm -rf /").expect("an example");
        busybox.applet = Some("rm".into());
        assert_eq!(args(&busybox), ["-rf", "/"]);
        assert_eq!(operands(&busybox), ["/"]);
    }

    #[test]
    fn a_double_dash_ends_the_options() {
        assert_eq!(operands(&event("rm -r -- -x y").expect("an example")), ["-x", "y"]);
        assert_eq!(operands(&event("cat - -n").expect("an example")), ["-"]);
    }
}
