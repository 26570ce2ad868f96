//! Session folders: where they are, and whose they may be.

#![expect(clippy::unwrap_used, reason = "a test that cannot prepare its folder has failed")]

use std::os::unix::fs::symlink;

use super::*;

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().mode() & 0o7777
}

#[test]
fn a_session_is_a_private_folder_named_by_its_start() {
    let home = tempfile::tempdir().unwrap();
    let root = home.path().join("state/shellgate/sessions");
    let session = create_under(&root).unwrap();
    assert_eq!(session.dir, root.join(&session.id));
    assert_eq!(session.trace_path, session.dir.join("trace.jsonl"));
    assert_eq!((mode(&root), mode(&session.dir), mode(&session.logs_dir)), (0o700, 0o700, 0o700));
    assert_eq!(session.id.len(), "20261129T230401-4f9c2a07".len());
    assert!(session.id.starts_with("20"), "{}", session.id);
}

#[test]
fn sessions_of_one_second_differ_and_only_those_with_a_trace_are_listed() {
    let home = tempfile::tempdir().unwrap();
    let root = home.path().join("shellgate/sessions");
    assert_eq!(list(&root).unwrap(), Vec::<String>::new());
    let mut made: Vec<String> = (0..20).map(|_| create_under(&root).unwrap().id).collect();
    made.sort();
    made.dedup();
    assert_eq!(made.len(), 20);
    assert_eq!(list(&root).unwrap(), Vec::<String>::new());
    for id in &made {
        fs::write(root.join(id).join(TRACE), "").unwrap();
    }
    assert_eq!(list(&root).unwrap(), made);
}

#[test]
fn an_open_sessions_folder_is_closed_to_others() {
    let home = tempfile::tempdir().unwrap();
    let root = home.path().join("shellgate/sessions");
    fs::create_dir_all(&root).unwrap();
    fs::set_permissions(&root, Permissions::from_mode(0o755)).unwrap();
    create_under(&root).unwrap();
    assert_eq!(mode(&root), 0o700);
}

#[test]
fn a_linked_folder_is_refused_with_and_without_a_trailing_slash() {
    let home = tempfile::tempdir().unwrap();
    fs::create_dir(home.path().join("real")).unwrap();
    symlink(home.path().join("real"), home.path().join("link")).unwrap();
    for name in ["link", "link/"] {
        let error = create(Some(&home.path().join(name))).unwrap_err();
        assert!(error.to_string().contains("symbolic link"), "{error}");
    }
    symlink(home.path().join("real"), home.path().join("shellgate")).unwrap();
    assert!(create_under(&home.path().join("shellgate/sessions")).is_err());
    assert_eq!(fs::read_dir(home.path().join("real")).unwrap().count(), 0);
}

#[test]
fn linked_logs_in_a_workdir_are_refused() {
    let home = tempfile::tempdir().unwrap();
    symlink("/tmp", home.path().join(LOGS)).unwrap();
    assert!(create(Some(home.path())).unwrap_err().to_string().contains("symbolic link"));
}

#[test]
fn a_folder_of_another_user_is_refused() {
    if !nix::unistd::geteuid().is_root() {
        let error = create(Some(Path::new("/usr"))).unwrap_err();
        return assert!(error.to_string().contains("belongs to uid 0"), "{error}");
    }
    let home = tempfile::tempdir().unwrap();
    std::os::unix::fs::chown(home.path(), Some(12_345), None).unwrap();
    let error = create(Some(home.path())).unwrap_err();
    assert!(error.to_string().contains("belongs to uid 12345"), "{error}");
}

#[test]
fn a_workdir_that_everyone_may_write_is_refused() {
    let home = tempfile::tempdir().unwrap();
    fs::set_permissions(home.path(), Permissions::from_mode(0o777)).unwrap();
    assert!(create(Some(home.path())).unwrap_err().to_string().contains("everyone"));
}

#[test]
fn the_state_folder_follows_xdg_and_home_and_nothing_relative() {
    let from = |xdg: Option<&str>, home: Option<&str>| {
        root_from(&|name| match name {
            "XDG_STATE_HOME" => xdg.map(PathBuf::from),
            "HOME" => home.map(PathBuf::from),
            _ => None,
        })
    };
    assert_eq!(from(Some("/x"), Some("/h")).unwrap(), Path::new("/x/shellgate/sessions"));
    assert_eq!(from(Some("x"), Some("/h")).unwrap(), Path::new("/h/.local/state/shellgate/sessions"));
    assert!(matches!(from(Some(""), Some("h")), Err(SessionError::NoHome)));
    assert!(matches!(from(None, None), Err(SessionError::NoHome)));
}
