//! Messages out of a stream: a line each, bounded in length and, once begun, in time.

use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};
use tokio::time::{Instant, timeout_at};

/// What the peer sent.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// Without its line feed.
    Whole(Vec<u8>),
    TooLong,
    /// Half a line, and then nothing for too long.
    Slow,
    /// No more will come. Half a line before it is nothing.
    End,
}

pub(super) struct Lines<R> {
    input: BufReader<R>,
    limit: usize,
    patience: Duration,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    /// Between two lines a peer may be silent for as long as it likes.
    pub(super) fn new(input: R, limit: usize, patience: Duration) -> Self {
        Self { input: BufReader::with_capacity(8 * 1024, input), limit, patience }
    }

    pub(super) async fn next(&mut self) -> Line {
        let mut line = Vec::new();
        let mut deadline: Option<Instant> = None;
        loop {
            let filled = match deadline {
                None => self.input.fill_buf().await,
                Some(deadline) => match timeout_at(deadline, self.input.fill_buf()).await {
                    Ok(filled) => filled,
                    Err(_) => return Line::Slow,
                },
            };
            let Ok(bytes) = filled else { return Line::End };
            if bytes.is_empty() {
                return Line::End;
            }
            let end = bytes.iter().position(|byte| *byte == b'\n');
            let taken = end.unwrap_or(bytes.len());
            if line.len() + taken > self.limit {
                return Line::TooLong;
            }
            line.extend_from_slice(&bytes[..taken]);
            self.input.consume(taken + usize::from(end.is_some()));
            if end.is_some() {
                return Line::Whole(line);
            }
            deadline.get_or_insert_with(|| Instant::now() + self.patience);
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

    use std::os::unix::net::UnixStream;

    use super::*;

    fn read(bytes: &[u8], keep_open: bool) -> Vec<Line> {
        use std::io::Write as _;
        let (mut ours, theirs) = UnixStream::pair().unwrap();
        ours.write_all(bytes).unwrap();
        let _open = keep_open.then_some(ours);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            theirs.set_nonblocking(true).unwrap();
            let stream = tokio::net::UnixStream::from_std(theirs).unwrap();
            let mut lines = Lines::new(stream, 10, Duration::from_millis(50));
            let mut found = Vec::new();
            loop {
                let line = lines.next().await;
                let last = !matches!(line, Line::Whole(_));
                found.push(line);
                if last {
                    return found;
                }
            }
        })
    }

    #[test]
    fn a_line_is_bounded_in_length_and_once_begun_in_time() {
        let whole = |text: &str| Line::Whole(text.as_bytes().to_vec());
        assert_eq!(
            read(b"a\n\n0123456789\n", false),
            [whole("a"), whole(""), whole("0123456789"), Line::End]
        );
        assert_eq!(read(b"0123456789a", true), [Line::TooLong]);
        assert_eq!(read(b"a\nhalf", true), [whole("a"), Line::Slow]);
        assert_eq!(read(b"half", false), [Line::End]);
    }
}
