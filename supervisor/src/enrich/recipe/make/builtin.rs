//! What make knows without any file: variables, suffixes and rules of GNU make 4.3.

use std::collections::HashMap;
use std::rc::Rc;

use super::rules::{Commands, Dep, PatternRule};
use super::words::Pattern;

/// Stands for the file of a built-in rule.
pub(super) const FILE: &str = "(built-in)";

pub(super) const SUFFIXES: &str = ".out .a .ln .o .c .cc .C .cpp .p .f .F .m .r .y .l .ym .yl .s .S .mod .sym .def \
     .h .info .dvi .tex .texinfo .texi .txinfo .w .ch .web .sh .elc .el";

pub(super) const FEATURES: &str = "target-specific order-only second-expansion else-if shortest-stem undefine \
     oneshell nocomment grouped-target extra-prereqs archives jobserver output-sync check-symlink load";

pub(super) const VARIABLES: &[(&str, &str)] = &[
    (".LIBPATTERNS", "lib%.so lib%.a"),
    ("AR", "ar"),
    ("ARFLAGS", "rv"),
    ("AS", "as"),
    ("CC", "cc"),
    ("CHECKOUT,v", "+$(if $(wildcard $@),,$(CO) $(COFLAGS) $< $@)"),
    ("CO", "co"),
    ("COFLAGS", ""),
    ("COMPILE.C", "$(COMPILE.cc)"),
    ("COMPILE.F", "$(FC) $(FFLAGS) $(CPPFLAGS) $(TARGET_ARCH) -c"),
    ("COMPILE.S", "$(CC) $(ASFLAGS) $(CPPFLAGS) $(TARGET_MACH) -c"),
    ("COMPILE.c", "$(CC) $(CFLAGS) $(CPPFLAGS) $(TARGET_ARCH) -c"),
    ("COMPILE.cc", "$(CXX) $(CXXFLAGS) $(CPPFLAGS) $(TARGET_ARCH) -c"),
    ("COMPILE.cpp", "$(COMPILE.cc)"),
    ("COMPILE.def", "$(M2C) $(M2FLAGS) $(DEFFLAGS) $(TARGET_ARCH)"),
    ("COMPILE.f", "$(FC) $(FFLAGS) $(TARGET_ARCH) -c"),
    ("COMPILE.m", "$(OBJC) $(OBJCFLAGS) $(CPPFLAGS) $(TARGET_ARCH) -c"),
    ("COMPILE.mod", "$(M2C) $(M2FLAGS) $(MODFLAGS) $(TARGET_ARCH)"),
    ("COMPILE.p", "$(PC) $(PFLAGS) $(CPPFLAGS) $(TARGET_ARCH) -c"),
    ("COMPILE.r", "$(FC) $(FFLAGS) $(RFLAGS) $(TARGET_ARCH) -c"),
    ("COMPILE.s", "$(AS) $(ASFLAGS) $(TARGET_MACH)"),
    ("CPP", "$(CC) -E"),
    ("CTANGLE", "ctangle"),
    ("CWEAVE", "cweave"),
    ("CXX", "g++"),
    ("F77", "$(FC)"),
    ("F77FLAGS", "$(FFLAGS)"),
    ("FC", "f77"),
    ("GET", "get"),
    ("LD", "ld"),
    ("LEX", "lex"),
    ("LEX.l", "$(LEX) $(LFLAGS) -t"),
    ("LEX.m", "$(LEX) $(LFLAGS) -t"),
    ("LINK.C", "$(LINK.cc)"),
    ("LINK.F", "$(FC) $(FFLAGS) $(CPPFLAGS) $(LDFLAGS) $(TARGET_ARCH)"),
    ("LINK.S", "$(CC) $(ASFLAGS) $(CPPFLAGS) $(LDFLAGS) $(TARGET_MACH)"),
    ("LINK.c", "$(CC) $(CFLAGS) $(CPPFLAGS) $(LDFLAGS) $(TARGET_ARCH)"),
    ("LINK.cc", "$(CXX) $(CXXFLAGS) $(CPPFLAGS) $(LDFLAGS) $(TARGET_ARCH)"),
    ("LINK.cpp", "$(LINK.cc)"),
    ("LINK.f", "$(FC) $(FFLAGS) $(LDFLAGS) $(TARGET_ARCH)"),
    ("LINK.m", "$(OBJC) $(OBJCFLAGS) $(CPPFLAGS) $(LDFLAGS) $(TARGET_ARCH)"),
    ("LINK.o", "$(CC) $(LDFLAGS) $(TARGET_ARCH)"),
    ("LINK.p", "$(PC) $(PFLAGS) $(CPPFLAGS) $(LDFLAGS) $(TARGET_ARCH)"),
    ("LINK.r", "$(FC) $(FFLAGS) $(RFLAGS) $(LDFLAGS) $(TARGET_ARCH)"),
    ("LINK.s", "$(CC) $(ASFLAGS) $(LDFLAGS) $(TARGET_MACH)"),
    ("LINT", "lint"),
    ("LINT.c", "$(LINT) $(LINTFLAGS) $(CPPFLAGS) $(TARGET_ARCH)"),
    ("M2C", "m2c"),
    ("MAKEINFO", "makeinfo"),
    ("OBJC", "cc"),
    ("OUTPUT_OPTION", "-o $@"),
    ("PC", "pc"),
    ("PREPROCESS.F", "$(FC) $(FFLAGS) $(CPPFLAGS) $(TARGET_ARCH) -F"),
    ("PREPROCESS.S", "$(CC) -E $(CPPFLAGS)"),
    ("PREPROCESS.r", "$(FC) $(FFLAGS) $(RFLAGS) $(TARGET_ARCH) -F"),
    ("RM", "rm -f"),
    ("TANGLE", "tangle"),
    ("TEX", "tex"),
    ("TEXI2DVI", "texi2dvi"),
    ("WEAVE", "weave"),
    ("YACC", "yacc"),
    ("YACC.m", "$(YACC) $(YFLAGS)"),
    ("YACC.y", "$(YACC) $(YFLAGS)"),
];

/// Recipes by the name of their suffix rule.
const RULES: &[(&str, &str)] = &[
    (".o", "$(LINK.o) $^ $(LOADLIBES) $(LDLIBS) -o $@"),
    (".c", "$(LINK.c) $^ $(LOADLIBES) $(LDLIBS) -o $@"),
    (".c.ln", "$(LINT.c) -C$* $<"),
    (".c.o", "$(COMPILE.c) $(OUTPUT_OPTION) $<"),
    (".cc", "$(LINK.cc) $^ $(LOADLIBES) $(LDLIBS) -o $@"),
    (".cc.o", "$(COMPILE.cc) $(OUTPUT_OPTION) $<"),
    (".C", "$(LINK.C) $^ $(LOADLIBES) $(LDLIBS) -o $@"),
    (".C.o", "$(COMPILE.C) $(OUTPUT_OPTION) $<"),
    (".cpp", "$(LINK.cpp) $^ $(LOADLIBES) $(LDLIBS) -o $@"),
    (".cpp.o", "$(COMPILE.cpp) $(OUTPUT_OPTION) $<"),
    (".p", "$(LINK.p) $^ $(LOADLIBES) $(LDLIBS) -o $@"),
    (".p.o", "$(COMPILE.p) $(OUTPUT_OPTION) $<"),
    (".f", "$(LINK.f) $^ $(LOADLIBES) $(LDLIBS) -o $@"),
    (".f.o", "$(COMPILE.f) $(OUTPUT_OPTION) $<"),
    (".F", "$(LINK.F) $^ $(LOADLIBES) $(LDLIBS) -o $@"),
    (".F.o", "$(COMPILE.F) $(OUTPUT_OPTION) $<"),
    (".F.f", "$(PREPROCESS.F) $(OUTPUT_OPTION) $<"),
    (".m", "$(LINK.m) $^ $(LOADLIBES) $(LDLIBS) -o $@"),
    (".m.o", "$(COMPILE.m) $(OUTPUT_OPTION) $<"),
    (".r", "$(LINK.r) $^ $(LOADLIBES) $(LDLIBS) -o $@"),
    (".r.o", "$(COMPILE.r) $(OUTPUT_OPTION) $<"),
    (".r.f", "$(PREPROCESS.r) $(OUTPUT_OPTION) $<"),
    (".y.ln", "$(YACC.y) $< \n $(LINT.c) -C$* y.tab.c \n $(RM) y.tab.c"),
    (".y.c", "$(YACC.y) $< \n mv -f y.tab.c $@"),
    (".l.ln", "@$(RM) $*.c\n $(LEX.l) $< > $*.c\n$(LINT.c) -i $*.c -o $@\n $(RM) $*.c"),
    (".l.c", "@$(RM) $@ \n $(LEX.l) $< > $@"),
    (".l.r", "$(LEX.l) $< > $@ \n mv -f lex.yy.r $@"),
    (".ym.m", "$(YACC.m) $< \n mv -f y.tab.c $@"),
    (".s", "$(LINK.s) $^ $(LOADLIBES) $(LDLIBS) -o $@"),
    (".s.o", "$(COMPILE.s) -o $@ $<"),
    (".S", "$(LINK.S) $^ $(LOADLIBES) $(LDLIBS) -o $@"),
    (".S.o", "$(COMPILE.S) -o $@ $<"),
    (".S.s", "$(PREPROCESS.S) $< > $@"),
    (".mod", "$(COMPILE.mod) -o $@ -e $@ $^"),
    (".mod.o", "$(COMPILE.mod) -o $@ $<"),
    (".def.sym", "$(COMPILE.def) -o $@ $<"),
    (".tex.dvi", "$(TEX) $<"),
    (".texinfo.info", "$(MAKEINFO) $(MAKEINFO_FLAGS) $< -o $@"),
    (".texinfo.dvi", "$(TEXI2DVI) $(TEXI2DVI_FLAGS) $<"),
    (".texi.info", "$(MAKEINFO) $(MAKEINFO_FLAGS) $< -o $@"),
    (".texi.dvi", "$(TEXI2DVI) $(TEXI2DVI_FLAGS) $<"),
    (".txinfo.info", "$(MAKEINFO) $(MAKEINFO_FLAGS) $< -o $@"),
    (".txinfo.dvi", "$(TEXI2DVI) $(TEXI2DVI_FLAGS) $<"),
    (".w.c", "$(CTANGLE) $< - $@"),
    (".w.tex", "$(CWEAVE) $< - $@"),
    (".web.p", "$(TANGLE) $<"),
    (".web.tex", "$(WEAVE) $<"),
    (".sh", "cat $< >$@ \n chmod a+x $@"),
];

/// Match-anything rules for version control, and one more: target, prerequisite, whether that must exist, recipe.
const PATTERNS: &[(&str, &str, bool, &str)] = &[
    ("%.out", "%", false, "@rm -f $@ \n cp $< $@"),
    ("%", "%,v", true, "$(CHECKOUT,v)"),
    ("%", "RCS/%,v", true, "$(CHECKOUT,v)"),
    ("%", "RCS/%", true, "$(CHECKOUT,v)"),
    ("%", "s.%", true, "$(GET) $(GFLAGS) $(SCCS_OUTPUT_OPTION) $<"),
    ("%", "SCCS/s.%", true, "$(GET) $(GFLAGS) $(SCCS_OUTPUT_OPTION) $<"),
];

fn commands(lines: &str) -> Rc<Commands> {
    Rc::new(Commands { file: FILE.into(), line: None, lines: lines.split('\n').map(str::to_owned).collect() })
}

pub(super) fn pattern_rules() -> impl Iterator<Item = Rc<PatternRule>> {
    PATTERNS.iter().map(|(target, dep, terminal, lines)| {
        let dep = Dep { name: (*dep).to_owned(), order_only: false, later: false };
        let targets = vec![Pattern::new(target)];
        PatternRule::new(targets, vec![dep], Some(commands(lines)), *terminal)
    })
}

pub(super) fn suffix_rules() -> HashMap<String, Rc<Commands>> {
    RULES.iter().map(|(name, lines)| ((*name).to_owned(), commands(lines))).collect()
}
