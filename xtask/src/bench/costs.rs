//! What an exec costs the supervisor besides system calls: context switches, which the kernel counts for each thread, and
//! allocations, which a library counts that is loaded before it.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::FileExt as _;
use std::process::{ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use shellgate_tests::{only_child, program, status_field};

use super::Bench;

/// Started before anything is counted: what is made once is made then.
const FIRST: u32 = 200;
/// Started between the two looks.
const COUNTED: u32 = 2000;

/// Of one exec, on the average.
#[derive(Debug)]
pub(super) struct Costs {
    /// A thread had nothing to do.
    pub(super) voluntary: f64,
    /// It was another's turn.
    pub(super) involuntary: f64,
    pub(super) allocations: f64,
    pub(super) bytes: f64,
}

/// Counts since the start.
type Counts = [u64; 4];

/// Execs of a static program, one after the other, under the seal that comes first.
pub(super) fn per_exec(bench: &Bench) -> Result<Costs> {
    let counter = bench.folder.path().join("allocations");
    fs::write(&counter, [0; 16]).with_context(|| format!("cannot write {}", counter.display()))?;
    let words = bench.sealed().swap_remove(0).before;
    let mut gate = Command::new(&words[0]);
    gate.args(&words[1..]).arg(program("tree")).arg("-").arg(program("nothing"));
    gate.env("LD_PRELOAD", program("allocations")).env("ALLOCATIONS", &counter);
    let mut run =
        gate.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().context("cannot start the gate")?;
    let (mut input, output) = (run.stdin.take().context("piped")?, run.stdout.take().context("piped")?);
    let mut output = BufReader::new(output);
    let supervisor = only_child(run.id().cast_signed());
    let look = || -> Result<Counts> {
        let [voluntary, involuntary] = switches(supervisor)?;
        let [allocations, bytes] = allocations(&File::open(&counter)?)?;
        Ok([voluntary, involuntary, allocations, bytes])
    };
    starts(&mut input, &mut output, FIRST)?;
    let before = look()?;
    starts(&mut input, &mut output, COUNTED)?;
    let after = look()?;
    drop(input);
    let status = run.wait().context("cannot wait for the gate")?;
    ensure!(status.success(), "the gate ended with {status}");
    #[expect(clippy::cast_precision_loss, reason = "some thousands, of each exec")]
    let of = |at: usize| (after[at] - before[at]) as f64 / f64::from(COUNTED);
    ensure!(
        after[2] > before[2],
        "no allocation was counted: {} is not loaded",
        program("allocations").display()
    );
    Ok(Costs { voluntary: of(0), involuntary: of(1), allocations: of(2), bytes: of(3) })
}

/// Has so many programs started, and waits for it.
fn starts(input: &mut ChildStdin, output: &mut BufReader<ChildStdout>, count: u32) -> Result<()> {
    writeln!(input, "execs {count}").context("the gate takes no commands")?;
    let mut said = String::new();
    output.read_line(&mut said).context("the gate says nothing")?;
    ensure!(said == "done\n", "{count} execs: {said:?}");
    Ok(())
}

/// Of all threads: that the waiting was voluntary, and that it was not.
fn switches(pid: i32) -> Result<[u64; 2]> {
    let mut sums = [0; 2];
    for thread in fs::read_dir(format!("/proc/{pid}/task")).context("the supervisor is gone")? {
        // One that ends just now takes what it has with it.
        let Ok(status) = fs::read_to_string(thread?.path().join("status")) else { continue };
        for (sum, name) in sums.iter_mut().zip(["voluntary_ctxt_switches", "nonvoluntary_ctxt_switches"]) {
            let field = status_field(&status, name).with_context(|| format!("a status without {name}"))?;
            *sum += field.parse::<u64>().with_context(|| format!("{name}: {field}"))?;
        }
    }
    Ok(sums)
}

fn allocations(counter: &File) -> Result<[u64; 2]> {
    let mut words = [[0; 8]; 2];
    for (at, word) in words.iter_mut().enumerate() {
        counter.read_exact_at(word, at as u64 * 8).context("the count of allocations is too short")?;
    }
    Ok(words.map(u64::from_ne_bytes))
}
