//! A receiver of syslog: Debian's rsyslogd, unpacked by `cargo xtask setup` and not installed, with sockets and files of the
//! test alone.

use std::fs;
use std::net::{SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::builder::tools;
use crate::live::until;
use crate::need::PATH;
use crate::watched::{Watched, patience};

#[derive(Debug)]
pub struct Rsyslog(#[expect(dead_code, reason = "ends it when it goes")] Watched);

/// Starts one that listens on the socket `log` of the folder and over UDP. Each message is a JSON line in `messages`, with its
/// structured data taken apart.
pub fn rsyslogd(folder: &Path) -> (Rsyslog, SocketAddr) {
    let free =
        UdpSocket::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).expect("loopback is there");
    let config = format!(
        r#"module(load="imuxsock" SysSock.Use="off")
module(load="imudp")
module(load="mmpstrucdata")
global(workDirectory="{folder}" maxMessageSize="64k")
template(name="all" type="list") {{ property(name="jsonmesg") constant(value="\n") }}
input(type="imuxsock" Socket="{folder}/log" UseSpecialParser="off")
input(type="imudp" address="127.0.0.1" port="{}")
action(type="mmpstrucdata")
action(type="omfile" file="{folder}/messages" template="all")
"#,
        free.port(),
        folder = folder.display()
    );
    let file = folder.join("rsyslog.conf");
    fs::write(&file, config).expect("the folder is ours");
    let root = tools().join("rsyslog");
    let libraries = libraries(&root.join("usr/lib"));
    let mut command = Command::new(root.join("usr/sbin/rsyslogd"));
    command
        .args(["-n", "-f"])
        .arg(&file)
        .arg("-i")
        .arg(folder.join("pid"))
        .arg("-M")
        .arg(libraries.join("rsyslog"));
    command.env_clear().env("PATH", PATH).env("LD_LIBRARY_PATH", &libraries);
    let server = Watched::start(&mut command, None, &folder.display().to_string(), patience());
    until("the socket of rsyslogd", || folder.join("log").exists());
    (Rsyslog(server), free)
}

/// Debian has them in a folder of the architecture.
fn libraries(folder: &Path) -> PathBuf {
    let found = fs::read_dir(folder).expect("it was unpacked").flatten().map(|entry| entry.path());
    let mut found = found.filter(|path| path.join("rsyslog").is_dir());
    found.next().expect("it has modules")
}
