//! The bill of materials: each crate that the product is made of, with version, checksum and licence, as CycloneDX has it.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::{Release, fresh};
use crate::places::host;
use crate::process::must;

pub(super) fn list(release: &Release, out: &Path) -> Result<Value> {
    let name = format!("{}.cdx.json", release.name());
    // The tool writes beside each manifest, so it gets manifests of its own: those of the commit.
    let room = out.with_extension("sources");
    fresh(&room)?;
    let archive = room.join("sources.tar");
    must(release.command("git").args(["archive", "--format=tar", "HEAD", "-o"]).arg(&archive))?;
    must(release.command("tar").arg("--extract").arg("--file").arg(&archive).arg("-C").arg(&room))?;
    let mut cargo = release.command("cargo");
    cargo.args(["cyclonedx", "--quiet", "--format", "json", "--spec-version", "1.5", "--target", &host()?]);
    must(cargo.arg("--manifest-path").arg(room.join("supervisor/Cargo.toml")))?;
    let made = room.join("supervisor/shellgate.cdx.json");
    let text = fs::read_to_string(&made).with_context(|| format!("cannot read {}", made.display()))?;
    let text = without_path(&text, &room);
    let bill = serde_json::from_str(&text).context("the bill of materials is not JSON")?;
    complete(&bill, release.version)?;
    fs::write(out.join(name), text).context("cannot write the bill of materials")?;
    fs::remove_dir_all(&room).with_context(|| format!("cannot remove {}", room.display()))?;
    Ok(bill)
}

/// Where the sources lay says nothing about them.
fn without_path(text: &str, room: &Path) -> String {
    text.replace(&*room.to_string_lossy(), "/shellgate")
}

/// Whether it is one of us and of what decides most about us.
fn complete(bill: &Value, version: &str) -> Result<()> {
    ensure!(bill["bomFormat"] == "CycloneDX", "the bill of materials is none of CycloneDX");
    let about = &bill["metadata"]["component"];
    ensure!(
        about["name"] == "shellgate" && about["version"] == version,
        "the bill of materials is about {about}"
    );
    let parts = bill["components"].as_array().context("the bill of materials lists nothing")?;
    for wanted in ["shellgate-common", "cel", "libc", "wasmtime", "rustls", "hyper"] {
        let part = parts.iter().find(|part| part["name"] == wanted);
        let part = part.with_context(|| format!("the bill of materials lacks {wanted}"))?;
        ensure!(part["licenses"].is_array(), "the bill of materials has no licence of {wanted}");
        ensure!(
            part["hashes"].is_array() || wanted.starts_with("shellgate"),
            "the bill of materials has no checksum of {wanted}"
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn bill() -> Value {
        let part = |name: &str| json!({"name": name, "licenses": [{"expression": "MIT"}], "hashes": [{"alg": "SHA-256"}]});
        let parts: Vec<Value> = ["shellgate-common", "cel", "libc", "wasmtime", "rustls", "hyper"]
            .into_iter()
            .map(part)
            .collect();
        json!({
            "bomFormat": "CycloneDX",
            "metadata": {"component": {"name": "shellgate", "version": "1.0.0"}},
            "components": parts,
        })
    }

    #[test]
    fn a_bill_that_lacks_something_is_refused() {
        assert!(complete(&bill(), "1.0.0").is_ok());
        assert!(complete(&bill(), "1.0.1").is_err(), "of another version");
        let changes: [fn(&mut Value); 4] = [
            |bill| bill["bomFormat"] = "SPDX".into(),
            |bill| bill["components"][3]["name"] = "wasmi".into(),
            |bill| bill["components"][1]["hashes"] = Value::Null,
            |bill| bill["components"][0]["licenses"] = Value::Null,
        ];
        for change in changes {
            let mut changed = bill();
            change(&mut changed);
            assert!(complete(&changed, "1.0.0").is_err(), "{changed}");
        }
    }

    #[test]
    fn the_folder_of_the_sources_is_not_told() {
        let told = without_path("path+file:///tmp/x/supervisor#shellgate@1", Path::new("/tmp/x"));
        assert_eq!(told, "path+file:///shellgate/supervisor#shellgate@1");
    }
}
