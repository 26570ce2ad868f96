//! The same justfile given to just, which says on a dry run what it would run.

use std::path::Path;
use std::process::Command;

use super::super::super::disk::Disk;
use super::just;
use crate::event::RecipeRole;

const JUSTFILE: &str = r#"
set export
root := '/srv' / "data"
version := env('NO_SUCH_VARIABLE', `git describe`)
flags := if root =~ 'data$' { '--data' } else { '' }
alias t := test

# builds
[group('ci')]
build target='all' *flags: (_prepare target) && _clean
    @echo building {{target}} {{ flags }}
    -make {{target}} \
        VERSION={{version}} \
        {{ flags }}
    if [ -e x ]; then \
      echo {{ uppercase(target) }}; \
    fi

test +names: (build 'tests' '-k') (build 'tests' '-k')
    #!/usr/bin/env bash
    set -eu

    for name in {{names}}; do
      echo "$name" '{{{{x}}'
    done

[private]
_prepare what:
  mkdir -p {{root / what}}
  	echo extra white space

_clean:
    # a comment runs too
    rm -rf {{quote(root)}} {{ justfile_directory() }}

ci: (test 'a' 'b') build
"#;

#[test]
fn just_would_run_what_the_recipe_says() {
    let places = ["/usr/local/bin/just", "/usr/bin/just"];
    let Some(path) = places.iter().map(Path::new).find(|path| path.exists()) else {
        eprintln!("skipped: just is not installed");
        return;
    };
    let disk = Disk::with(&[("justfile", JUSTFILE.replace("  \techo extra", "  echo extra"))]);
    let cases: [&[&str]; 8] = [
        &[],
        &["build"],
        &["build", "x y", "-a", "--", "b"],
        &["t", "one", "two"],
        &["version=9", "build", "z"],
        &["--set", "root", "/r", "ci"],
        &["_prepare", "a'b", "_clean"],
        &["ci", "ci"],
    ];
    for words in cases {
        let output = Command::new(path)
            .args(["--dry-run", "--color=never", "--no-highlight"])
            .args(words)
            .current_dir(disk.root.path())
            .env_remove("NO_SUCH_VARIABLE")
            .output()
            .unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{words:?}: {said}");
        let recipe = just(&disk, words).unwrap().unwrap();
        let parts = recipe.runs.iter().filter(|part| part.role != RecipeRole::Reading);
        let ours: String =
            parts.filter(|part| !part.body.is_empty()).map(|part| part.body.clone() + "\n").collect();
        assert_eq!(ours.replace("{{`", "`").replace("`}}", "`"), said, "{words:?}");
    }
}
