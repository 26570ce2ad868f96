//! The licence texts of what is linked in, which most of them want to be passed on.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::Release;
use crate::process::stdout;

/// How such files begin, in capitals.
const NAMES: [&str; 6] = ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE"];

const HEAD: &str = "\
What the program is linked with, and under which licences. Texts that several parts share stand here once.

The GNU C library is under the LGPL, version 2.1 or newer; in the static binary it is linked in. The sources of the program are
open, so it can be linked with another version of the library: `cargo xtask dist`. Rust's own library is under MIT or Apache-2.0.
";

/// One text for all required parts of the bill of materials.
pub(super) fn collect(release: &Release, bill: &Value) -> Result<String> {
    let told = stdout(release.command("cargo").args(["metadata", "--format-version=1", "--locked"]))?;
    let told: Value = serde_json::from_str(&told).context("cargo metadata is not JSON")?;
    let key = |part: &Value| Some((part["name"].as_str()?.to_owned(), part["version"].as_str()?.to_owned()));
    let parts = bill["components"].as_array().context("the bill of materials lists nothing")?;
    let wanted: BTreeSet<_> =
        parts.iter().filter(|part| part["scope"] == "required").filter_map(key).collect();
    let packages = told["packages"].as_array().context("cargo metadata lists no packages")?;
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut found = BTreeSet::new();
    for package in packages {
        let Some(key) = key(package).filter(|key| wanted.contains(key)) else { continue };
        let manifest = package["manifest_path"].as_str().context("a package has a manifest")?;
        let folder = Path::new(manifest).parent().context("a manifest is in a folder")?;
        let name =
            format!("{} {}, {}", key.0, key.1, package["license"].as_str().unwrap_or("its own licence"));
        let mut own = texts_in(folder)?;
        if own.is_empty() {
            own.push("(The crate holds no text of its licence.)\n".to_owned());
        }
        for text in own {
            texts.entry(text).or_default().push(name.clone());
        }
        found.insert(key);
    }
    let lost: Vec<_> = wanted.difference(&found).collect();
    ensure!(lost.is_empty(), "cargo metadata does not know {lost:?}");
    Ok(together(&texts))
}

fn texts_in(folder: &Path) -> Result<Vec<String>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_uppercase();
        if path.is_file() && NAMES.iter().any(|start| name.starts_with(start)) {
            files.push(path);
        }
    }
    files.sort();
    let read = |path| fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    files.iter().map(read).collect::<std::io::Result<_>>().context("cannot read a licence")
}

/// Ordered by the parts, not by the texts.
fn together(texts: &BTreeMap<String, Vec<String>>) -> String {
    let mut ordered: Vec<(&Vec<String>, &String)> = texts.iter().map(|(text, names)| (names, text)).collect();
    ordered.sort();
    let mut whole = HEAD.to_owned();
    for (names, text) in ordered {
        let _ = write!(whole, "\n{}\n{}\n\n{}\n", "=".repeat(80), names.join("\n"), text.trim_end());
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_several_share_stands_once_below_their_names() {
        let texts = [("mine\n", vec!["b 1, MIT"]), ("ours\n\n", vec!["a 1, MIT", "c 2, MIT"])];
        let texts =
            texts.map(|(text, names)| (text.to_owned(), names.into_iter().map(str::to_owned).collect()));
        let line = "=".repeat(80);
        let expected = format!("{HEAD}\n{line}\na 1, MIT\nc 2, MIT\n\nours\n\n{line}\nb 1, MIT\n\nmine\n");
        assert_eq!(together(&texts.into()), expected);
    }

    #[test]
    fn licences_are_known_by_their_names() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for (name, text) in
            [("license-mit", "m"), ("LICENSE-APACHE", "a"), ("README.md", "r"), ("COPYING", "c")]
        {
            fs::write(folder.path().join(name), text).expect("it is writable");
        }
        assert_eq!(texts_in(folder.path()).expect("it can be read"), ["c", "a", "m"]);
    }
}
