//! TIOCGWINSZ: how large a terminal is.

use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd};

use super::check;

/// In characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    pub rows: u16,
    pub columns: u16,
}

/// `None` for a terminal that does not know.
pub fn size(terminal: BorrowedFd<'_>) -> io::Result<Option<Size>> {
    let mut found = libc::winsize { ws_row: 0, ws_col: 0, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: the kernel fills the one struct that the request is defined with.
    check(unsafe { libc::ioctl(terminal.as_raw_fd(), libc::TIOCGWINSZ, &raw mut found) } as libc::c_long)?;
    let size = Size { rows: found.ws_row, columns: found.ws_col };
    Ok((size.rows > 0 && size.columns > 0).then_some(size))
}
