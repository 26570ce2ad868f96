//! node, deno and bun. node's long options come from `node --help` (20, 22): those with `=...` take a value,
//! in the same word or the next. Checked against node 20.

use super::super::options::{Grammar, Operand, Take};
use super::super::reading::{Reading, Told};

pub(in crate::enrich) const NODE: Grammar = Grammar {
    words: &[
        ("-e", Take::Code),
        ("--eval", Take::Code),
        ("-pe", Take::Code),
        ("-p", Take::OptionalCode),
        ("--print", Take::OptionalCode),
        ("-r", Take::Preload),
        ("--require", Take::Preload),
        ("--import", Take::Preload),
        ("--loader", Take::Preload),
        ("--experimental-loader", Take::Preload),
        ("-i", Take::Stays),
        ("--interactive", Take::Stays),
        ("-c", Take::Flag),
        ("--check", Take::Flag),
        ("-C", Take::Value),
        ("--conditions", Take::Value),
        ("-h", Take::Quits),
        ("--help", Take::Quits),
        ("-v", Take::Quits),
        ("--version", Take::Quits),
        ("--v8-options", Take::Quits),
        ("--completion-bash", Take::Quits),
        ("--run", Take::Odd),
        ("--test", Take::Odd),
        ("--build-snapshot", Take::Flag),
        ("--build-snapshot-config", Take::Value),
        ("--cpu-prof", Take::Flag),
        ("--cpu-prof-dir", Take::Value),
        ("--cpu-prof-interval", Take::Value),
        ("--cpu-prof-name", Take::Value),
        ("--diagnostic-dir", Take::Value),
        ("--disable-proto", Take::Value),
        ("--disable-warning", Take::Value),
        ("--dns-result-order", Take::Value),
        ("--enable-source-maps", Take::Flag),
        ("--env-file", Take::Value),
        ("--env-file-if-exists", Take::Value),
        ("--experimental-default-type", Take::Value),
        ("--experimental-permission", Take::Flag),
        ("--experimental-require-module", Take::Flag),
        ("--experimental-strip-types", Take::Flag),
        ("--experimental-transform-types", Take::Flag),
        ("--experimental-vm-modules", Take::Flag),
        ("--experimental-wasm-modules", Take::Flag),
        ("--expose-gc", Take::Flag),
        ("--frozen-intrinsics", Take::Flag),
        ("--harmony", Take::Flag),
        ("--heap-prof", Take::Flag),
        ("--heapsnapshot-signal", Take::Value),
        ("--icu-data-dir", Take::Value),
        ("--input-type", Take::Value),
        ("--insecure-http-parser", Take::Flag),
        ("--inspect", Take::Flag),
        ("--inspect-brk", Take::Flag),
        ("--inspect-port", Take::Value),
        ("--inspect-wait", Take::Flag),
        ("--jitless", Take::Flag),
        ("--max-http-header-size", Take::Value),
        ("--max-old-space-size", Take::Flag),
        ("--max-semi-space-size", Take::Flag),
        ("--no-addons", Take::Flag),
        ("--no-deprecation", Take::Flag),
        ("--no-warnings", Take::Flag),
        ("--openssl-config", Take::Value),
        ("--openssl-legacy-provider", Take::Flag),
        ("--pending-deprecation", Take::Flag),
        ("--permission", Take::Flag),
        ("--preserve-symlinks", Take::Flag),
        ("--preserve-symlinks-main", Take::Flag),
        ("--prof", Take::Flag),
        ("--redirect-warnings", Take::Value),
        ("--stack-size", Take::Flag),
        ("--stack-trace-limit", Take::Flag),
        ("--throw-deprecation", Take::Flag),
        ("--title", Take::Value),
        ("--trace-deprecation", Take::Flag),
        ("--trace-exit", Take::Flag),
        ("--trace-uncaught", Take::Flag),
        ("--trace-warnings", Take::Flag),
        ("--unhandled-rejections", Take::Value),
        ("--use-openssl-ca", Take::Flag),
        ("--use-system-ca", Take::Flag),
        ("--watch", Take::Flag),
        ("--watch-path", Take::Value),
        ("--watch-preserve-output", Take::Flag),
        ("--zero-fill-buffers", Take::Flag),
    ],
    // Twice `--eval` is one option set twice.
    last_wins: true,
    ..Grammar::PLAIN
};

const BUN: Grammar = Grammar {
    words: &[
        ("-e", Take::Code),
        ("--eval", Take::Code),
        ("-p", Take::Code),
        ("--print", Take::Code),
        ("-r", Take::Preload),
        ("--preload", Take::Preload),
        ("--require", Take::Preload),
        ("--import", Take::Preload),
        ("--cwd", Take::Value),
        ("--define", Take::Value),
        ("--env-file", Take::Value),
        ("-b", Take::Flag),
        ("--bun", Take::Flag),
        ("--hot", Take::Flag),
        ("--silent", Take::Flag),
        ("--smol", Take::Flag),
        ("--watch", Take::Flag),
        ("-h", Take::Quits),
        ("--help", Take::Quits),
        ("-v", Take::Quits),
        ("--version", Take::Quits),
        ("--revision", Take::Quits),
    ],
    last_wins: true,
    ..Grammar::PLAIN
};

/// `bun FILE`, `bun run FILE`, `bun -e CODE`, `bun exec 'shell text'`; a bare name may be a package script.
pub(in crate::enrich) fn bun<'a>(words: &[&'a [u8]]) -> Reading<'a> {
    let mut found = match BUN.collect(words) {
        Ok(found) => found,
        Err(reading) => return reading,
    };
    if found.given {
        return found.conclude(&BUN);
    }
    match found.operands.first().copied() {
        None => return Reading::Nothing,
        Some(b"exec") => {
            found.operands.remove(0);
            return found.conclude(&Grammar { operand: Operand::Program, ..BUN });
        }
        Some(b"run") => drop(found.operands.remove(0)),
        Some(b"test" | b"x" | b"repl" | b"create") => {
            return Reading::NotUnderstood("this bun command runs code it finds itself".to_owned());
        }
        Some(_) => {}
    }
    match found.operands.first() {
        None => Reading::Nothing,
        Some(name) if *name == b"-" || name.contains(&b'/') || name.contains(&b'.') => found.conclude(&BUN),
        Some(_) => Reading::NotUnderstood("may be a bun command or a package script".to_owned()),
    }
}

const DENO: Grammar = Grammar {
    letters: &[
        ("ARWNESq", Take::Flag),
        ("cL", Take::Value),
        ("r", Take::Glued),
        ("pT", Take::Flag),
        ("h", Take::Quits),
        ("V", Take::Quits),
    ],
    words: &[
        ("--allow-all", Take::Flag),
        ("--allow-env", Take::Glued),
        ("--allow-ffi", Take::Glued),
        ("--allow-hrtime", Take::Flag),
        ("--allow-import", Take::Glued),
        ("--allow-net", Take::Glued),
        ("--allow-read", Take::Glued),
        ("--allow-run", Take::Glued),
        ("--allow-scripts", Take::Glued),
        ("--allow-sys", Take::Glued),
        ("--allow-write", Take::Glued),
        ("--cached-only", Take::Flag),
        ("--cert", Take::Value),
        ("--check", Take::Glued),
        ("--config", Take::Value),
        ("--env-file", Take::Glued),
        ("--ext", Take::Value),
        ("--frozen", Take::Glued),
        ("--help", Take::Quits),
        ("--import-map", Take::Value),
        ("--inspect", Take::Glued),
        ("--inspect-brk", Take::Glued),
        ("--location", Take::Value),
        ("--lock", Take::Glued),
        ("--log-level", Take::Value),
        ("--no-check", Take::Glued),
        ("--no-config", Take::Flag),
        ("--no-lock", Take::Flag),
        ("--no-npm", Take::Flag),
        ("--no-prompt", Take::Flag),
        ("--no-remote", Take::Flag),
        ("--node-modules-dir", Take::Glued),
        ("--preload", Take::Preload),
        ("--print", Take::Flag),
        ("--quiet", Take::Flag),
        ("--reload", Take::Glued),
        ("--seed", Take::Value),
        ("--unstable", Take::Flag),
        ("--v8-flags", Take::Glued),
        ("--version", Take::Quits),
        ("--watch", Take::Glued),
    ],
    ..Grammar::PLAIN
};

/// Commands that look at code or fetch it but run none of it.
const DENO_IDLE: &[&[u8]] = &[
    b"add",
    b"cache",
    b"check",
    b"clean",
    b"completions",
    b"coverage",
    b"doc",
    b"fmt",
    b"help",
    b"info",
    b"init",
    b"lint",
    b"lsp",
    b"outdated",
    b"remove",
    b"types",
    b"uninstall",
    b"upgrade",
];

pub(in crate::enrich) fn deno<'a>(words: &[&'a [u8]]) -> Reading<'a> {
    let found = match DENO.collect(words) {
        Ok(found) => found,
        Err(reading) => return reading,
    };
    let Some((command, rest)) = found.operands.split_first() else {
        return Reading::Runs(Told { parts: vec![super::super::reading::Part::Stdin], ..Told::default() });
    };
    // The command takes the place of the program's name.
    let inner: Vec<&[u8]> = [*command].into_iter().chain(rest.iter().copied()).collect();
    match *command {
        b"eval" => Grammar { operand: Operand::Program, permutes: true, ..DENO }.read(&inner),
        b"run" => DENO.read(&inner),
        name if DENO_IDLE.contains(&name) => Reading::Nothing,
        name if name == b"-" || name.contains(&b'/') || name.contains(&b'.') => found.conclude(&DENO),
        _ => Reading::NotUnderstood("this deno command is not modelled".to_owned()),
    }
}
