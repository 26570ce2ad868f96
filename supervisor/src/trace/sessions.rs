//! Where sessions are kept: a private folder each, under the user's state directory or where `--workdir` says.
//! Trusts no folder that another user owns or that a link leads to.

use std::fs::{self, DirBuilder, Permissions};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Name of the trace in a session's folder.
pub const TRACE: &str = "trace.jsonl";
/// Name of the control socket in a session's own folder.
const SOCKET: &str = "control.sock";
/// Name of the folder of hook logs.
pub const LOGS: &str = "logs";

/// Where one session writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionDir {
    /// Start in UTC, its microseconds in hex and a random part; sorts by time: `20261129T230401-4f9c2a07`.
    pub id: String,
    pub dir: PathBuf,
    pub trace_path: PathBuf,
    pub logs_dir: PathBuf,
}

impl SessionDir {
    /// Where the session's control socket is. Sessions that share a folder do not share it.
    pub fn socket(&self) -> SocketPlace {
        let named = if self.dir.file_name().is_some_and(|name| name == self.id.as_str()) {
            self.dir.join(SOCKET)
        } else {
            // The whole name would be too long for an address too often.
            let mark = self.id.rsplit('-').next().unwrap_or(&self.id);
            self.dir.join(format!("control-{mark}.sock"))
        };
        if is_address(&named) {
            return SocketPlace { path: named, link: None };
        }
        let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
        let folder = format!("shellgate-{}", self.id);
        let path = runtime.filter(|runtime| runtime.is_absolute() && runtime.is_dir());
        let path = path.map(|runtime| runtime.join(&folder).join(SOCKET)).filter(|path| is_address(path));
        let path = path.unwrap_or_else(|| Path::new("/tmp").join(&folder).join(SOCKET));
        SocketPlace { path, link: Some(named) }
    }
}

/// A control socket's file. An address holds 107 bytes: where the session's folder has a longer path, the socket is in
/// a private folder elsewhere, and a link in the session's folder leads there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SocketPlace {
    pub path: PathBuf,
    pub link: Option<PathBuf>,
}

fn is_address(path: &Path) -> bool {
    nix::sys::socket::UnixAddr::new(path).is_ok()
}

/// Whether a file in a session's folder has the name of a control socket.
pub fn is_socket(name: &str) -> bool {
    let mark = name.strip_prefix("control").and_then(|rest| rest.strip_suffix(".sock"));
    mark.is_some_and(|mark| mark.is_empty() || mark.starts_with('-'))
}

#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    #[error(
        "cannot tell where to keep sessions: neither XDG_STATE_HOME nor HOME is an absolute path (use --workdir)"
    )]
    NoHome,
    #[error("cannot use session folder {}: {reason}", path.display())]
    Unsafe { path: PathBuf, reason: String },
    #[error("cannot use session folder {}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
}

/// The folder that holds all sessions of this user.
pub fn root() -> Result<PathBuf, SessionError> {
    root_from(&|name| std::env::var_os(name).map(PathBuf::from))
}

fn root_from(variable: &dyn Fn(&str) -> Option<PathBuf>) -> Result<PathBuf, SessionError> {
    let absolute = |name| variable(name).filter(|path| path.is_absolute());
    let state = absolute("XDG_STATE_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".local/state")))
        .ok_or(SessionError::NoHome)?;
    Ok(state.join("shellgate/sessions"))
}

/// Makes the folder of a new session. With `workdir` it is that folder, which sessions may share.
pub fn create(workdir: Option<&Path>) -> Result<SessionDir, SessionError> {
    match workdir {
        Some(workdir) => create_in_workdir(workdir),
        None => create_under(&root()?),
    }
}

/// Makes the folder of a new session under another folder of sessions than the user's own.
pub fn create_among(sessions: &Path) -> Result<SessionDir, SessionError> {
    let sessions = std::path::absolute(sessions)
        .map_err(|source| SessionError::Io { path: sessions.to_owned(), source })?;
    create_under(&sessions)
}

fn create_in_workdir(workdir: &Path) -> Result<SessionDir, SessionError> {
    let absolute = std::path::absolute(workdir)
        .map_err(|source| SessionError::Io { path: workdir.to_owned(), source })?;
    // Rebuilt from its components: a trailing slash would make the check below follow a link.
    let dir: PathBuf = absolute.components().collect();
    make(&dir, true)?;
    check(&dir)?;
    session(new_id(), dir)
}

fn create_under(root: &Path) -> Result<SessionDir, SessionError> {
    for dir in root.parent().into_iter().chain([root]) {
        make(dir, true)?;
        check(dir)?;
        keep_private(dir)?;
    }
    loop {
        let id = new_id();
        let dir = root.join(&id);
        match make(&dir, false) {
            Ok(()) => return session(id, dir),
            Err(SessionError::Io { source, .. }) if source.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
}

fn session(id: String, dir: PathBuf) -> Result<SessionDir, SessionError> {
    let logs_dir = dir.join(LOGS);
    make(&logs_dir, true)?;
    check(&logs_dir)?;
    keep_private(&logs_dir)?;
    Ok(SessionDir { id, trace_path: dir.join(TRACE), logs_dir, dir })
}

fn make(dir: &Path, existing_is_fine: bool) -> Result<(), SessionError> {
    let done = match DirBuilder::new().mode(0o700).create(dir) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists && existing_is_fine => Ok(()),
        Err(error) if error.kind() == ErrorKind::NotFound && existing_is_fine => {
            DirBuilder::new().mode(0o700).recursive(true).create(dir)
        }
        done => done,
    };
    done.map_err(|source| SessionError::Io { path: dir.to_owned(), source })
}

fn check(dir: &Path) -> Result<(), SessionError> {
    let found =
        fs::symlink_metadata(dir).map_err(|source| SessionError::Io { path: dir.to_owned(), source })?;
    let me = nix::unistd::geteuid().as_raw();
    let reason = if found.is_symlink() {
        "it is a symbolic link".to_owned()
    } else if !found.is_dir() {
        "it is not a directory".to_owned()
    } else if found.uid() != me {
        format!("it belongs to uid {}, not to uid {me}", found.uid())
    } else if found.mode() & 0o1002 == 0o002 {
        "everyone may rename or delete files in it".to_owned()
    } else {
        return Ok(());
    };
    Err(SessionError::Unsafe { path: dir.to_owned(), reason })
}

fn keep_private(dir: &Path) -> Result<(), SessionError> {
    let io = |source| SessionError::Io { path: dir.to_owned(), source };
    let open_to_others = fs::symlink_metadata(dir).map_err(io)?.mode() & 0o077 != 0;
    if open_to_others { fs::set_permissions(dir, Permissions::from_mode(0o700)).map_err(io) } else { Ok(()) }
}

fn new_id() -> String {
    let now = jiff::Timestamp::now();
    let micros = now.subsec_microsecond();
    // Keyed by the operating system; it only has to differ from other sessions of the same microsecond.
    let random = RandomState::new().build_hasher().finish() & 0xfff;
    format!("{}-{micros:05x}{random:03x}", now.strftime("%Y%m%dT%H%M%S"))
}

/// The identifiers of the sessions in `root`, oldest first.
pub fn list(root: &Path) -> io::Result<Vec<String>> {
    let mut ids: Vec<String> = match fs::read_dir(root) {
        Ok(entries) => entries
            .filter_map(Result::ok)
            .filter(|entry| entry.path().join(TRACE).exists())
            .filter_map(|entry| entry.file_name().into_string().ok())
            .collect(),
        Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(error),
    };
    ids.sort_unstable();
    Ok(ids)
}

#[cfg(test)]
mod tests;
