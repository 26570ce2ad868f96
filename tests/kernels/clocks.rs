//! The wall clock is set while execs are judged: no hook runs out of time by it, and no duration is told by it.

use std::thread;
use std::time::Duration;

use nix::sys::time::TimeSpec;
use nix::time::{ClockId, clock_gettime, clock_settime};
use shellgate_tests::{Gate, need};

const HOUR: i64 = 3600;

/// Moves the wall clock by so many seconds.
fn jump(seconds: i64) {
    let now = clock_gettime(ClockId::CLOCK_REALTIME).expect("there is a clock");
    let then = TimeSpec::new(now.tv_sec() + seconds, now.tv_nsec());
    clock_settime(ClockId::CLOCK_REALTIME, then).expect("root may set the clock");
}

#[test]
fn a_clock_that_jumps_an_hour_times_out_no_hook_and_lengthens_no_outcome() {
    need!(guest);
    for way in [HOUR, -HOUR] {
        let live = Gate::holding("true").start(["bash", "-c", "/bin/true && echo ran > ran; sleep 0.2"]);
        live.file("asked");
        jump(way);
        // The hook's limit is a minute.
        thread::sleep(Duration::from_millis(300));
        live.give("go");
        live.file("ran");
        jump(-way);
        let ran = live.finish();
        ran.exits(0);
        ran.nothing_refused();
        for outcome in ran.outcomes() {
            let took = outcome["duration_us"].as_i64();
            assert!(took.is_none_or(|took| (0..300_000_000).contains(&took)), "{way}: {outcome}");
        }
    }
}
