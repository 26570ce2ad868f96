//! Files that were written to hurt the reader: it ends in time, on a small stack, without a panic.

use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

use super::super::super::{Call, Reader, Unresolved};
use super::disk::Disk;
use super::tree;
use crate::event::Recipe;

/// With the bounds of the product, on the stack of a supervisor's thread.
fn strictly(dir: &Path, words: &'static [&'static str]) -> Result<Option<Recipe>, Unresolved> {
    let dir = dir.to_owned();
    let thread = std::thread::Builder::new().stack_size(2 << 20);
    let run = move || {
        let words: Vec<&[u8]> =
            std::iter::once("make").chain(words.iter().copied()).map(str::as_bytes).collect();
        let disk = Disk { dir: &dir };
        let call = Call {
            program: "/usr/bin/make",
            words: &words,
            cwd: dir.to_str().unwrap(),
            env: &[],
            files: Reader::new(&disk),
        };
        let answer = super::super::resolve(&call);
        // The thread's own time: others may keep the processor from it.
        let took = Duration::from(clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).unwrap());
        assert!(took < Duration::from_secs(5), "{words:?} took {took:?}");
        answer
    };
    thread.spawn(run).unwrap().join().unwrap()
}

#[test]
fn no_makefile_hurts() {
    let deep = format!("all:\n\techo {}x{}\n", "$(if y,".repeat(50_000), ")".repeat(50_000));
    let calls = "f = $(call f,$(1)$(1))\nall:\n\techo $(call f,x)\n";
    let mut doubling = "A0 := xxxxxxxxxxxxxxxx\n".to_owned();
    let mut lazy = "A0 = xxxxxxxxxxxxxxxx\n".to_owned();
    let mut chain = String::new();
    let mut own = String::new();
    let mut many = "all:".to_owned();
    for at in 0..60 {
        writeln!(doubling, "A{} := $(A{at})$(A{at})", at + 1).unwrap();
        writeln!(lazy, "A{} = $(A{at})$(A{at})", at + 1).unwrap();
    }
    doubling.push_str("all:\n\techo $(A60)\n");
    lazy.push_str("all:\n\techo $(A60)\n");
    for at in 0..20_000 {
        writeln!(chain, "t{at}: t{}\n\techo {at}", at + 1).unwrap();
        writeln!(own, "t{at}: t{}\nt{at}: V += {at}", at + 1).unwrap();
        write!(many, " m{at}").unwrap();
    }
    let subst = "A := $(subst a,aaaaaaaaaaaaaaaaaaaa,aaaaaaaaaaaaaaaaaaaa)\n".to_owned()
        + &"A := $(subst a,$(A),$(A))\n".repeat(8);
    let implicit = "%.a: %.b.a %.c.a\n\techo\n%.b: %.a\n\techo\n%: %.x\n\techo\n%.x: %\n\techo\n%.c: %.a %.b\n\techo\nall: q.a\n";
    let eval = "define again\n$(eval $(again))\nendef\n$(eval $(again))\n";
    let loops = "L := 1 2 3 4 5 6 7 8 9 0\nall:\n\techo $(foreach a,$L,$(foreach b,$L,$(foreach c,$L,$(foreach d,$L,$(foreach e,$L,$(foreach f,$L,$(foreach g,$L,$(foreach h,$L,x))))))))\n";
    let texts = [
        deep.as_str(),
        calls,
        &doubling,
        &lazy,
        &chain,
        &own,
        &many,
        &subst,
        implicit,
        eval,
        loops,
        "include Makefile\n",
        "A = $(A)\nall:\n\techo $(A)\n",
        "all: all\n\techo $@\n",
        "a: b\nb: a\n\techo\n",
        "ifeq (a\n",
        "else\n",
        "define x\n",
        "$(",
        "all:\n\techo $(",
        "${",
        "$",
        ":",
        "::",
        "=",
        ";",
        "%:%\n\tx",
        "%: %.%\n\tx\nall: y\n",
        "a:\n\techo $(word 0,a) $(wordlist x,y,z)\n",
        "\t\t\t",
        "a&:",
        "a b&: c ; d\\",
        "\\",
        "all:\n\t\\",
        "$(eval $(eval $(eval a:;b)))",
        "vpath % /\nvpath",
        ".SUFFIXES: . .. % \n.%.:\n\tx\n",
        "include /*/*/*/*\n",
        "A := $(wildcard /*/*/*/*)\n",
        "include /dev/zero\n",
        "include /proc/self/mem\n",
        "-include /\n",
        "$(error $(error x))",
        "$(let a b,$(let),c)",
        "$(intcmp a,b)",
        "é: ü\n\techo $ü $(é) ${\n",
    ];
    for text in texts {
        let dir = tree(&[("Makefile", text)]);
        for words in [&[][..], &["all"]] {
            // Any answer is right that comes in time.
            let _ = strictly(dir.path(), words);
        }
    }
}

#[test]
fn a_file_that_is_none_gives_a_reason() {
    let dir = tree(&[("dir/Makefile/", "")]);
    for (name, words) in [("dir/Makefile", &["-Cdir"][..]), ("zero", &["-f/dev/zero"])] {
        let why = strictly(dir.path(), words).unwrap_err().0;
        assert!(why.contains("not a regular file"), "{name}: {why}");
    }
    let large = std::fs::File::create(dir.path().join("Makefile")).unwrap();
    large.set_len(2 << 30).unwrap();
    assert!(strictly(dir.path(), &[]).unwrap_err().0.contains("too large"));
}

/// Every beginning of a makefile with everything in it, and every one with a byte less.
#[test]
fn a_makefile_that_was_cut_is_no_panic() {
    let text = "A := $(patsubst %.c,%.o,a.c b.c)\nifdef A\nB ?= ${A:.o=.d}\nelse ifeq '1' \"2\"\nendif\ndefine D =\n@echo $1 \\\n$(2)\nendef\n.PHONY: all\nall: X += $(A)\nall: $(A) | dir ; @echo $^ $| # no\n\t-$(call D,é,$@)\n%.o: %.c\n\t+cc $< $(@D) \\\n\tmore\na b &: c::d\n$(foreach v,1 2,$(eval t$(v):;echo $(v)))\n";
    for at in 0..text.len() {
        if let Some(cut) = text.get(..at) {
            let _ = strictly(tree(&[("Makefile", cut)]).path(), &["all"]);
        }
        let mut bytes = text.as_bytes().to_vec();
        bytes.remove(at);
        let dir = tree(&[]);
        std::fs::write(dir.path().join("Makefile"), bytes).unwrap();
        let _ = strictly(dir.path(), &["all"]);
    }
}
