//! Which seal is reached when the machine allows less, and that what is missing is said.

use shellgate_tests::{Gate, need};

#[test]
fn the_gate_works_on_this_kernel() {
    need!(guest);
    let ran = Gate::refusing(&["touch"]).bash("touch made; /bin/true");
    ran.exits(0);
    ran.absent(["made"]);
}
