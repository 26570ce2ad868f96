//! Generated makefiles, images and programs that live on built-in rules, against make itself.

use super::real::same;

#[test]
fn an_autotools_makefile() {
    same(
        &[
            ("hello.c", ""),
            ("config.status", ""),
            ("configure", ""),
            ("Makefile.in", ""),
            ("Makefile.am", ""),
            ("aclocal.m4", ""),
            ("configure.ac", ""),
            (
                "Makefile",
                r#"
am__make_running_with_option = \
  case $${target_option-} in \
      ?) ;; \
      *) echo "am__make_running_with_option: internal error" >&2; \
         exit 1;; \
  esac
srcdir = .
top_builddir = .
bin_PROGRAMS = hello$(EXEEXT)
PROGRAMS = $(bin_PROGRAMS)
am_hello_OBJECTS = hello.$(OBJEXT)
OBJEXT = o
hello_OBJECTS = $(am_hello_OBJECTS)
AM_V_CC = $(am__v_CC_$(V))
am__v_CC_ = $(am__v_CC_$(AM_DEFAULT_VERBOSITY))
am__v_CC_0 = @echo "  CC      " $@;
am__v_CC_1 =
AM_DEFAULT_VERBOSITY = 1
CCLD = $(CC)
DEFS = -DPACKAGE_NAME=\"hello\" -DVERSION=\"1.0\"
COMPILE = $(CC) $(DEFS) $(INCLUDES) $(CPPFLAGS) $(CFLAGS)
LINK = $(CCLD) $(CFLAGS) $(LDFLAGS) -o $@
install_sh_PROGRAM = install -c
MKDIR_P = mkdir -p
all: all-am
.SUFFIXES:
.SUFFIXES: .c .o .obj
install-binPROGRAMS: $(bin_PROGRAMS)
	@$(NORMAL_INSTALL)
	@list='$(bin_PROGRAMS)'; test -n "$(bindir)" || list=; \
	if test -n "$$list"; then \
	  echo " $(MKDIR_P) '$(DESTDIR)$(bindir)'"; \
	fi; \
	for p in $$list; do echo "$$p $$p"; done | \
	sed 's/$(EXEEXT)$$//' | while read p p1; do \
	  echo $$p; \
	done
hello$(EXEEXT): $(hello_OBJECTS) $(hello_DEPENDENCIES)
	@rm -f hello$(EXEEXT)
	$(AM_V_CCLD)$(LINK) $(hello_OBJECTS) $(hello_LDADD) $(LIBS)
.c.o:
	$(AM_V_CC)depbase=`echo $@ | sed 's|[^/]*$$|$(DEPDIR)/&|;s|\.o$$||'`;\
	$(COMPILE) -MT $@ -c -o $@ $< &&\
	mv -f $$depbase.Tpo $$depbase.Po
all-am: Makefile.in $(PROGRAMS)
clean: ; -rm -f *.$(OBJEXT)
distclean: clean
	-rm -f Makefile
install-am: all-am install-binPROGRAMS
install: install-am
installcheck:
.PHONY: all all-am clean distclean install install-am install-binPROGRAMS installcheck
.MAKE: install-am
.PRECIOUS: Makefile
.NOEXPORT:
"#,
            ),
        ],
        &["install", "distclean", "bindir=/usr/bin"],
    );
}

#[test]
fn a_docker_project_with_groups_of_targets() {
    same(
        &[
            ("images/web/Dockerfile", ""),
            ("images/db/Dockerfile", ""),
            (
                "Makefile",
                r#"
REGISTRY ?= registry.example.com
TAG ?= latest
IMAGES := $(notdir $(patsubst %/,%,$(dir $(wildcard images/*/Dockerfile))))
COMPOSE = docker compose -f compose.yml $(foreach f,$(OVERRIDES),-f $(f))
.PHONY: $(addprefix build-,$(IMAGES)) $(addprefix push-,$(IMAGES)) all up
all: $(IMAGES:%=build-%) $(IMAGES:%=push-%)
define image_rules
build-$(1): images/$(1)/Dockerfile
	docker build -t $$(REGISTRY)/$(1):$$(TAG) -f $$< \
	  --build-arg NAME=$(1) .
push-$(1): build-$(1)
	docker push $(REGISTRY)/$(1):$(TAG)
endef
$(foreach image,$(IMAGES),$(eval $(call image_rules,$(image))))
up: all
	$(COMPOSE) up -d --remove-orphans
guard-%:
	@if [ -z '${${*}}' ]; then echo 'variable $* not set' && exit 1; fi
deploy: guard-ENV up ; ./deploy.sh "$(ENV)"
"#,
            ),
        ],
        &["deploy", "ENV=prod", "OVERRIDES=a.yml b.yml"],
    );
}

#[test]
fn a_small_project_that_lives_on_built_in_rules() {
    same(
        &[
            ("prog.c", ""),
            ("util.c", ""),
            ("app.cpp", ""),
            ("scan.l", ""),
            ("parse.y", ""),
            ("run.sh", ""),
            ("asm.S", ""),
            (
                "Makefile",
                r"
CFLAGS = -O2 -g
CXXFLAGS := -std=c++20
LDLIBS = -lm
all: prog app scan.o parse.o run asm.o
kept: scan.c parse.c
prog: util.o
app: LDFLAGS = -static
clean:
	$(RM) prog app *.o
",
            ),
        ],
        &["all", "clean"],
    );
}
