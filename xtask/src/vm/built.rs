//! What the guest runs, built on the host: the product, the test programs, the small C programs, the first process.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use crate::process::{must, stdout};
use crate::setup::has;

const TARGET: &str = "x86_64-unknown-linux-gnu";
/// Test programs that travel into the guest.
const WANTED: [&str; 4] = ["unit", "cases", "race", "kernels"];

#[derive(Debug)]
pub(crate) struct Built {
    pub(crate) init: PathBuf,
    pub(crate) shellgate: Option<PathBuf>,
    /// Programs that embed the product's library.
    pub(crate) examples: Vec<(String, PathBuf)>,
    /// Test programs by the name of their target; `unit` has the product's unit tests.
    pub(crate) tests: Vec<(String, PathBuf)>,
    /// Compiled from `tests/programs`.
    pub(crate) programs: Vec<PathBuf>,
}

/// `optimized`: slower to build, and several times faster under emulation.
pub(crate) fn build(root: &Path, cache: &Path, optimized: bool) -> Result<Built> {
    let profile: &[&str] = if optimized { &["--profile", "guest"] } else { &[] };
    let cargo = |words: &[&str]| {
        let mut cargo = Command::new("cargo");
        cargo.current_dir(root).args(words).args(profile).args(["--quiet", "--message-format=json"]);
        stdout(&mut cargo)
    };
    let product = executables(&cargo(&["build", "--package", "shellgate", "--bins", "--examples"])?);
    let (product, examples): (Vec<_>, Vec<_>) =
        product.into_iter().partition(|(name, _)| name == "shellgate");
    let (_, shellgate) = product.into_iter().next().context("no shellgate")?;
    let test =
        ["test", "--no-run", "--package", "shellgate", "--lib", "--package", "shellgate-tests", "--tests"];
    let tests = executables(&cargo(&test)?);
    for name in WANTED {
        ensure!(tests.iter().any(|(built, _)| built == name), "cargo has built no test program {name}");
    }
    let stripped = cache.join("stripped");
    fs::create_dir_all(&stripped).with_context(|| format!("cannot create {}", stripped.display()))?;
    let tests = tests.into_iter().filter(|(name, _)| WANTED.contains(&name.as_str()));
    let tests = tests.map(|(name, path)| Ok((name, strip(&path, &stripped)?))).collect::<Result<_>>()?;
    let shellgate = Some(strip(&shellgate, &stripped)?);
    let examples = examples.into_iter().map(|(name, path)| Ok((name, strip(&path, &stripped)?)));
    let examples = examples.collect::<Result<_>>()?;
    Ok(Built { init: init(root)?, shellgate, examples, tests, programs: programs(root)? })
}

/// The first process alone, which is all that the runner's own test needs.
pub(crate) fn runner_only(root: &Path) -> Result<Built> {
    Ok(Built {
        init: init(root)?,
        shellgate: None,
        examples: Vec::new(),
        tests: Vec::new(),
        programs: Vec::new(),
    })
}

/// Linked statically: it runs before any library is looked for.
fn init(root: &Path) -> Result<PathBuf> {
    let mut cargo = Command::new("cargo");
    cargo.current_dir(root).args(["build", "--quiet", "--release", "--package", "shellgate-guest", "--bin"]);
    cargo.args(["shellgate-guest", "--target", TARGET, "--message-format=json"]);
    let told = stdout(cargo.env("RUSTFLAGS", "-C target-feature=+crt-static"))?;
    let found = executables(&told).into_iter().next();
    found.map(|(_, path)| path).context("cargo has built no shellgate-guest")
}

/// Executables by the name of their target, as cargo's messages have them. The product's library, built as a test
/// program, is `unit`; the harness's own has no tests.
fn executables(messages: &str) -> Vec<(String, PathBuf)> {
    let messages = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let found = messages.filter_map(|message| {
        let (kind, name) = (message["target"]["kind"][0].as_str()?, message["target"]["name"].as_str()?);
        let name = if (kind, name) == ("lib", "shellgate") { "unit" } else { name };
        Some((name.to_owned(), PathBuf::from(message["executable"].as_str()?)))
    });
    found.collect()
}

/// Nine tenths of a test program are for debuggers. Done again when the program is newer.
fn strip(program: &Path, folder: &Path) -> Result<PathBuf> {
    let to = folder.join(program.file_name().context("an executable has a name")?);
    let changed = |path: &Path| fs::metadata(path).and_then(|facts| facts.modified()).ok();
    if changed(&to).is_some_and(|stripped| changed(program).is_some_and(|built| stripped > built)) {
        return Ok(to);
    }
    if has("strip") {
        must(Command::new("strip").args(["--strip-all", "-o"]).arg(&to).arg(program))?;
    } else {
        fs::copy(program, &to).with_context(|| format!("cannot copy {}", program.display()))?;
    }
    Ok(to)
}

/// As the harness compiles them.
fn programs(root: &Path) -> Result<Vec<PathBuf>> {
    let mut built = Vec::new();
    for entry in fs::read_dir(root.join("tests/programs"))? {
        let path = entry?.path();
        match (path.file_stem().and_then(|name| name.to_str()), path.extension().and_then(|end| end.to_str()))
        {
            (Some(name), Some("c")) => built.push(shellgate_tests::program(name)),
            // What the harness makes components of.
            (Some(_), Some("wat")) => built.push(path),
            _ => {}
        }
    }
    built.sort();
    Ok(built)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn executables_are_known_by_the_name_of_their_target() {
        let message = |kind: &str, name: &str, executable: &str| {
            format!(
                "{{\"target\":{{\"kind\":[\"{kind}\"],\"name\":\"{name}\"}},\"executable\":{executable}}}\n"
            )
        };
        let messages = message("test", "cases", "\"/t/cases-1\"")
            + &message("lib", "shellgate", "\"/t/shellgate-1\"")
            + &message("lib", "libc", "null")
            + "not json";
        let expected = [("cases", "/t/cases-1"), ("unit", "/t/shellgate-1")];
        assert_eq!(
            executables(&messages),
            expected.map(|(name, path)| (name.to_owned(), PathBuf::from(path)))
        );
    }
}
