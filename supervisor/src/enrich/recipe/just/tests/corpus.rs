use super::super::super::disk::Disk;
use super::super::resolve;
use crate::event::RecipeRole;

#[test]
fn corpus() {
    let Ok(list) = std::env::var("CORPUS") else { return };
    let just = "/work/scratch-just/v/bin/just";
    for file in std::fs::read_to_string(list).unwrap().lines() {
        let dir = std::path::Path::new(file).parent().unwrap();
        let out =
            std::process::Command::new(just).args(["--unstable", "--summary", "-f", file]).output().unwrap();
        if !out.status.success() {
            println!("REFUSED {file}: {}", String::from_utf8_lossy(&out.stderr).lines().next().unwrap_or(""));
            continue;
        }
        let names = String::from_utf8(out.stdout).unwrap();
        let mut names: Vec<&str> = names.split_whitespace().collect();
        names.push("");
        for name in names {
            let mut args: Vec<&str> = vec!["just", "--unstable", "-f", file];
            if !name.is_empty() {
                args.push(name);
            }
            let disk = Disk { root: tempfile::tempdir().unwrap() };
            let mut extra: Vec<&str> = vec![];
            let env: Vec<String> = std::env::vars().map(|(k, v)| format!("{k}={v}")).collect();
            let env: Vec<&str> = env.iter().map(String::as_str).collect();
            let mut res;
            loop {
                let words: Vec<&str> = args.iter().copied().chain(extra.iter().copied()).collect();
                res = disk.resolve(resolve, dir.to_str().unwrap(), &words, &env);
                match &res {
                    Err(e) if e.0.contains("lacks argument") && extra.len() < 6 => extra.push("A"),
                    _ => break,
                }
            }
            let out = std::process::Command::new(just)
                .args(&args[1..3 + 1])
                .arg("--dry-run")
                .arg("--yes")
                .arg("--no-highlight")
                .arg("--color=never")
                .args(&args[4..])
                .args(&extra)
                .current_dir(disk.root.path())
                .output();
            let _ = &args;
            let out = out.unwrap();
            let expected = String::from_utf8_lossy(&out.stderr).into_owned();
            match res {
                Err(e) => println!(
                    "{} {file} {name}: {}",
                    if out.status.success() { "MISS" } else { "both-fail" },
                    e.0
                ),
                Ok(None) => println!("NONE {file} {name}"),
                Ok(Some(recipe)) => {
                    let text: String = recipe
                        .runs
                        .iter()
                        .filter(|p| p.role != RecipeRole::Reading && !p.body.is_empty())
                        .map(|p| p.body.clone() + "\n")
                        .collect();
                    let norm = |s: &str| {
                        s.replace("{{`", "`")
                            .replace("`}}", "`")
                            .replace("{{shell", "shell")
                            .lines()
                            .map(|l| l.trim_end().to_owned())
                            .filter(|l| !l.is_empty())
                            .collect::<Vec<_>>()
                    };
                    let (a, b) = (norm(&text), norm(&expected));
                    if a == b {
                        println!("ok {file} {name} {}", recipe.complete)
                    } else {
                        println!(
                            "DIFF {file} {name} status {} complete {} note {:?}",
                            out.status, recipe.complete, recipe.note
                        );
                        for i in 0..a.len().max(b.len()) {
                            if a.get(i) != b.get(i) {
                                println!("   ours {:?}\n   just {:?}", a.get(i), b.get(i));
                                break;
                            }
                        }
                    }
                }
            }
        }
    }
}
