//! make itself is asked what it would run, in small makefiles, one for each part of its language.

use std::path::Path;
use std::process::Command;

use super::{ask, text, tree};

/// What `make -n -B` prints for the goals, or `None` where there is no make.
pub(super) fn real(dir: &Path, words: &[&str]) -> Option<String> {
    let mut make = Command::new("make");
    make.args(["-n", "-B", "--no-print-directory"]).args(words).current_dir(dir).env_clear();
    make.env("PATH", "/usr/local/bin:/usr/bin:/bin").stdin(std::process::Stdio::null());
    let output = make.output().ok()?;
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "make {words:?}: {told}{errors}");
    let lines = told.lines().filter(|line| !line.starts_with("make: "));
    Some(lines.collect::<Vec<_>>().join("\n"))
}

pub(super) fn same(files: &[(&str, &str)], words: &[&str]) {
    let dir = tree(files);
    let Some(real) = real(dir.path(), words) else {
        assert!(std::env::var_os("SHELLGATE_MUST_RUN").is_none(), "there is no make to ask");
        eprintln!("skipped: there is no make to ask");
        return;
    };
    let recipe = ask(dir.path(), words, &["PATH=/usr/local/bin:/usr/bin:/bin"]);
    let recipe = recipe.unwrap_or_else(|why| panic!("{words:?} {files:?}: {why:?}")).unwrap();
    assert_eq!(text(&recipe), real, "{words:?} of {files:#?}\n{recipe:#?}");
    assert!(recipe.complete, "{words:?} of {files:#?}\n{recipe:#?}");
}

#[test]
fn assignments_are_made_as_make_makes_them() {
    same(
        &[(
            "Makefile",
            r"
A = $(B) later
B = b
C := $(B) now
B = changed
D ?= first
D ?= second
E = one
E += two $(B)
F := one
F += $(B)
B = again
G ::= $(F)
override H = kept
H += ignored
define LINES
one $(B)
two
endef
define NOW :=
now $(B)
endef
undefine C
$(B)_name = computed
J = a#comment
K = a\#b
EMPTY :=
SPACE := $(EMPTY) $(EMPTY)
long = a \
   b \
	c
all:
	echo '$(A)' '$(C)' '$(D)' '$(E)' '$(F)' '$(G)' '$(H)' '$(again_name)' '$(J)' '$(K)' '[$(SPACE)]' '$(long)'
	echo '$(subst $(NOWNL),,$(NOW))' $($(B)_name) $A${B}$$HOME
	$(LINES)
",
        )],
        &["all"],
    );
}

#[test]
fn functions_give_what_make_gives() {
    same(
        &[
            ("a.c", ""),
            ("b.c", ""),
            ("src/x.c", ""),
            ("src/y.h", ""),
            (
                "Makefile",
                r"
L := foo.c bar.c src/baz.o /abs/d.e/f plain .hidden
comma := ,
swap = $2 $1
outer = <$(call swap,$1,$(call swap,a,b))>
max = $(if $(filter $1,$2),same,$(or $3,none))
define body
$1 = [$2]
endef
$(eval $(call body,made,here))
$(foreach v,1 2,$(eval var_$(v) := v$(v)))
all:
	: $(subst a,A,banana) $(patsubst %.c,%.o,$(L)) $(L:.c=.o) $(L:%.c=obj/%.o) $(L:foo%=bar%)
	: $(strip  a  b ) $(findstring b,abc)$(findstring x,abc) $(filter %.c plain,$(L)) $(filter-out %.c,$(L))
	: $(sort b a b c) $(word 2,$(L)) $(words $(L)) $(wordlist 2,3,$(L)) $(firstword $(L)) $(lastword $(L))
	: $(dir $(L)) $(notdir $(L)) $(suffix $(L)) $(basename $(L)) $(addsuffix .x,a b) $(addprefix x/,a b)
	: $(join a b c,1 2) $(wildcard *.c src/*.[ch] none*) $(abspath src/../a /x//y/.) $(if a,yes,no) $(if ,yes,no)
	: $(or ,b,c) $(and a,b,c) $(and a,,c) $(foreach x,1 2 3,<$(x)>) $(call outer,1) $(call max,a,b a) $(call max,a,b,)
	: $(value swap) $(origin L) $(origin CC) $(origin none) $(origin @) $(flavor L) $(flavor swap) $(flavor none)
	: $(made) $(var_1)$(var_2) $(subst $(comma), ,a,b) $(patsubst %,'%',a b) $(call subst,a,b,aa) $(realpath a.c none)
	: $(patsubst a%b,%,a1b a2c) $(patsubst x\%,y,x% xz) $(filter-out a%,ab ba) ${subst (,[,(}
",
            ),
        ],
        &["all"],
    );
}

#[test]
fn conditionals_choose_as_make_does() {
    same(
        &[(
            "Makefile",
            r#"
A = x
EMPTY =
ifeq ($(A),x)
B = 1
else
B = 2
endif
ifneq "$(A)" 'x'
C = 1
else ifdef EMPTY
C = 2
else ifndef NONE
C = 3
else
C = 4
endif
ifdef A
  ifeq (,$(EMPTY))
    D = nested
  endif
endif
ifeq ($(findstring x,$(A)), x)
E=spaced
endif
ifeq (a,b)
broken line here
define not_read
endif
endef
endif
all:
ifeq ($(B),1)
	echo $(B) $(C) $(D) $(E)
else
	echo no
endif
	echo end
"#,
        )],
        &[],
    );
}

#[test]
fn rules_bring_their_prerequisites_in_order_and_once() {
    same(
        &[
            ("file", ""),
            (
                "Makefile",
                r"
.PHONY: all clean
all: one two | three
	@echo all: $@ $< $^ $+ $|
one two: common
	@echo $@ from $<
common three:
	-@ echo $@
one: extra
extra: ; echo inline $@; echo again
	echo below
double:: a
	echo first $^
double:: b
	echo second $^
a b &: common
	echo grouped $@ $(@D) $(@F)
sub/dir/x: common
	echo $@ $(@D) $(@F) $(*F)
nothing: one
cycle: cycle2
	echo cycle
cycle2: cycle
	echo cycle2
late: $(LATE)
	echo $^
LATE = not seen
clean:; rm -f x
",
            ),
        ],
        &["all", "double", "sub/dir/x", "nothing", "late", "clean"],
    );
}

#[test]
fn patterns_stems_and_suffixes_are_found_as_make_finds_them() {
    same(
        &[
            ("src/deep/m.c", ""),
            ("a.in", ""),
            ("p.y", ""),
            ("w.foo", ""),
            ("lib.c", ""),
            ("vp/v.src", ""),
            ("x.tar.in", ""),
            (
                "Makefile",
                r"
.SUFFIXES: .foo .bar
vpath %.src vp
%.out: %.in
	cp $< $@; touch did-$*
obj/%.o: src/%.c
	cc -c $< -o $@ $* $(*D) $(*F)
%.tar.out: %.tar.in
	shortest stem $*
lib%.a: %.o
	ar rcs $@ $^
.foo.bar:
	convert $< $@ $*
STATIC := s1.x s2.x other
$(filter %.x,$(STATIC)): %.x: %.in2 common
	static $@ $< $^ $*
s1.in2 s2.in2 common:
	make-in $@
v.dst: v.src
	echo $< $^
%.gen1 %.gen2: a.in
	generate $*
use: q.gen1 q.gen2
	echo $^
name.bar: extra
extra:
	echo extra $*
",
            ),
        ],
        &[
            "a.out",
            "obj/deep/m.o",
            "x.tar.out",
            "w.bar",
            "s1.x",
            "s2.x",
            "v.dst",
            "use",
            "lib.o",
            "p.c",
            "lib",
            "liblib.a",
        ],
    );
}

#[test]
fn variables_of_targets_reach_their_prerequisites_only() {
    same(
        &[(
            "Makefile",
            r"
V = global
all: V = own
all: W := $(V)!
all: a b
	echo all $(V) $(W)
a:
	echo a $(V) $(W)
b: V += more
b: private P = hidden
b: c
	echo b $(V) $(P)
c:
	echo c $(V) $(P)
%.x: V = pattern
long%.x: V += longer
d.x long.x:
	echo $@ $(V)
other: a d.x long.x ; echo $(V)
semi: V = a; b
semi:
	echo '$(V)'
opt: CFLAGS ?= default
opt:
	echo $(CFLAGS)
",
        )],
        &["all", "other", "semi", "opt"],
    );
}

#[test]
fn lines_keep_their_shape() {
    same(
        &[(
            "Makefile",
            "define canned\n@echo one\n\techo two; \\\n\techo three\nendef\nall:\n\t@echo a \\\n\t   b \\\n   c\\\n\td\n\t  -@ echo $(subst a,b,x \\\n\t  y)  z\n\t\n\t$(canned)\n\t# comment\n\techo \"a\\\n\tb\" 'c\\\n\td'\n\n# text\n\techo last # hm\n\tx=$$(a | \\\n\t\tb)\n",
        )],
        &[],
    );
    same(
        &[(
            "Makefile",
            ".RECIPEPREFIX = >\nall:\n> @echo one\n>echo two; \\\n>  echo three\n.RECIPEPREFIX =\nall: b\nb:\n\techo b\n",
        )],
        &[],
    );
    same(&[("Makefile", "all:\r\n\techo crlf\r\n")], &[]);
    same(
        &[("Makefile", "a\\:b c\\ d: e\\#f\n\techo '$@' $<\ne\\#f:\n\techo e\nall: a\\:b c\\ d\n")],
        &["all"],
    );
}

#[test]
fn files_are_included_from_where_make_looks() {
    same(
        &[
            (
                "Makefile",
                "include a.mk sub/*.mk\n-include none.mk $(NONE)\nsinclude none2.mk\nall: $(T)\n\techo $(MAKEFILE_LIST) $(X)\n",
            ),
            ("a.mk", "T += a\na:\n\techo a\n"),
            ("sub/b.mk", "T += b\nb:\n\techo b $(notdir $(lastword $(MAKEFILE_LIST)))\ninclude d.mk\n"),
            ("sub/c.mk", "X = c\n"),
            ("inc/d.mk", "T += d\nd: ; echo d\n"),
        ],
        &["-I", "inc", "all"],
    );
}

#[test]
fn a_second_expansion_knows_the_target() {
    same(
        &[(
            "Makefile",
            r"
.SECONDEXPANSION:
main_OBJS := m1 m2
lib_OBJS := l1
main lib: $$($$@_OBJS) | $$(addsuffix -dir,$$@)
	link $@ $^ $|
%.z: $$(subst x,y,$$*).in
	z $@ $< $*
m1 m2 l1 main-dir lib-dir yy.in:
	make $@
",
        )],
        &["main", "lib", "xx.z"],
    );
}

#[test]
fn what_nobody_makes_goes_to_the_default_rule() {
    same(
        &[
            ("Makefile", "all: b\n\techo all\nb:\n\techo b\n.DEFAULT:\n\techo default $@ $<\n"),
            ("GNUmakefile", "all: none\n\techo $@\n.DEFAULT: ; echo default $@\nGNUmakefile: ;\n"),
        ],
        &["all", "other"],
    );
    same(&[("Makefile", ".DEFAULT_GOAL = second\nfirst:\n\techo first\nsecond:\n\techo second\n")], &[]);
    same(&[("Makefile", ".hidden:\n\techo h\n%.x:\n\techo x\nthis: ; echo this\nthat: ; echo that\n")], &[]);
}
