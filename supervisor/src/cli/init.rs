//! `shellgate init`: writes a commented preset to start from. Never replaces a file unasked.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, bail};

use super::print;
use crate::config::preset_text;

#[derive(Debug, clap::Args)]
pub struct InitArgs {
    /// The preset to write.
    #[arg(long, value_name = "NAME", default_value = "dev", value_parser = ["dev", "strict"])]
    preset: String,
    #[command(flatten)]
    output: Output,
}

/// Where a configuration is written.
#[derive(Debug, clap::Args)]
pub(super) struct Output {
    /// Where to write it; `-` is standard output.
    #[arg(short = 'o', long = "output", value_name = "FILE", default_value = "shellgate.yaml")]
    pub(super) path: PathBuf,
    /// Replace the file if it exists.
    #[arg(long)]
    force: bool,
}

pub(super) fn run(args: &InitArgs) -> anyhow::Result<ExitCode> {
    if write_new(&args.output, preset_text(&args.preset)?)? {
        let shown = args.output.path.display();
        print(&format!(
            "wrote {shown} (preset {}); check changes with: shellgate hook validate -c {shown}\n",
            args.preset
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// False where it went to standard output.
pub(super) fn write_new(output: &Output, text: &str) -> anyhow::Result<bool> {
    if output.path.as_os_str() == "-" {
        print(text)?;
        return Ok(false);
    }
    let shown = output.path.display();
    let mut options = OpenOptions::new();
    // Not writable by others from the start: whoever writes this file decides what runs.
    options.write(true).mode(0o644).custom_flags(libc::O_NONBLOCK);
    if output.force {
        options.create(true).truncate(true);
    } else {
        options.create_new(true);
    }
    let mut file = match options.open(&output.path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            bail!("{shown} exists; use --force to replace it, or --output for another place")
        }
        Err(error) => return Err(error).with_context(|| format!("cannot write {shown}")),
    };
    file.write_all(text.as_bytes()).with_context(|| format!("cannot write {shown}"))?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests may fail loudly")]
    use super::*;
    use crate::config::{Config, ConfigSource};

    fn args(output: PathBuf, preset: &str, force: bool) -> InitArgs {
        InitArgs { preset: preset.into(), output: Output { path: output, force } }
    }

    #[test]
    fn the_written_file_loads_without_warnings() {
        let dir = tempfile::tempdir().unwrap();
        for preset in ["dev", "strict"] {
            let path = dir.path().join(preset);
            run(&args(path.clone(), preset, false)).unwrap();
            let config = Config::load(&ConfigSource::File(path)).unwrap();
            assert!(config.hooks[0].judges_shell());
            assert_eq!(config.warnings, Vec::<String>::new());
        }
    }

    #[test]
    fn an_existing_file_is_kept_unless_forced() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.yaml");
        std::fs::write(&path, "mine").unwrap();
        assert!(run(&args(path.clone(), "dev", false)).unwrap_err().to_string().contains("--force"));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "mine");
        run(&args(path.clone(), "strict", true)).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), preset_text("strict").unwrap());
    }
}
