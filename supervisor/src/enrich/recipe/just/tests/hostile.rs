//! Justfiles that just would not like: an answer in time and on a small stack, never a panic.

use super::super::super::disk::Disk;
use super::{just, of};

/// Whether there is a complete answer, worked out on the stack a worker of the supervisor has.
fn on_a_small_stack(justfile: String, words: &'static [&'static str]) -> bool {
    let work = move || {
        let recipe = just(&Disk::with(&[("justfile", justfile)]), words);
        recipe.is_ok_and(|recipe| recipe.is_none_or(|recipe| recipe.complete))
    };
    std::thread::Builder::new().stack_size(2 << 20).spawn(work).unwrap().join().unwrap()
}

fn many(count: usize, one: impl Fn(usize) -> String) -> String {
    (0..count).fold(String::new(), |all, index| all + &one(index))
}

#[test]
fn nesting_and_length_do_not_exhaust_the_stack() {
    let deep = |open: &str, close: &str| {
        format!("x := {}'a'{}\ny:\n    y\n", open.repeat(50_000), close.repeat(50_000))
    };
    for (open, close) in
        [("(", ")"), ("!", ""), ("f(", ")"), ("[", "]"), ("if 'a' == 'b' { ", " } else { '' }")]
    {
        on_a_small_stack(deep(open, close), &[]);
    }
    assert!(on_a_small_stack(format!("x := 'a'{}\ny:\n    y\n", " + 'a'".repeat(2_000)), &[]));
    let chain = many(3000, |index| format!("r{index}: r{}\n    x\n", index + 1));
    on_a_small_stack(chain + "r3000:\n    end\n", &["r0"]);
    let values = many(3000, |index| format!("v{index} := v{}\n", index + 1));
    assert!(!on_a_small_stack(values + "v3000 := ''\ny:\n    {{v0}}\n", &["y"]));
    assert!(!on_a_small_stack("f(x) := f(x)\ny:\n    {{f('a')}}\n".to_owned(), &["y"]));
}

#[test]
fn what_grows_without_end_is_refused() {
    let doubling = many(59, |index| format!("v{} := v{index} + v{index}\n", index + 1));
    assert!(!on_a_small_stack(format!("v0 := 'aaaaaaaa'\n{doubling}y:\n    {{{{v59}}}}\n"), &["y"]));
    let tree = many(30, |index| {
        format!("r{index}: && (a{index} '1') (a{index} '2')\na{index} x: && r{}\n    x\n", index + 1)
    });
    assert!(!on_a_small_stack(tree + "r30:\n    end\n", &["r0"]));
    assert!(!on_a_small_stack("x := x\ny:\n    y\n".to_owned(), &["y"]));
    assert!(!on_a_small_stack("a: b\nb: a\n".to_owned(), &["a"]));
}

#[test]
fn files_that_take_each_other_in_are_an_error() {
    assert!(just(&Disk::with(&[("justfile", "import 'justfile'\nx:\n    x\n")]), &["x"]).is_err());
    let two = Disk::with(&[("justfile", "mod a 'a.just'\nx:\n    x\n"), ("a.just", "import './justfile'\n")]);
    assert!(just(&two, &["x"]).is_err());
    let missing = Disk::with(&[("justfile", "import 'nothing'\nx:\n    x\n")]);
    assert!(just(&missing, &["x"]).is_err());
}

#[test]
fn bytes_that_are_no_text_are_an_error() {
    assert!(just(&Disk::with(&[("justfile", b"x:\n    \xff\n")]), &["x"]).is_err());
    assert!(just(&Disk::with(&[("justfile/x", "")]), &["x"]).is_err());
}

#[test]
fn a_line_that_is_not_understood_leaves_the_rest_and_is_said() {
    let recipe = of("?!\nset no-such-thing := {\nx:\n    echo\n[nonsense(]\ny:\n", &["x"]);
    assert_eq!((recipe.body.as_str(), recipe.complete), ("echo", false));
    assert!(recipe.note.unwrap().contains("line 1"));
}

#[test]
fn carriage_returns_and_a_mark_are_no_text() {
    let recipe = of("\u{feff}v := 'a'\r\nx: \\\r\n  y\r\n    echo {{v}}\r\n\r\ny:\r\n\ttab\r\n", &["x"]);
    assert_eq!(super::runs(&recipe), [("y", "tab"), ("x", "echo a")]);
}
