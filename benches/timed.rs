//! `cargo bench`: how long each part of an exec's way takes. For looking at, on a machine that is idle; what decides in
//! continuous integration are the counts of `counted`.

use shellgate_benches::{OPERATIONS, Operation};

fn main() {
    divan::main();
}

#[divan::bench(args = OPERATIONS)]
fn operation(bencher: divan::Bencher<'_, '_>, operation: &Operation) {
    bencher.bench_local(operation.ready());
}
