//! Single numbers shared through one array map: facts that a program learns and counters. Indexes only.

/// Address of the supervisor's pid namespace; never leaves the kernel but through this map.
pub const PIDNS: u32 = 0;
/// Depth of that namespace.
pub const LEVEL: u32 = 1;
/// The supervisor's process id in the initial pid namespace, for the LSM guards.
pub const SUPERVISOR: u32 = 2;
/// Processes that were announced but have not yet been seen.
pub const CLAIMS: u32 = 3;
/// Forks whose child found no room in the member map.
pub const OVERFLOW: u32 = 4;
/// Records that found no room in the ring buffer.
pub const LOST: u32 = 5;
/// 1 while the record reader sleeps until it is woken; 0 while it looks every few milliseconds by itself.
pub const ASLEEP: u32 = 6;
/// How many there are.
pub const COUNT: u32 = 7;
