//! sys.

pub mod hook_process;
