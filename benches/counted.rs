//! What each part of an exec's way costs, in counts that a busy machine does not change: allocations, which are printed,
//! and instructions, which callgrind counts between entry and end of [`counted_here`]. `cargo xtask counts` runs this,
//! and compares with what is committed.

use std::alloc::System;
use std::process::ExitCode;

use shellgate_benches::{OPERATIONS, Run};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Before anything is counted: what is made once is made then.
const FIRST: usize = 3;
/// How often an operation is done while instructions are counted.
const TIMES: usize = 10;

/// `counted`: allocations of all operations, a line each. `counted --once NAME`: does this one, for callgrind.
fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [.., flag, name] = &*words else { return allocations() };
    if flag != "--once" {
        return allocations();
    }
    let Some(operation) = OPERATIONS.iter().find(|operation| operation.name == name) else {
        eprintln!("counted: there is no operation {name}");
        return ExitCode::FAILURE;
    };
    counted_here(&mut warm(operation.ready()));
    println!("{TIMES}");
    ExitCode::SUCCESS
}

fn allocations() -> ExitCode {
    for operation in OPERATIONS {
        let mut run = warm(operation.ready());
        let region = Region::new(ALLOCATOR);
        run();
        let made = region.change();
        println!("{operation}\t{}\t{}", made.allocations + made.reallocations, made.bytes_allocated);
    }
    ExitCode::SUCCESS
}

fn warm(mut run: Run) -> Run {
    for _ in 0..FIRST {
        run();
    }
    run
}

/// Callgrind finds it by this name.
#[inline(never)]
fn counted_here(run: &mut Run) {
    for _ in 0..TIMES {
        run();
    }
}
