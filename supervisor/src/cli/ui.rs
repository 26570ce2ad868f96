//! `shellgate ui`: a page on the loopback interface that shows what sessions do and answers what their hooks ask. It reads
//! the traces and speaks to the control sockets as `shellgate approvals` does. Trusts nothing in a trace, and no client that
//! stands inside of a watched tree or has not the link of this start.

mod detail;
mod guard;
mod place;
mod respond;
mod row;
mod server;
mod sessions;
mod state;
mod stream;
mod tail;

use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context as _, bail};
use nix::libc;

use self::guard::Token;
use self::state::Shown;
use super::{print, say};
use crate::control::Client;
use crate::control::tree::Standing;
use crate::sys::{pidfd, process};

#[derive(Debug, clap::Args)]
pub struct UiArgs {
    /// Show the sessions of this folder, where `run --workdir` put them, instead of the user's own.
    #[arg(long, value_name = "DIR")]
    workdir: Option<PathBuf>,
    /// Listen on this port of 127.0.0.1 (else on one that is free).
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    port: u16,
}

pub(super) fn run(args: &UiArgs) -> anyhow::Result<ExitCode> {
    refuse_inside()?;
    // Whoever has our memory has the token: nobody of our user may read it, trace us, or find it in a core file.
    process::prctl(libc::PR_SET_DUMPABLE, 0, 0).context("cannot become undumpable")?;
    let token = Token::fresh().context("cannot make a token")?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .max_blocking_threads(server::MOST_CONNECTIONS * 2)
        .build()?;
    runtime.block_on(async {
        let wanted = SocketAddrV4::new(Ipv4Addr::LOCALHOST, args.port);
        let listener = tokio::net::TcpListener::bind(wanted)
            .await
            .with_context(|| format!("cannot listen on {wanted} (choose another port with --port)"))?;
        let address = listener.local_addr()?;
        print(&format!("http://{address}/#{}\n", token.text()))?;
        say(format_args!("open this link in a browser outside of the watched trees; Ctrl-C ends the page"));
        let shown = Shown::start(args.workdir.clone())?;
        server::serve(listener, Arc::new(server::Ui { address, token, shown })).await
    })?;
    Ok(ExitCode::SUCCESS)
}

/// What runs in a tree cannot answer for it, and must not look as if it could.
fn refuse_inside() -> anyhow::Result<()> {
    // Without a session that answers there is no tree to be in.
    let Ok(client) = Client::from_env() else { return Ok(()) };
    let tree = client.tree().context("cannot tell which session this runs in")?;
    let pid = std::process::id().cast_signed();
    let ours = pidfd::open(pid).context("cannot tell where this runs")?;
    match tree.place(pid, std::os::fd::AsFd::as_fd(&ours)) {
        Standing::Outside => Ok(()),
        Standing::Inside | Standing::Unknown(_) => {
            bail!("this runs inside a watched tree, whose asks it could not answer; start it outside of it")
        }
    }
}
