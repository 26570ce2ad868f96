//! Makefiles in the manner of real projects, against make itself.

use super::real::same;

#[test]
fn a_database_server_with_coloured_lines_and_settings() {
    same(
        &[
            ("server.c", ""),
            ("net.c", ""),
            ("deps/Makefile", ""),
            (
                "Makefile",
                r#"
STD = -std=c11
WARN = -Wall -W
OPT ?= -O2
PREFIX ?= /usr/local
INSTALL_BIN = $(PREFIX)/bin
NUMBER := \#
DEBUG := -g
-include .make-settings
FINAL_CFLAGS = $(STD) $(WARN) $(OPT) $(DEBUG) $(CFLAGS) $(SERVER_CFLAGS)
FINAL_LIBS = -lm
ifneq (,$(filter yes,$(BUILD_TLS)))
FINAL_LIBS += -lssl
else
FINAL_LIBS += ../deps/hd/libhd.a
endif
SERVER_CC = $(QUIET_CC)$(CC) $(FINAL_CFLAGS)
SERVER_LD = $(QUIET_LINK)$(CC) $(FINAL_LDFLAGS)
CCCOLOR = "\033[34m"
ENDCOLOR = "\033[0m"
ifndef V
QUIET_CC = @printf '    %b %b\n' $(CCCOLOR)CC$(ENDCOLOR) $@ 1>&2;
QUIET_LINK = @printf '    LINK %b\n' $@ 1>&2;
endif
NAME = server$(SUFFIX)
OBJ = server.o net.o
all: $(NAME)
	@echo ""
	@echo "Hint: It's a good idea to run 'make test' ;)"
	@echo ""
persist-settings: distclean
	echo STD=$(STD) >> .make-settings
	echo WARN='$(WARN)' >> .make-settings
	-(cd deps && true $(DEPS))
.PHONY: persist-settings all clean install
.make-prerequisites:
	@touch $@
ifneq ($(strip $(PREV_CFLAGS)), $(strip $(FINAL_CFLAGS)))
.make-prerequisites: persist-settings
endif
$(NAME): $(OBJ)
	$(SERVER_LD) -o $@ $^ $(FINAL_LIBS)
%.o: %.c .make-prerequisites
	$(SERVER_CC) -MMD -o $@ -c $<
DEP = $(OBJ:%.o=%.d)
-include $(DEP)
clean:
	rm -rf $(NAME) *.o *.gcda
	rm -f $(DEP)
distclean: clean
	-(rm -f .make-*)
install: all
	@mkdir -p $(INSTALL_BIN)
	$(call install_one,$(NAME),$(INSTALL_BIN))
define install_one
	install -m 755 $(1) $(2)
	ln -sf $(1) $(2)/link
endef
"#,
            ),
        ],
        &["install", "V=1", "BUILD_TLS=yes"],
    );
}

#[test]
fn a_version_control_tool_with_long_lists_and_quoting() {
    same(
        &[(
            "Makefile",
            r#"
all::
prefix = $(HOME)
bindir = $(prefix)/bin
gitexecdir = libexec/core
SCRIPT_SH += one.sh
SCRIPT_SH += two.sh
SCRIPTS = $(SCRIPT_SH:.sh=)
BUILT = $(patsubst builtin/%.o,cmd-%$X,$(BUILTIN_OBJS))
BUILTIN_OBJS += builtin/add.o
BUILTIN_OBJS += builtin/log.o
SHELL_PATH = /bin/sh
SQ = '
SHELL_PATH_SQ = $(subst ','\'',$(SHELL_PATH))
bindir_SQ = $(subst ','\'',$(bindir))
DESTDIR_SQ = $(subst ','\'',$(DESTDIR))
BASIC_CFLAGS = -I.
ALL_CFLAGS = $(CFLAGS) $(BASIC_CFLAGS)
QUIET_SUBDIR0  = +$(MAKEX) -C # space
ifneq ($(findstring w,$(MAKEFLAGS)),w)
PRINT_DIR = --no-print-directory
else
NO_SUBDIR = :
endif
all:: $(SCRIPTS) $(BUILT) GIT-FLAGS
$(SCRIPTS): % : %.sh GIT-SCRIPT-DEFINES
	$(QUIET_GEN)sed -e '1s|#!.*/sh|#!$(SHELL_PATH_SQ)|' \
	    -e 's|@@DIFF@@|$(DIFF_SQ)|' \
	    $@.sh >$@+ && \
	chmod +x $@+ && \
	mv $@+ $@
one.sh two.sh: ; : have $@
GIT-SCRIPT-DEFINES: FORCE
	@FLAGS='$(SHELL_PATH_SQ):$(DIFF_SQ)'; \
	    if test x"$$FLAGS" != x"`cat $@ 2>/dev/null`" ; then \
		echo >&2 "    * new script parameters"; \
		echo "$$FLAGS" >$@; \
            fi
GIT-FLAGS: FORCE ; @echo flags '$(ALL_CFLAGS)'
$(BUILT): git$X
	$(QUIET_BUILT_IN)$(RM) $@ && \
	ln $< $@ 2>/dev/null || \
	cp $< $@
git$X: builtin.o $(BUILTIN_OBJS)
	$(CC) $(ALL_CFLAGS) -o $@ $(filter %.o,$^) $(LIBS)
$(BUILTIN_OBJS) builtin.o: %.o: FORCE
	$(CC) -o $*.o -c $(ALL_CFLAGS) $(EXTRA_CPPFLAGS) $(basename $@).c
builtin/log.o: EXTRA_CPPFLAGS = -DLOG='"$(bindir_SQ)"'
install: all
	install -d -m 755 '$(DESTDIR_SQ)$(bindir_SQ)'
	for p in $(BUILT); do \
		$(RM) "$(bindir)/$$p" && \
		ln "git$X" "$$p" || exit; \
	done
	@echo $(foreach p,$(SCRIPTS),$(call one,$p))
one = <$(1)>
.PHONY: all install FORCE
FORCE:
"#,
        )],
        &["install", "DESTDIR=/tmp/x y", "X=.exe", "HOME=/home/me"],
    );
}

#[test]
fn a_kernel_style_build_with_commands_in_variables() {
    same(
        &[
            ("a.c", ""),
            ("b.c", ""),
            (
                "Kbuild.include",
                r"
comma   := ,
quote   := '
squote  := '
empty   :=
space   := $(empty) $(empty)
dot-target = $(dir $@).$(notdir $@)
depfile = $(subst $(comma),_,$(dot-target).d)
escsq = $(subst $(squote),'\$(squote)',$1)
echo-cmd = $(if $($(quiet)cmd_$(1)),echo '  $(call escsq,$($(quiet)cmd_$(1)))';)
cmd = @set -e; $(echo-cmd) $(cmd_$(1))
any-prereq = $(filter-out $(PHONY),$?) $(filter-out $(PHONY) $(wildcard $^),$^)
if_changed = $(if $(any-prereq)$(arg-check),$(cmd))
build := -f scripts/Makefile.build obj
",
            ),
            (
                "Makefile",
                r#"
PHONY := _all
_all: vmlinux modules
ifeq ("$(origin V)", "command line")
  KBUILD_VERBOSE = $(V)
endif
ifndef KBUILD_VERBOSE
  KBUILD_VERBOSE = 0
endif
ifeq ($(KBUILD_VERBOSE),1)
  quiet =
  Q =
else
  quiet=quiet_
  Q = @
endif
include Kbuild.include
obj-y += a.o b.o
obj-$(CONFIG_X) += x.o
obj-m := $(sort c.o $(filter %.o,$(obj-y)))
export CC quiet Q
quiet_cmd_cc_o_c = CC      $@
      cmd_cc_o_c = $(CC) $(c_flags) -c -o $@ $<
c_flags = -Wp,-MD,$(depfile) $(CFLAGS_$(@F)) -DKBUILD_MODNAME='"$(basename $(@F))"'
CFLAGS_a.o := -DSPECIAL='"quoted, text"'
%.o: %.c FORCE
	$(call if_changed,cc_o_c)
vmlinux: $(obj-y)
	$(Q)ld -r -o $@ $(filter-out FORCE,$^)
PHONY += modules FORCE
modules: $(addprefix mod-,$(obj-m:.o=))
	$(Q)echo M $(build)=$@
mod-%: ; @echo module $* $(words $(obj-m))
FORCE:
.PHONY: $(PHONY)
"#,
            ),
        ],
        &["V=1"],
    );
}

#[test]
fn an_outside_kernel_module() {
    same(
        &[(
            "Makefile",
            r"
ifneq ($(KERNELRELEASE),)
obj-m := hello.o
hello-y := main.o util.o
else
KDIR ?= /lib/modules/$(KVER)/build
PWD := $(CURDIR)
KVER = 6.1.0
default:
	$(KMAKE) -C $(KDIR) M=$(notdir $(PWD)) modules
clean:
	$(KMAKE) -C $(KDIR) M=$(notdir $(PWD)) clean
	rm -f *.ko *.o .*.cmd
.PHONY: default clean
KMAKE = kmake
endif
",
        )],
        &["default", "clean"],
    );
}

#[test]
fn a_go_project_with_help_and_platforms() {
    same(
        &[
            ("main.go", ""),
            ("pkg/a.go", ""),
            (
                "Makefile",
                r#"
SHELL := /usr/bin/env bash
.SHELLFLAGS := -o pipefail -ec
BIN := server
GO ?= go
PLATFORMS := linux/amd64 linux/arm64 darwin/arm64
VERSION ?= v1.2.3
LDFLAGS := -s -w -X main.version=$(VERSION)
SOURCES := $(wildcard *.go pkg/*.go)
word-dot = $(word $2,$(subst /, ,$1))
ifeq ($(strip $(RACE)),)
TEST_FLAGS := -count=1
else
TEST_FLAGS := -race
endif
.DEFAULT_GOAL := help
.PHONY: help
help: ## Show this help
	@awk 'BEGIN {FS = ":.*##"} /^[a-zA-Z_-]+:.*?##/ { printf "  \033[36m%-15s\033[0m %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
bin/$(BIN): $(SOURCES) | bin ## Build
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o $@ ./cmd/$(BIN)
bin:
	@mkdir -p $@
build: bin/$(BIN)
release: $(addprefix release-,$(subst /,_,$(PLATFORMS)))
release-%:
	GOOS=$(call word-dot,$(subst _,/,$*),1) GOARCH=$(word 2,$(subst _, ,$*)) $(GO) build -o dist/$(BIN)-$* .
test: build lint
	$(GO) test $(TEST_FLAGS) ./...
lint: GOFLAGS = -mod=vendor
lint: ; GOFLAGS=$(GOFLAGS) golangci-lint run
"#,
            ),
        ],
        &["help", "test", "release", "RACE=1"],
    );
}

#[test]
fn a_python_project_with_one_shell() {
    same(
        &[
            ("pyproject.toml", ""),
            ("requirements.txt", ""),
            (
                "Makefile",
                r#"
.PHONY: install test docs
VENV ?= .venv
PYTHON := $(VENV)/bin/python
export PYTHONPATH = src
sources = src tests
$(VENV)/touchfile: requirements.txt pyproject.toml
	test -d $(VENV) || python3 -m venv $(VENV)
	$(PYTHON) -m pip install -U pip -r $<
	touch $@
install: $(VENV)/touchfile
.PHONY: format
format:
	$(PYTHON) -m ruff check --fix $(sources)
	$(PYTHON) -m ruff format $(sources)
test: install format
	$(PYTHON) -m pytest -x $(if $(K),-k "$(K)") $(ARGS)
docs/%.html: docs/%.md
	$(PYTHON) -m markdown $< > $@
docs: docs/index.html
docs/index.md: ; touch $@
publish: test docs ; $(PYTHON) -m build && twine upload dist/*
"#,
            ),
        ],
        &["publish", "K=slow and not db"],
    );
}
