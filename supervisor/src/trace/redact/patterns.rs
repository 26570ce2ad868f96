//! What a secret looks like in running text. Each pattern masks its group `value`, or all of its match.
//!
//! A value ends where a shell word would: text after it stays readable, so that a secret cannot be used to
//! hide a command from the reader of the trace.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::MASK;

/// Names that hold a secret, wherever in a longer name they stand.
pub(super) const WITHIN: &str = r"token|secret|passw|passphrase|credential|(?:api|access|private|signing|encryption|master|account|auth|deploy|storage|subscription|shared|license)[-_.]?key";
/// Names that hold a secret when a longer name ends with them.
pub(super) const AT_END: &str =
    r"auth|(?:(?-u:\b)|[_.\-])(?:pass|pw|creds)|[_.\-]pwd|(?-i:(?:(?-u:\b)|[A-Z0-9]_)KEY)";
/// Names that end so hold where the secret is, not the secret.
const ELSEWHERE: [&str; 8] = ["file", "path", "dir", "stdin", "name", "tokenize", "tokenizer", "prompt"];
/// A word as a shell, JSON or YAML would delimit it: quoted (also inside quotes), or bare.
const VALUE: &str = r#"(?P<value>\\"(?:[^"\\;&|\r\n]|\\[^"])*(?:\\"|\z)|"(?:[^"\\]|\\(?s:.))*(?:"|\z)|'[^']*(?:'|\z)(?:\\.'[^']*')*|(?:[^\s"'\\;&|()<>`:=]|\\.)(?:[^\s"'\\;&|()<>`]|\\.)*)"#;
const HEADER: &str = r"(?:(?:proxy-)?authorization|(?:set-)?cookie)";
/// How a header's secret is announced.
const SCHEME: &str = r"(?:(?:bearer|basic|token|digest|negotiate|apikey)(?:\\?[ \t])+)";
/// Programs whose `-pVALUE` is a password.
pub(super) const GLUED_P: &str = r"mysql\w*|mariadb[\w-]*|sshpass|7z[ar]?|rar|unrar";

/// Cheap and loose: true for all that a pattern below, or the rules for argument lists, can match.
pub(super) static HINTS: LazyLock<Regex> = LazyLock::new(|| {
    compile(
        r"(?i-u)token|secret|passw|passphrase|pass\b|pwd?\b|creds\b|credential|key|auth|bearer|basic|cookie|://|[?&]sig|mysql|mariadb|sshpass|\b7z|rar\b|docker|podman|mongo|\bzip|sqlcmd|redis-cli|ldap|-u|--(?:proxy-)?user|gh[pousr]_|github_pat_|\bsk-|[srp]k_(?:live|test)|xox[a-z]-|xapp-|AKIA|ASIA|gl[a-z]{2,5}-|npm_|pypi-|hf_|AIza|hvs\.|dop_v1_|shpat_|ya29\.|SG\.|[0-9]:AA|eyJ|-----BEGIN",
    )
});

static PATTERNS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let name = r"[A-Za-z0-9_.\-]{0,64}";
    [
        // PEM: the block, or as much of it as there is, and nothing that could be a command.
        r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----(?:\\[nr]|\s|[A-Za-z0-9+/=]{16,}|Proc-Type: [0-9],ENCRYPTED|DEK-Info: [A-Z0-9\-]+,[A-F0-9]+)*[A-Za-z0-9+/=]*(?:(?:\\[nr]|\s)*-----END [A-Z0-9 ]*PRIVATE KEY-----)?".to_owned(),
        // Headers: in quotes, as JSON, as a whole argument, and as a bare word. A scheme stays readable.
        format!(r#"(?i)["']{HEADER}[ \t]*:[ \t]*{SCHEME}?(?P<value>[^"'\\\r\n]+)"#),
        format!(r#"(?i){HEADER}\\?["'][ \t]*:[ \t]*\\?["']{SCHEME}?(?P<value>[^"'\\\r\n]+)"#),
        format!(r#"(?i)^(?:proxy-)?authorization[ \t]*:[ \t]*{SCHEME}?(?P<value>[^"'\r\n;&|]+)"#),
        format!(r#"(?i)authorization[ \t]*[:=](?:\\?[ \t])*{SCHEME}?(?P<value>[^\s"'\\;&|]+)"#),
        r#"(?i)cookie[ \t]*:(?:\\?[ \t])*(?P<value>[^\s"';&|]+(?:;[ \t]*[^\s"';&|=]+=[^\s"';&|]*)*)"#.to_owned(),
        r"(?i)(?-u:\b)bearer(?:\\?[ \t])+(?P<value>[A-Za-z0-9._~+/=\-]{12,})".to_owned(),
        // `scheme://user:password@host`, and a long user that is a token.
        r#"://[^\s/:@"']*:(?P<value>[^\s/"']+)@"#.to_owned(),
        r#"://(?P<value>[^\s/:@"']{20,})@"#.to_owned(),
        // `?sig=`, `&key=` of signed addresses.
        r#"(?i)[?&](?:sig|key|signature|x-amz-signature)=(?P<value>[^\s&"'#]+)"#.to_owned(),
        // `NAME=value`, `NAME: value`, `"NAME": "value"`.
        format!(
            r#"(?i)(?P<slash>/?)(?P<name>(?:{WITHIN}){name}|{AT_END})\\?["']?(?P<by>[ \t]{{0,3}}:[ \t]{{0,3}}|[ \t]{{1,3}}=[ \t]{{1,3}}|=){SCHEME}?{VALUE}"#
        ),
        // `--NAME value`.
        format!(
            r#"(?i)(?:^|[\s"'(])(?P<name>--?(?:[A-Za-z0-9_.\-]{{0,64}}(?:{WITHIN})[A-Za-z0-9_\-]{{0,64}}|(?:[A-Za-z0-9_\-]{{0,64}}[_\-])?(?:auth|pass|pw|pwd|creds)))["']?(?P<by>[ \t]+){VALUE}"#
        ),
        // `curl -u user:password`.
        r#"(?:^|\s)(?:-u|--(?:proxy-)?user)(?:[ \t]+|=)?["']?[^\s:"'/]+:(?P<value>[^\s"';&|]+)"#.to_owned(),
        after_program(GLUED_P, "-p"),
        after_program("sshpass|mongo(?:sh)?|(?:docker|podman)[ \\t]+login", r"-p[ \t]+"),
        after_program("zip|unzip|sqlcmd", r"-P[ \t]+"),
        after_program("redis-cli", r"-a[ \t]+"),
        after_program(r"ldap\w+", r"-w[ \t]+"),
        // Tokens that carry their own mark.
        r"(?-u:\b)(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|sk-[A-Za-z0-9_\-]{16,}|[srp]k_(?:live|test)_[A-Za-z0-9]{10,}|xox[a-z]-[A-Za-z0-9\-]{10,}|xapp-[A-Za-z0-9\-]{10,}|(?:AKIA|ASIA)[A-Z0-9]{16}|gl[a-z]{2,5}-[A-Za-z0-9_\-]{16,}|npm_[A-Za-z0-9]{30,}|pypi-[A-Za-z0-9_\-]{30,}|hf_[A-Za-z0-9]{30,}|AIza[A-Za-z0-9_\-]{30,}|hvs\.[A-Za-z0-9_\-]{20,}|dop_v1_[a-f0-9]{40,}|shpat_[a-fA-F0-9]{20,}|ya29\.[A-Za-z0-9_\-]{20,}|SG\.[A-Za-z0-9_\-]{16,}\.[A-Za-z0-9_\-]{16,}|[0-9]{8,10}:AA[A-Za-z0-9_\-]{30,}|eyJ[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]{8,}(?:\.[A-Za-z0-9_\-]*)?)".to_owned(),
    ]
    .iter()
    .map(|pattern| compile(pattern))
    .collect()
});

/// A value behind a short flag of a program, within one command.
fn after_program(programs: &str, flag: &str) -> String {
    format!(r#"(?:^|[\s/;&|("'])(?:{programs})(?:[ \t][^\n;|&]*?)?[ \t]{flag}{VALUE}"#)
}

pub(super) fn compile(pattern: &str) -> Regex {
    Regex::new(pattern).expect("built-in patterns are constants, and a test compiles each of them")
}

/// Compiles everything now.
pub(super) fn prepare() {
    LazyLock::force(&HINTS);
    LazyLock::force(&PATTERNS);
}

/// Masks in running text.
pub(super) fn mask<'a>(text: &'a str, extra: &[Regex]) -> Cow<'a, str> {
    let mut masked = Cow::Borrowed(text);
    for pattern in PATTERNS.iter() {
        if let Cow::Owned(next) = pattern.replace_all(&masked, replacement) {
            masked = Cow::Owned(next);
        }
    }
    mask_extra(masked, extra)
}

/// Masks what the configuration adds.
pub(super) fn mask_extra<'a>(text: Cow<'a, str>, extra: &[Regex]) -> Cow<'a, str> {
    extra.iter().fold(text, |masked, pattern| {
        let next = pattern.replace_all(&masked, |found: &Captures<'_>| match found.name("secret") {
            Some(secret) => around(found, secret.start(), secret.end(), MASK),
            None => MASK.to_owned(),
        });
        match next {
            Cow::Owned(next) => Cow::Owned(next),
            Cow::Borrowed(_) => masked,
        }
    })
}

/// Whether a name of a flag or variable says that the secret itself is elsewhere.
pub(super) fn points_elsewhere(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ELSEWHERE.iter().any(|end| name.ends_with(end))
}

/// `--max-tokens 4096` counts tokens.
pub(super) fn is_count(name: &str, value: &str) -> bool {
    name.to_ascii_lowercase().ends_with("tokens") && value.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a word is a flag, and so not the value of the flag before it.
pub(super) fn is_flag(word: &str) -> bool {
    let mut letters = word.chars();
    letters.next() == Some('-')
        && match letters.next() {
            Some('-') | None => true,
            Some(letter) => letter.is_ascii_alphabetic() && letters.next().is_none(),
        }
}

fn replacement(found: &Captures<'_>) -> String {
    let Some(value) = found.name("value") else {
        return MASK.to_owned();
    };
    if stays(found, value.as_str()) {
        return found[0].to_owned();
    }
    let quote = ["\\\"", "\"", "'"].into_iter().find(|quote| value.as_str().starts_with(quote)).unwrap_or("");
    around(found, value.start(), value.end(), &format!("{quote}{MASK}{quote}"))
}

fn around(found: &Captures<'_>, start: usize, end: usize, with: &str) -> String {
    let whole = found.get_match();
    let text = whole.as_str();
    let (start, end) = (start - whole.start(), end - whole.start());
    [&text[..start], with, &text[end..]].concat()
}

/// What only looks like a secret.
fn stays(found: &Captures<'_>, value: &str) -> bool {
    let group = |group| found.name(group).map_or("", |found| found.as_str());
    let (name, by) = (group("name"), group("by"));
    let digits = value.bytes().all(|byte| byte.is_ascii_digit());
    if name.is_empty() {
        // `-u 1000:1000` names a group, not a password.
        return digits && found[0].contains("-u");
    }
    points_elsewhere(name)
        || (by.trim().is_empty() && is_flag(value))
        || is_count(name, value)
        // `/etc/passwd:/mnt` is a path and a path.
        || (group("slash") == "/" && by.contains(':') && value.starts_with('/'))
}
