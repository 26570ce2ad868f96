//! The `shellgate` binary: parses the command line and hands over.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    shellgate::cli::main()
}
