//! launch.
