//! What only a machine of its own can be put through: other security modules, levels of Yama, kernels without type
//! information, clocks that jump. `cargo xtask vm` runs these in guests; elsewhere each says that it is skipped.
#![forbid(unsafe_code)]

mod levels;
