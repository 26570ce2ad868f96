//! Secrets that only the shape of an argument list gives away: `--password VALUE`, `mysql -pVALUE`.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

use super::MASK;
use super::patterns::{self, AT_END, GLUED_P, WITHIN, compile, is_count, is_flag, points_elsewhere};

/// `--NAME=VALUE`: the value is the whole rest, whatever is in it.
static FLAG_VALUE: LazyLock<Regex> = LazyLock::new(|| {
    compile(&format!(
        r"(?is)^(?P<name>--?(?:[A-Za-z0-9_.\-]*(?:{WITHIN})[A-Za-z0-9_.\-]*|[A-Za-z0-9_.\-]*?(?:{AT_END}|pwd)))=(?P<value>.*)$"
    ))
});
/// `NAME=VALUE`: likewise, when it is no script.
static ASSIGNMENT: LazyLock<Regex> = LazyLock::new(|| {
    compile(&format!(
        r"(?is)^(?P<name>[A-Za-z0-9_.\-]*(?:{WITHIN})[A-Za-z0-9_.\-]*|[A-Za-z0-9_.\-]*?(?:{AT_END}))=(?P<value>.*)$"
    ))
});
/// `--NAME`: the value is the next argument.
static FLAG: LazyLock<Regex> = LazyLock::new(|| {
    compile(&format!(
        r"(?i)^--?(?:[A-Za-z0-9_.\-]*(?:{WITHIN})[A-Za-z0-9_\-]*|(?:[A-Za-z0-9_\-]*[_\-])?(?:auth|pass|pw|pwd|creds))$"
    ))
});
static GLUED: LazyLock<Regex> = LazyLock::new(|| compile(&format!("^(?:{GLUED_P})$")));

/// Programs whose short flag is followed by a password: program, flag, and a verb that must be there.
const NEXT: [(&str, &str, Option<&str>); 9] = [
    ("sshpass", "-p", None),
    ("docker", "-p", Some("login")),
    ("podman", "-p", Some("login")),
    ("mongo", "-p", None),
    ("mongosh", "-p", None),
    ("zip", "-P", None),
    ("unzip", "-P", None),
    ("sqlcmd", "-P", None),
    ("redis-cli", "-a", None),
];

/// The masked list. `body` is the argument that is a script, if one is.
pub(super) fn mask(argv: &[String], body: Option<&str>, extra: &[Regex]) -> Vec<String> {
    let mut value_follows = false;
    argv.iter()
        .enumerate()
        .map(|(at, argument)| {
            let before = &argv[..at];
            let name = at.checked_sub(1).map_or("", |last| argv[last].as_str());
            let is_value =
                std::mem::take(&mut value_follows) && !is_flag(argument) && !is_count(name, argument);
            if is_value {
                return if argument.is_empty() { String::new() } else { MASK.to_owned() };
            }
            value_follows = (FLAG.is_match(argument) && !points_elsewhere(argument))
                || takes_password(before, argument, argv);
            let masked = if body == Some(argument) { None } else { whole_value(before, argument) };
            let text = masked.map_or(Cow::Borrowed(argument.as_str()), Cow::Owned);
            match text {
                Cow::Owned(masked) => patterns::mask_extra(Cow::Owned(masked), extra).into_owned(),
                Cow::Borrowed(argument) => patterns::mask(argument, extra).into_owned(),
            }
        })
        .collect()
}

/// The argument with all that follows the name masked, when that is one secret.
fn whole_value(before: &[String], argument: &str) -> Option<String> {
    if let Some(flag) = before.last()
        && ["-u", "--user", "--proxy-user"].contains(&flag.as_str())
        && let Some((user, password)) = argument.split_once(':')
        // `-u 1000:1000` names a group.
        && !password.bytes().all(|byte| byte.is_ascii_digit())
    {
        return Some(format!("{user}:{MASK}"));
    }
    if let Some(found) = FLAG_VALUE.captures(argument) {
        let (name, value) = (&found["name"], &found["value"]);
        let secret = !points_elsewhere(name) && !is_count(name, value) && !value.is_empty();
        return secret.then(|| format!("{name}={MASK}"));
    }
    if let Some(found) = ASSIGNMENT.captures(argument) {
        let (name, value) = (&found["name"], &found["value"]);
        // With white space and shell operators it may be a command line (`ssh host 'TOKEN=x make; …'`), of
        // which only the value is hidden.
        let command =
            value.contains(char::is_whitespace) && value.contains([';', '&', '|', '\n', '$', '(', '`']);
        return (!command && !points_elsewhere(name) && !value.is_empty()).then(|| format!("{name}={MASK}"));
    }
    let glued = argument.len() > 2
        && argument.starts_with("-p")
        && before.iter().any(|earlier| GLUED.is_match(file_name(earlier)));
    glued.then(|| format!("-p{MASK}"))
}

fn takes_password(before: &[String], argument: &str, argv: &[String]) -> bool {
    let ldap =
        argument == "-w" && before.first().is_some_and(|program| file_name(program).starts_with("ldap"));
    ldap || NEXT.iter().any(|(program, flag, verb)| {
        argument == *flag
            && before.iter().any(|earlier| file_name(earlier) == *program)
            && verb.is_none_or(|verb| argv.iter().any(|argument| argument == verb))
    })
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
