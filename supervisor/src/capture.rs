//! capture.
