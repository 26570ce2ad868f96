//! Patterns over programs: a name, an absolute path, or either with `*`. Pure text; trusts nothing.

use std::fmt;

/// `*` stands for any run of characters, `/` included; nothing else is special.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Pattern {
    text: String,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Kind {
    Any,
    Name,
    NameGlob,
    Path,
    PathGlob,
}

/// A pattern that could never match a canonical path, and what to write instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    #[error("an empty pattern matches no program; write a name, an absolute path or \"*\"")]
    Empty,
    #[error("\"{0}\" is a relative path and can never match; write the name alone or an absolute path")]
    Relative(String),
    #[error("\"{0}\" ends in a slash and can never match a program; append a name or \"*\"")]
    TrailingSlash(String),
    #[error("\"{0}\" is not a canonical path (\"//\", \"/./\" or \"/../\") and can never match")]
    NotCanonical(String),
    #[error("\"{0}\" has blanks around it and can never match; remove them")]
    Blank(String),
}

impl Pattern {
    pub fn parse(text: &str) -> Result<Self, PatternError> {
        let owned = || text.to_owned();
        if text.trim().is_empty() {
            return Err(PatternError::Empty);
        }
        if text.trim() != text {
            return Err(PatternError::Blank(owned()));
        }
        let glob = text.contains('*');
        let kind = if text == "*" {
            Kind::Any
        } else if !text.contains('/') {
            if text == "." || text == ".." {
                return Err(PatternError::Relative(owned()));
            }
            if glob { Kind::NameGlob } else { Kind::Name }
        } else {
            if !text.starts_with('/') && !text.starts_with('*') {
                return Err(PatternError::Relative(owned()));
            }
            if text.ends_with('/') {
                return Err(PatternError::TrailingSlash(owned()));
            }
            if text.contains("//") || text.split('/').any(|part| part == "." || part == "..") {
                return Err(PatternError::NotCanonical(owned()));
            }
            if glob { Kind::PathGlob } else { Kind::Path }
        };
        Ok(Self { text: owned(), kind })
    }

    /// Whether a program with this path, or with this name, is meant.
    pub fn matches(&self, path: Option<&str>, name: &str) -> bool {
        match self.kind {
            Kind::Any => true,
            Kind::Name => self.text == name,
            Kind::NameGlob => glob(&self.text, name),
            Kind::Path => path == Some(self.text.as_str()),
            Kind::PathGlob => path.is_some_and(|path| glob(&self.text, path)),
        }
    }

    /// The one name or path that this pattern is, when it has no `*`.
    pub(super) fn literal(&self) -> Option<&str> {
        match self.kind {
            Kind::Name | Kind::Path => Some(&self.text),
            Kind::Any | Kind::NameGlob | Kind::PathGlob => None,
        }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Matches `*` without backtracking over more than the last star: linear in practice, quadratic at worst.
pub(super) fn glob(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
    let (mut p, mut t) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        if p < pattern.len() && pattern[p] == b'*' {
            star = Some((p, t));
            p += 1;
        } else if p < pattern.len() && pattern[p] == text[t] {
            p += 1;
            t += 1;
        } else if let Some((at, from)) = star {
            star = Some((at, from + 1));
            p = at + 1;
            t = from + 1;
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|byte| *byte == b'*')
}

/// The last component of a path.
pub(super) fn basename(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests may fail loudly")]
    use super::*;

    #[test]
    fn a_pattern_matches_by_name_by_path_or_by_glob() {
        for (pattern, path, expected) in [
            ("*", "/usr/bin/git", true),
            ("git", "/usr/bin/git", true),
            ("git", "/tmp/git", true),
            ("git", "/usr/bin/gitk", false),
            ("/usr/bin/git", "/usr/bin/git", true),
            ("/usr/bin/git", "/tmp/git", false),
            ("python3*", "/usr/bin/python3.12", true),
            ("python3*", "/usr/bin/python", false),
            ("/usr/*", "/usr/lib/git-core/git", true),
            ("/usr/*", "/opt/usr/git", false),
            ("*/node_modules/.bin/*", "/w/node_modules/.bin/tsc", true),
            ("mkfs*", "/sbin/mkfs.ext4", true),
            ("a*b*c", "/x/aXbYbZc", true),
            ("a*b*c", "/x/aXbYbZ", false),
        ] {
            let found = Pattern::parse(pattern).unwrap().matches(Some(path), basename(path));
            assert_eq!(found, expected, "{pattern} on {path}");
        }
    }

    #[test]
    fn a_pattern_that_can_never_match_is_refused() {
        for bad in [
            "",
            "  ",
            "bin/git",
            "./git",
            "../git",
            "/usr/bin/",
            "/usr//bin/git",
            "/usr/../git",
            " git",
            "..",
        ] {
            assert!(Pattern::parse(bad).is_err(), "{bad:?}");
        }
    }
}
