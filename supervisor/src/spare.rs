//! Buffers that are used again: an exec needs some that are too large for the allocator's quick lists.
#![forbid(unsafe_code)]

use std::cell::RefCell;

/// So many are kept for each thread,
const MOST: usize = 3;
/// and none larger than this.
const LARGEST: usize = 16 * 1024;

thread_local! {
    static KEPT: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

/// An empty one with room for so many bytes.
pub(crate) fn take(room: usize) -> Vec<u8> {
    let mut buffer = KEPT.with_borrow_mut(Vec::pop).unwrap_or_default();
    buffer.reserve(room);
    buffer
}

/// Keeps one for [`take`], without what is in it.
pub(crate) fn give(mut buffer: Vec<u8>) {
    if buffer.capacity() <= LARGEST {
        buffer.clear();
        // A thread that is ending has no need of it.
        let _ = KEPT.try_with(|kept| {
            let mut kept = kept.borrow_mut();
            if kept.len() < MOST {
                kept.push(buffer);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_comes_back_empty_unless_it_is_large() {
        let mut buffer = take(5000);
        buffer.extend_from_slice(b"secret");
        let place = buffer.as_ptr();
        give(buffer);
        let again = take(100);
        assert!(again.is_empty() && again.capacity() >= 5000 && again.as_ptr() == place);
        give(Vec::with_capacity(2 * LARGEST));
        assert_eq!(take(0).capacity(), 0);
    }
}
