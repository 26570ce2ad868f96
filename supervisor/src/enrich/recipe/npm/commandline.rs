//! npm's command line, read as its option parser does: long names may be shortened, a flag takes only `true` or
//! `false` as its value, everything after `--` is an operand.

/// Options that are flags. Those of [`LITERALS`] take one more word.
const FLAGS: &str = "all allow-same-version audit bin-links browser bypass-2fa color commit-hooks \
    dangerously-allow-all-scripts description dev diff-ignore-all-space diff-name-only diff-no-prefix diff-text \
    dry-run engine-strict expect-results force foreground-scripts format-package-lock fund git-tag-version global \
    global-style if-present ignore-scripts include-staged include-workspace-root include-attestations \
    init-private install-links json legacy-bundling legacy-peer-deps link long offline \
    omit-lockfile-registry-resolved optional package-lock package-lock-only parseable allow-scripts-pending \
    allow-scripts-pin prefer-dedupe prefer-offline prefer-online production progress provenance read-only \
    rebuild-bundle save save-bundle save-dev save-exact save-optional save-peer save-prod packages-all shrinkwrap \
    sign-git-commit sign-git-tag strict-peer-deps strict-allow-scripts strict-ssl timing unicode update-notifier \
    usage version versions workspaces workspaces-update yes";
const VALUES: &str = "_auth access allow-directory allow-file allow-git allow-remote allow-scripts also \
    audit-level auth-type before ca cache cache-max cache-min cafile call cert cidr cpu depth diff \
    diff-dst-prefix diff-src-prefix diff-unified editor expect-result-count expires fetch-retries \
    fetch-retry-factor fetch-retry-maxtimeout fetch-retry-mintimeout fetch-timeout git globalconfig heading \
    https-proxy include init-author-email init-author-name init-author-url init-license init-module init-type \
    init-version install-strategy key libc local-address location lockfile-version loglevel logs-dir logs-max name \
    maxsockets message min-release-age min-release-age-exclude node-gyp node-options noproxy omit only orgs os otp \
    package pack-destination packages prefix preid provenance-file proxy registry replace-registry-host \
    save-prefix sbom-format sbom-type scope scopes packages-and-scopes-permission orgs-permission password \
    token-description script-shell searchexclude searchlimit searchopts searchstaleness shell tag \
    tag-version-prefix umask user-agent userconfig viewer which workspace";
/// A flag that may also have this value.
const LITERALS: [(&str, &str); 7] = [
    ("color", "always"),
    ("browser", ""),
    ("expect-results", "null"),
    ("optional", "null"),
    ("production", "null"),
    ("workspaces", "null"),
    ("yes", "null"),
];
/// Options whose value must not look like an option: a word with a dash is read as the next one.
const PLAIN_TEXT: &str = "cert key name message otp password scope tag editor preid viewer git heading \
    tag-version-prefix save-prefix user-agent shell call init-version init-license init-author-name registry";
const SHORTHANDS: [(&str, &str); 40] = [
    ("enjoy-by", "before"),
    ("d", "loglevel=info"),
    ("dd", "loglevel=verbose"),
    ("ddd", "loglevel=silly"),
    ("quiet", "loglevel=warn"),
    ("q", "loglevel=warn"),
    ("s", "loglevel=silent"),
    ("silent", "loglevel=silent"),
    ("verbose", "loglevel=verbose"),
    ("desc", "description"),
    ("help", "usage"),
    ("local", "no-global"),
    ("n", "no-yes"),
    ("no", "no-yes"),
    ("porcelain", "parseable"),
    ("readonly", "read-only"),
    ("reg", "registry"),
    ("iwr", "include-workspace-root"),
    ("ws", "workspaces"),
    ("a", "all"),
    ("c", "call"),
    ("f", "force"),
    ("g", "global"),
    ("L", "location"),
    ("l", "long"),
    ("m", "message"),
    ("p", "parseable"),
    ("C", "prefix"),
    ("S", "save"),
    ("B", "save-bundle"),
    ("D", "save-dev"),
    ("E", "save-exact"),
    ("O", "save-optional"),
    ("P", "save-prod"),
    ("?", "usage"),
    ("H", "usage"),
    ("h", "usage"),
    ("v", "version"),
    ("w", "workspace"),
    ("y", "yes"),
];

/// Settings in the order given, and the words that are none.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct CommandLine {
    pub(super) settings: Vec<(String, String)>,
    pub(super) operands: Vec<String>,
}

pub(super) fn read(words: &[String]) -> CommandLine {
    let mut line = CommandLine::default();
    let mut at = 0;
    while let Some(word) = words.get(at) {
        at += 1;
        if word.len() > 1 && word.bytes().all(|byte| byte == b'-') {
            line.operands.extend(words[at..].iter().cloned());
            break;
        }
        if !word.starts_with('-') || word.len() < 2 {
            line.operands.push(word.clone());
            continue;
        }
        let (name, glued) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (word.as_str(), None),
        };
        let options = expanded(name.trim_start_matches('-'));
        let count = options.len();
        for (index, option) in options.into_iter().enumerate() {
            if let Some((name, value)) = option.split_once('=') {
                line.settings.push((name.to_owned(), value.to_owned()));
                // The value of `-s=x` stays behind as an operand.
                if let (true, Some(glued)) = (index + 1 == count, &glued) {
                    line.operands.push(glued.clone());
                }
                continue;
            }
            let last = index + 1 == count;
            let glued = if last { glued.clone() } else { None };
            at = line.take(&option, glued, words, at);
        }
    }
    line
}

impl CommandLine {
    /// One option; returns where the next word is.
    fn take(&mut self, option: &str, glued: Option<String>, words: &[String], at: usize) -> usize {
        let mut name = option;
        let mut negated = false;
        while let Some(rest) = name.strip_prefix("no-") {
            negated = !negated;
            name = rest;
        }
        let negates = name.len() != option.len();
        let name = full(name).unwrap_or(name).to_owned();
        let was_glued = glued.is_some();
        let next = glued.as_ref().or_else(|| words.get(at));
        let after = if was_glued { at } else { at + 1 };
        let known = is(&name, VALUES);
        if negates || is(&name, FLAGS) || !known && !was_glued {
            let (value, used) = match next.map(String::as_str) {
                Some(word @ ("true" | "false")) => (((word == "true") != negated).to_string(), true),
                Some(word) if LITERALS.contains(&(name.as_str(), word)) => (word.to_owned(), true),
                _ => ((!negated).to_string(), false),
            };
            self.settings.push((name, value));
            if !used && let Some(glued) = glued {
                self.operands.push(glued);
            }
            return if used { after } else { at };
        }
        let value = match next {
            Some(word) if is(&name, PLAIN_TEXT) && word.starts_with('-') && word.len() > 1 => None,
            Some(word) if word.len() > 1 && word.bytes().all(|byte| byte == b'-') => None,
            next => next.cloned(),
        };
        let after = if value.is_some() { after } else { at };
        self.settings.push((name, value.unwrap_or_default()));
        after
    }
}

fn is(name: &str, list: &str) -> bool {
    list.split_whitespace().any(|known| known == name)
}

/// The option that `name` is or is short for.
fn full(name: &str) -> Option<&'static str> {
    let known = || FLAGS.split_whitespace().chain(VALUES.split_whitespace());
    if let Some(exact) = known().find(|known| *known == name) {
        return Some(exact);
    }
    let mut longer = known().filter(|known| known.starts_with(name) && !name.is_empty());
    longer.next().filter(|_| longer.next().is_none())
}

/// Long options that stand for one word without its dashes.
fn expanded(name: &str) -> Vec<String> {
    let short = |name: &str| {
        let found = SHORTHANDS.iter().find(|(short, long)| *short == name && !long.is_empty());
        found.map(|(_, long)| (*long).to_owned())
    };
    if full(name) == Some(name) {
        return vec![name.to_owned()];
    }
    if let Some(long) = short(name) {
        return vec![long];
    }
    let letters: Vec<Option<String>> = name.chars().map(|letter| short(&letter.to_string())).collect();
    if letters.iter().all(Option::is_some) && !letters.is_empty() {
        return letters.into_iter().flatten().collect();
    }
    if full(name).is_some() {
        return vec![name.to_owned()];
    }
    let mut longer = SHORTHANDS.iter().filter(|(short, long)| short.starts_with(name) && !long.is_empty());
    match (longer.next(), longer.next()) {
        (Some((_, long)), None) => vec![(*long).to_owned()],
        _ => vec![name.to_owned()],
    }
}
