//! What leaves for the places where people keep such data, and what of it gets lost.

mod collector;
mod logs;
mod ocsf;
mod otlp;
