//! `shellgate completions` and `shellgate man`: both come from the definition of the command line.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::CommandFactory as _;

use super::{Cli, print};

/// This binary's other name has a command line that is the shell's, and so a page that is written by hand.
const SHELL_PAGE: &str = include_str!("../../man/shellgate-sh.1");

#[derive(Debug, clap::Args)]
pub struct CompletionsArgs {
    /// The shell that will read the script.
    #[arg(value_enum)]
    shell: Shell,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Shell {
    Bash,
    Zsh,
    Fish,
}

#[derive(Debug, clap::Args)]
pub struct ManArgs {
    /// Write one page per command into this folder, which is made if need be.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

pub(super) fn completions(args: &CompletionsArgs) -> anyhow::Result<ExitCode> {
    print(&String::from_utf8(script(args.shell))?)?;
    Ok(ExitCode::SUCCESS)
}

pub(super) fn man(args: &ManArgs) -> anyhow::Result<ExitCode> {
    if let Some(dir) = &args.out {
        std::fs::create_dir_all(dir).with_context(|| format!("cannot make folder {}", dir.display()))?;
        clap_mangen::generate_to(Cli::command(), dir)
            .and_then(|()| std::fs::write(dir.join("shellgate-sh.1"), SHELL_PAGE))
            .with_context(|| format!("cannot write man pages into {}", dir.display()))?;
    } else {
        print(&String::from_utf8(page()?)?)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn script(shell: Shell) -> Vec<u8> {
    let shell = match shell {
        Shell::Bash => clap_complete::Shell::Bash,
        Shell::Zsh => clap_complete::Shell::Zsh,
        Shell::Fish => clap_complete::Shell::Fish,
    };
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "shellgate", &mut script);
    script
}

fn page() -> io::Result<Vec<u8>> {
    let mut page = Vec::new();
    clap_mangen::Man::new(Cli::command()).render(&mut page)?;
    Ok(page)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a page that cannot be written is a failed test")]

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_shell_completes_the_verbs_and_their_flags() {
        for (shell, mark) in [
            (Shell::Bash, "complete -F"),
            (Shell::Zsh, "#compdef shellgate"),
            (Shell::Fish, "complete -c shellgate"),
        ] {
            let script = String::from_utf8(script(shell)).unwrap();
            for wanted in [mark, "completions", "denied", "follow"] {
                assert!(script.contains(wanted), "{shell:?} lacks {wanted}");
            }
        }
    }

    #[test]
    fn the_main_page_names_the_verbs_and_each_verb_has_a_page() {
        assert!(String::from_utf8(page().unwrap()).unwrap().contains("shellgate\\-log(1)"));
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("man/man1");
        man(&ManArgs { out: Some(out.clone()) }).unwrap();
        for page in ["shellgate.1", "shellgate-log.1", "shellgate-completions.1", "shellgate-sh.1"] {
            assert!(std::fs::metadata(out.join(page)).unwrap().len() > 100, "{page}");
        }
    }
}
