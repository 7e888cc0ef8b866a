# attnbench: build, tests and set-up. `make help` lists the targets, `make features` what was found on this machine.
#
# Objects live in build/<config>/, where <config> names the flavour and a hash of every flag and compiler version, so
# two configurations never mix and going back to an earlier one costs nothing.

VERSION := 0.3.0

# ---- switches -------------------------------------------------------------------------------------------------
# Given on the command line or in the environment.

CUDA ?= auto
DEBUG ?= 0
WERROR ?= 1
V ?= 0
SANITIZE ?=
PREFIX ?= /usr/local
DESTDIR ?=
SWEEP ?= shapes/v3.json
PKG_CONFIG ?= pkg-config
ifeq ($(origin CC),default)
CC := gcc
endif
ifeq ($(origin CXX),default)
CXX := g++
endif

COMMA := ,
EMPTY :=
SPACE := $(EMPTY) $(EMPTY)

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SUFFIXES:
.PHONY: all example run check test test-emulated test-gpu sanitize-gpu coverage builds fuzz fuzz-smoke analyze fuzz-programs test-programs gpu-programs setup lint format format-check asan check-spills \
        compile-commands features help clean install uninstall FORCE
FORCE:

# Without -j, use every core. A make below another one already shares its jobs.
ifeq ($(MAKELEVEL),0)
MAKEFLAGS += -j$(shell nproc 2>/dev/null || echo 1)
endif
MAKEFLAGS += --no-builtin-rules --no-print-directory

Q := $(if $(filter 1,$(V)),,@)
say = @printf '  %-7s %s\n' '$(1)' '$(2)'
SHELL := /bin/bash

# ---- CUDA ------------------------------------------------------------------------------------------------------

ifeq ($(filter auto 0 1,$(CUDA)),)
$(error CUDA=$(CUDA) is not known; use CUDA=auto, CUDA=0 or CUDA=1)
endif

# Since this release the runtime takes kernel handles (cudaGetKernel) as plug-ins pass them.
CUDA_MINIMUM := 12.1
ifneq ($(CUDA),0)
NVCC ?= $(shell PATH="$${CUDA_HOME:+$(CUDA_HOME)/bin:}$$PATH:/usr/local/cuda/bin" command -v nvcc)
NVCC := $(NVCC)
NVCC_VERSION := $(if $(NVCC),$(shell $(NVCC) --version 2>/dev/null | sed -n 's/.*release \([0-9.]*\).*/\1/p'))
NVCC_MAJOR := $(firstword $(subst ., ,$(NVCC_VERSION)))
CUDA_WHY := $(if $(NVCC_VERSION),$(shell printf '%s\n' $(CUDA_MINIMUM) $(NVCC_VERSION) | sort -VC || echo \
    "nvcc $(NVCC_VERSION) is older than $(CUDA_MINIMUM)"),no nvcc in CUDA_HOME$(COMMA) PATH or /usr/local/cuda/bin)
endif

ifeq ($(CUDA)$(CUDA_WHY),auto)
WITH_CUDA := 1
else ifeq ($(CUDA)$(CUDA_WHY),1)
WITH_CUDA := 1
else
WITH_CUDA := 0
endif

ifeq ($(WITH_CUDA),1)
NVCC_CODES := $(shell $(NVCC) --list-gpu-code)
gencode = $(if $(filter sm_$(1),$(NVCC_CODES)),-gencode=arch=compute_$(2)$(COMMA)code=$(3))
# all: machine code for Ampere, Ada, Hopper with its own instructions, and Blackwell where nvcc knows it; PTX for others.
# Code that is the same for several GPUs is compiled to PTX once: most of the time of a build is spent there.
GENCODE_all = $(strip $(call gencode,80,80,sm_80) $(call gencode,86,80,sm_86) $(call gencode,89,89,sm_89) \
    $(call gencode,90,90a,sm_90a) $(call gencode,100,90,sm_100) $(call gencode,120,90,sm_120) $(call gencode,90,90,compute_90))
# native: the GPU of this machine alone, or Hopper where there is none; less than half of the build time.
# One pair of arch and code per kind of GPU here: 90 -> 90a, whose instructions the kernels use.
GPU_HERE = $(or $(shell nvidia-smi --query-gpu=compute_cap --format=csv$(COMMA)noheader 2>/dev/null | tr -dc '0-9\n' | \
    sed 's/^90$$/90a/' | sort -u),90a)
GENCODE_native = $(foreach arch,$(GPU_HERE),-gencode=arch=compute_$(arch)$(COMMA)code=sm_$(arch))
GENCODE ?= all
NVCC_GENCODE := $(if $(filter all native,$(GENCODE)),$(GENCODE_$(GENCODE)),$(GENCODE))
# dladdr must find a kernel's name from its host handle; newer compilers hide kernels and make templates local.
NVCC_HELP := $(shell $(NVCC) --help | grep -oE '^--(static-global-template-stub|device-entity-has-hidden-visibility)')
NVCC_EXPORT := $(addsuffix =false,$(NVCC_HELP))
# A fifth of the size. Drivers older than CUDA 12.4 cannot unpack it, and CUDA 13 needs a newer one anyway.
NVCC_COMPRESS := $(shell [ $(NVCC_MAJOR) -lt 13 ] || echo --compress-mode=size)
CUDA_LIBS ?= $(shell $(NVCC) --dryrun -x cu -c /dev/null 2>&1 | sed -n 's/^\#\$$ LIBRARIES=//p') -lcudart_static -lrt
endif

# ---- cJSON and cmocka -------------------------------------------------------------------------------------------

pkg = $(shell $(PKG_CONFIG) $(1) $(2) 2>/dev/null)
ifeq ($(origin CJSON_LIBS),undefined)
CJSON_CFLAGS ?= $(call pkg,--cflags,libcjson)
CJSON_LIBS := $(call pkg,--libs,libcjson)
endif
CMOCKA_CFLAGS ?= $(call pkg,--cflags,cmocka)
CMOCKA_LIBS ?= $(or $(call pkg,--libs,cmocka),-lcmocka)

# ---- flags -----------------------------------------------------------------------------------------------------

ifeq ($(DEBUG),1)
CFLAGS ?= -O0 -g3
NVCCFLAGS ?= -O0 -g -G
else
# Sanitized code is run for its reports: less to compile, still fast enough.
CFLAGS ?= $(if $(SANITIZE),-O1 -g1,-O2 -g)
NVCCFLAGS ?= -O3 -lineinfo
# CPU variants and the oracle are loops over floats: vectorise them.
KERNEL_CFLAGS ?= -O3
endif
CXXFLAGS ?= $(CFLAGS)

ifneq ($(SANITIZE),)
SANITIZE_FLAGS := -fsanitize=$(SANITIZE) -fno-sanitize-recover=all -fno-omit-frame-pointer
endif
ERROR_FLAG := $(if $(filter 1,$(WERROR)),-Werror)
CPPFLAGS_ALL = -I. -I$(BUILD)/gen -D_GNU_SOURCE $(CPPFLAGS)
# snprintf cuts texts on purpose, and what gcc thinks of that depends on inlining.
WARN_C := -Wno-unknown-warning-option -Wall -Wextra -Wno-format-truncation -Wshadow -Wconversion -Wno-sign-conversion \
    -Wstrict-prototypes -Wvla $(ERROR_FLAG)
# Without nvcc, constants of kernels are unused.
WARN_CXX := -Wall -Wextra -Wshadow -Wno-missing-field-initializers -Wno-unused-const-variable $(ERROR_FLAG)
WARN_NVCC := $(if $(ERROR_FLAG),-Werror all-warnings) -Xcompiler \
    $(subst $(SPACE),$(COMMA),$(strip -Wall -Wextra -Wno-missing-field-initializers $(ERROR_FLAG)))
C_ALL = -std=c11 -pthread $(CPPFLAGS_ALL) $(WARN_C) $(CJSON_CFLAGS) $(CFLAGS) $(EXTRA_CFLAGS) $(SANITIZE_FLAGS)
CXX_ALL = -std=c++20 -pthread $(CPPFLAGS_ALL) $(WARN_CXX) $(CXXFLAGS) $(SANITIZE_FLAGS)
NVCC_ALL = -std=c++20 $(CPPFLAGS_ALL) $(WARN_NVCC) $(NVCCFLAGS) $(NVCC_EXPORT) $(NVCC_COMPRESS) $(NVCC_GENCODE) \
    --threads 0 -Xptxas -v $(addprefix -Xcompiler ,$(SANITIZE_FLAGS))
# One program (tests/units.c) has all unit tests, and the fuzz targets where libFuzzer does not run them.
TEST_CFLAGS = $(CMOCKA_CFLAGS) $(patsubst %.c.o,-Dmain=%,$(filter unit_% replay.%,$(@F))) \
    $(if $(findstring fuzzer,$(SANITIZE)),,$(patsubst %.c.o,-DLLVMFuzzerTestOneInput=%,$(filter fuzz_%,$(@F))))
# -z now: the table of functions is complete and read-only once the program runs, so that a change of it can be told
# (cli/measure/leftovers.c).
LD_ALL = -pthread -rdynamic -Wl,-z,relro,-z,now $(LDFLAGS) $(SANITIZE_FLAGS)
LIBS_ALL = $(CJSON_LIBS) $(if $(filter 1,$(WITH_CUDA)),$(CUDA_LIBS)) -ldl -lpthread -lm

# CUDA=1 without nvcc must not find what CUDA=0 left behind.
FLAVOUR := $(if $(filter 1,$(WITH_CUDA)),cuda,$(if $(filter 1,$(CUDA)),no-nvcc,host))$(if $(filter 1,$(DEBUG)),-debug)$(addprefix \
    -,$(subst $(COMMA),-,$(SANITIZE)))
# A compiler that is not there yet (set-up comes first) is no news.
version_of = $(shell { $(1) -dumpfullversion; } 2>/dev/null)
FLAGS_TEXT = $(CC) $(CXX) $(call version_of,$(CC)) $(call version_of,$(CXX)) $(NVCC) \
    $(NVCC_VERSION) $(C_ALL) $(KERNEL_CFLAGS) $(CXX_ALL) $(NVCC_ALL) $(LD_ALL) $(LIBS_ALL) $(CMOCKA_CFLAGS) $(CMOCKA_LIBS) $(value TEST_CFLAGS)
BUILD :=
BUILD := build/$(FLAVOUR)-$(shell printf '%s' '$(subst ','\'',$(FLAGS_TEXT))' | sha256sum | cut -c1-8)

# ---- sources ----------------------------------------------------------------------------------------------------

C_SOURCES := $(wildcard cli/*.c cli/*/*.c kernels/*.c $(foreach room,problem cpu cuda variants reference,kernels/$(room)/*.c))
CU_SOURCES := $(wildcard kernels/variants/*.cu kernels/reference/*.cu)
ifeq ($(WITH_CUDA),1)
C_SOURCES := $(filter-out kernels/cuda/no_cuda.c,$(C_SOURCES))
CU_SOURCES += $(wildcard kernels/cuda/*.cu)
endif
FAULT_SOURCES := $(wildcard tests/faults/*.c tests/faults/*.cu)
UNIT_SOURCES := $(wildcard tests/*/unit_*.c)
# Headers in C++ for unit tests.
UNIT_CU_SOURCES := tests/kernels/ragged_balance.cu
FUZZ_SOURCES := $(wildcard tests/fuzz/fuzz_*.c)
EXAMPLE_SOURCES := $(wildcard kernels/example/*.cu)
PLUGIN_SOURCES := $(wildcard tests/plugins/*.c)
OTHER_NUMBERS := 1 2 3 4 5 6 7 8 9 10 11 12
OTHER_BUILDS := $(OTHER_NUMBERS:%=$(BUILD)/builds/%/attnbench)
OTHER_SOURCES := $(addprefix kernels/variants/,wgmma.cu mma_swizzle.cu cp_async.cu scalar_quad.cu cluster_split.cu)
SLOWED_NAMES := $(shell sed -n 's/^VARIANT(\(.*\))/\1/p' tests/slowed/slowed.def)

# Recipes and rules hold these names as they are, so that a name of other characters would be run, or be two.
NAMED := $(C_SOURCES) $(CU_SOURCES) $(FAULT_SOURCES) $(UNIT_SOURCES) $(UNIT_CU_SOURCES) $(FUZZ_SOURCES) $(EXAMPLE_SOURCES) $(PLUGIN_SOURCES) \
    $(addprefix tests/slowed/,$(SLOWED_NAMES))
PLAIN := A B C D E F G H I J K L M N O P Q R S T U V W X Y Z a b c d e f g h i j k l m n o p q r s t u v w x y z \
    0 1 2 3 4 5 6 7 8 9 _ . / + @ $(COMMA) = -
without = $(if $(1),$(call without,$(wordlist 2,$(words $(1)),$(1)),$(subst $(firstword $(1)),,$(2))),$(2))
UNPLAIN := $(if $(strip $(call without,$(PLAIN),$(NAMED))),$(foreach n,$(NAMED),$(if $(call without,$(PLAIN),$n),$n))) \
    $(filter-out cli/% kernels/% tests/%,$(NAMED))
ifneq ($(strip $(UNPLAIN)),)
$(error names of sources may have letters, digits and _ . / + @ , = - alone; rename: $(strip $(UNPLAIN)))
endif

object = $(addprefix $(BUILD)/,$(addsuffix .o,$(1)))
CU_OBJECTS := $(call object,$(CU_SOURCES))
VARIANT_OBJECTS := $(call object,$(wildcard kernels/variants/*.cu))
OBJECTS := $(call object,$(C_SOURCES)) $(CU_OBJECTS) $(BUILD)/gen/kernel_resources.o
MAIN_OBJECT := $(call object,cli/main.c)
LIB_OBJECTS := $(filter-out $(MAIN_OBJECT),$(OBJECTS))
FAULTY_REGISTRY := $(BUILD)/gen/registry_faulty.o
FAULTY_RESOURCES := $(BUILD)/gen/kernel_resources_faulty
FAULTY_OBJECTS := $(filter-out $(call object,kernels/registry.c) $(BUILD)/gen/kernel_resources.o,$(OBJECTS)) \
    $(FAULTY_REGISTRY) $(FAULTY_RESOURCES).o $(call object,$(FAULT_SOURCES))
FAULT_KERNELS := $(call object,$(filter %.cu,$(FAULT_SOURCES)))
UNITS := $(addprefix $(BUILD)/tests/,$(notdir $(UNIT_SOURCES:.c=)) replay)
FUZZERS := $(patsubst tests/fuzz/%.c,$(BUILD)/tests/fuzz/%,$(FUZZ_SOURCES))
EXAMPLE_OBJECTS := $(call object,$(EXAMPLE_SOURCES))
EXAMPLES := $(patsubst kernels/example/%.cu,$(BUILD)/%.so,$(EXAMPLE_SOURCES))
PLUGINS := $(patsubst tests/plugins/%.c,$(BUILD)/tests/plugins/%.so,$(PLUGIN_SOURCES))
EMULATED := $(if $(filter 1,$(WITH_CUDA)),$(if $(SANITIZE),,$(BUILD)/tests/emulated.so))
FAULTY := $(if $(wildcard tests/faults.def),$(BUILD)/attnbench-faulty)

# ---- targets ----------------------------------------------------------------------------------------------------

## all: build ./attnbench (the default)
all: attnbench

attnbench: $(BUILD)/attnbench FORCE
	$(Q)cmp -s $< $@ || { cp -f $< $@.new && mv -f $@.new $@; }

## example: build the examples of kernels of your own, kernels/example/, for --load; prints their paths
example: $(EXAMPLES)
	@printf '%s\n' $^

# The tests build for one GPU unless somebody says GENCODE=, or the objects for all are there.
RUN_TESTS = MAKE='$(MAKE)' V='$(V)' GENCODE_GIVEN='$(filter command environment,$(origin GENCODE))' \
    scripts/build/run_tests.sh

## run: set up, build, and run the main sweep (SWEEP=shapes/v3.json)
run:
	@scripts/build/setup.sh build
	@$(MAKE) all
	./attnbench --sweep $(SWEEP)

## check: the inner loop: lint, a build without CUDA, unit tests and the quick command-line tests
check:
	@scripts/build/setup.sh test
	@+$(RUN_TESTS) check

## test: set up, build, and run every test that needs no GPU; ends with one line of counts
test:
	@scripts/build/setup.sh test
	@+$(RUN_TESTS) cpu

## test-gpu: build, and run the tests that need a GPU (the runner ends with 77 where there is none)
test-gpu:
	@scripts/build/setup.sh gpu
	@+$(RUN_TESTS) gpu

## sanitize-gpu: memcheck, racecheck, initcheck and synccheck over every variant on ragged shapes (needs a GPU)
sanitize-gpu:
	@scripts/build/setup.sh gpu
	@+$(RUN_TESTS) sanitize-gpu

## asan: unit and command-line tests under AddressSanitizer and UBSan, without CUDA
asan:
	@scripts/build/setup.sh test
	@+$(RUN_TESTS) asan

## test-emulated: every case of the kernels for Hopper on an emulated GPU; `make test` draws a part of them
test-emulated:
	@scripts/build/setup.sh test
	@+$(RUN_TESTS) emulated

## coverage: how many lines of cli/ the tests run; fails below 97 %
coverage:
	@scripts/build/setup.sh test
	@+$(RUN_TESTS) coverage

## fuzz-smoke: every reader on random input for 30 s, from the kept corpus (needs clang; FUZZ_SECONDS= changes it)
fuzz-smoke:
	@+MAKE='$(MAKE)' scripts/build/fuzz.sh smoke $(or $(FUZZ_SECONDS),30)

## fuzz: the same for 10 minutes each; what reaches new code is added to the corpus, tests/fuzz/corpus
fuzz:
	@+MAKE='$(MAKE)' scripts/build/fuzz.sh grow $(or $(FUZZ_SECONDS),600)

## analyze: gcc -fanalyzer, clang --analyze and the warnings of both over the C sources; minutes
analyze: | $(BUILD)/.config
	@$(MAKE) CUDA=0 test-programs
	@CJSON_CFLAGS='$(CJSON_CFLAGS)' WARNINGS='$(filter-out -Werror,$(WARN_C))' scripts/build/analyze.sh "$$($(MAKE) -s CUDA=0 print-BUILD)"

## setup: install what building and testing need (apt), or print the command to type
setup:
	@scripts/build/setup.sh test

## lint: layers, shell scripts and format
lint:
	@+$(RUN_TESTS) lint

## check-spills: every kernel keeps its registers on every architecture, or says why not (scripts/build/spills_allowed.txt)
check-spills: $(BUILD)/attnbench $(EXAMPLES)
	@scripts/build/check_spills.sh $(CU_OBJECTS:.o=.ptxas) $(EXAMPLE_OBJECTS:.o=.ptxas)

## compile-commands: write compile_commands.json for clangd and other tools, with the flags of the host build
compile-commands: | $(BUILD)/.config
	@{ printf '['; separator=; \
	while read -r file command; do \
	  printf '%s\n{"directory": "%s", "file": "%s", "command": "%s"}' "$$separator" '$(CURDIR)' "$$file" \
	    "$$(sed 's/[\\"]/\\&/g' <<<"$$command -c $$file")"; \
	  separator=,; \
	done; printf '\n]\n'; } >compile_commands.json < <(printf '%s\n' \
	  $(foreach source,$(C_SOURCES) $(filter %.c,$(FAULT_SOURCES)) $(UNIT_SOURCES) $(PLUGIN_SOURCES),\
	    '$(source) $(CC) $(C_ALL) $(CMOCKA_CFLAGS)') \
	  $(foreach source,$(CU_SOURCES) $(filter %.cu,$(FAULT_SOURCES)) $(UNIT_CU_SOURCES) $(EXAMPLE_SOURCES),'$(source) $(CXX) $(CXX_ALL) -x c++'))
	@echo "wrote compile_commands.json"

FORMAT_FILES = $(shell find cli kernels tests \( -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' \) -print)
## format: rewrite the sources with clang-format
format:
	clang-format -i $(FORMAT_FILES)

## format-check: fail when a source is not as `make format` would write it
format-check:
	@clang-format --dry-run --Werror $(FORMAT_FILES)

## features: what was found on this machine, and the switch for each
features:
	@$(FEATURES)
feature = printf '%s %-8s %s\n' '$(if $(1),✓,✗)' '$(2)' '$(3)'
CUDA_FOUND = $(NVCC) $(NVCC_VERSION) (CUDA=0 builds without)
CUDA_MISSING = $(if $(CUDA_WHY),$(CUDA_WHY): GPU variants can be planned but not run (CUDA_HOME=/path says where),switched \
    off by CUDA=0)
GPU_CODE = $(filter sm_% compute_%,$(subst code=, ,$(subst ], ,$(subst [, ,$(subst $(COMMA), ,$(subst arch=compute_,,$(NVCC_GENCODE)))))))
define FEATURES
$(call feature,$(filter 1,$(WITH_CUDA)),CUDA,$(if $(filter 1,$(WITH_CUDA)),$(CUDA_FOUND),$(CUDA_MISSING))); \
$(if $(filter 1,$(WITH_CUDA)),$(call feature,1,GPU code,$(GPU_CODE) (GENCODE= overrides));) \
$(call feature,$(CJSON_LIBS),cJSON,$(or $(strip $(CJSON_LIBS)),not found: run make setup) (CJSON_CFLAGS= and CJSON_LIBS= \
    override)); \
$(if $(SANITIZE),$(call feature,1,sanitize,$(SANITIZE)),:)
endef

# What a kernel outside of this tree is built with, and the scripts that need no clone.
PUBLIC_HEADERS := kernels/host_device.h kernels/input.h kernels/plugin.h kernels/status.h kernels/variant.h
PUBLIC_PROBLEM := $(addprefix kernels/problem/,attention.h batch.h blocks.h dtype.h dtypes.def mask.h pages.h place.h \
                    sequence.h sparse.h tensor.h)
PUBLIC_SCRIPTS := scripts/export_triton.py scripts/profile_sweep.py scripts/sdpa_baseline.py scripts/bisect.sh
INCLUDE = $(DESTDIR)$(PREFIX)/include/attnbench/kernels
SHARE = $(DESTDIR)$(PREFIX)/share/attnbench
MAN = $(DESTDIR)$(PREFIX)/share/man/man1
COMPLETIONS = $(DESTDIR)$(PREFIX)/share/bash-completion/completions
ZSH_COMPLETIONS = $(DESTDIR)$(PREFIX)/share/zsh/site-functions
FISH_COMPLETIONS = $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d
PKGCONFIG = $(DESTDIR)$(PREFIX)/share/pkgconfig
GENERATED = '$(MAN)/attnbench.1' '$(COMPLETIONS)/attnbench' '$(ZSH_COMPLETIONS)/_attnbench' \
  '$(FISH_COMPLETIONS)/attnbench.fish' '$(PKGCONFIG)/attnbench.pc'
# Folders stand in quotes: DESTDIR may hold blanks.
copy = install -d '$(1)' && install -m $(if $(3),$(3),644) $(2) '$(1)'

## install: copy program, sweeps, schemas, pages, headers, example and scripts under PREFIX (DESTDIR is put before it)
install: all
	$(call copy,$(DESTDIR)$(PREFIX)/bin,attnbench,755)
	$(call copy,$(SHARE)/shapes,$(wildcard shapes/*))
	$(call copy,$(SHARE)/schema,$(wildcard results/*.schema.json))
	$(call copy,$(SHARE)/example,$(wildcard kernels/example/*))
	scripts/build/install_pages.sh '$(SHARE)/doc'
	$(call copy,$(SHARE)/scripts,$(PUBLIC_SCRIPTS),755)
	$(call copy,$(SHARE)/scripts/lib,$(wildcard scripts/lib/*.py))
	$(call copy,$(SHARE)/scripts/python,$(wildcard scripts/python/*.*))
	$(call copy,$(SHARE)/scripts/python/attnbench,$(wildcard scripts/python/attnbench/*.py))
	$(call copy,$(INCLUDE),$(PUBLIC_HEADERS))
	$(call copy,$(INCLUDE)/problem,$(PUBLIC_PROBLEM))
	$(call copy,$(INCLUDE)/tiles,kernels/tiles/tensor_map.cuh)
	install -d '$(MAN)' '$(COMPLETIONS)' '$(ZSH_COMPLETIONS)' '$(FISH_COMPLETIONS)' '$(PKGCONFIG)'
	./attnbench generate man >'$(MAN)/attnbench.1'
	./attnbench generate bash >'$(COMPLETIONS)/attnbench'
	./attnbench generate zsh >'$(ZSH_COMPLETIONS)/_attnbench'
	./attnbench generate fish >'$(FISH_COMPLETIONS)/attnbench.fish'
	printf 'Name: attnbench\nDescription: headers for kernels that attnbench loads\nVersion: %s\nCflags: -I%s\n' \
	  '$(VERSION)' '$(PREFIX)/include/attnbench' >'$(PKGCONFIG)/attnbench.pc'
	chmod 644 $(GENERATED) # whatever the umask is

## uninstall: remove what install copied
uninstall:
	rm -f '$(DESTDIR)$(PREFIX)/bin/attnbench' $(GENERATED)
	rm -rf '$(SHARE)' '$(DESTDIR)$(PREFIX)/include/attnbench'

## clean: remove everything that was built
clean:
	rm -rf build attnbench compile_commands.json

## help: this list
help:
	@printf 'usage: make [target] [switches]\n\ntargets:\n'
	@LC_ALL=C sed -n 's/^## \([a-z-]*\): \(.*\)/  \1\t\2/p' Makefile | expand -t 22
	@printf '\nswitches:\n'
	@printf '  %-19s %s\n' 'CUDA=auto|0|1' 'use nvcc when found, never, or insist (default auto)' \
	  'GENCODE=native' 'build for the GPU of this machine only (default: all; or flags of nvcc)' \
	  'NVCC=, CC=, CXX=' 'compilers' 'CFLAGS=, NVCCFLAGS=' 'optimisation and debug flags' \
	  'DEBUG=1' 'no optimisation, full debug information' \
	  'SANITIZE=LIST' 'address,undefined or thread' 'WERROR=0' 'do not stop at warnings' 'V=1' 'print every command'

print-%:
	@printf '%s\n' '$($*)'

gpu-programs: $(BUILD)/attnbench $(FAULTY) $(EXAMPLES) $(PLUGINS)
# Slow to build, and of use with a GPU alone.
slowed: $(BUILD)/attnbench $(BUILD)/tests/slowed.so
	@printf '%s\n' $(BUILD)/tests/slowed.so
# Builds of attnbench with other link orders, and with unused kernels in OTHER_SOURCES (scripts/proof/build_bias.py).
builds: $(OTHER_BUILDS)
	@printf '%s\n' $^
test-programs: gpu-programs $(UNITS) $(EMULATED)
# With SANITIZE=fuzzer-no-link,...: scripts/build/fuzz.sh says how.
fuzz-programs: $(FUZZERS)

# ---- rules ------------------------------------------------------------------------------------------------------

# Made once per configuration, before any object: says what is being built, and stops when that cannot work.
$(BUILD)/.config:
	@$(FEATURES)
ifeq ($(CUDA)$(WITH_CUDA),10)
	@printf '%s\n' 'error: CUDA=1, but $(CUDA_WHY).' \
	  '  Install the CUDA toolkit $(CUDA_MINIMUM) or newer (https://developer.nvidia.com/cuda-downloads) and name it with' \
	  '  CUDA_HOME=/path/to/cuda, or build without GPU kernels: make CUDA=0' >&2; exit 1
endif
ifeq ($(strip $(CJSON_LIBS)),)
	@printf '%s\n' 'error: cJSON was not found through "$(PKG_CONFIG) libcjson".' \
	  '  Run: make setup    or: apt-get install pkg-config libcjson-dev' \
	  '  Elsewhere: make CJSON_CFLAGS=-I/path/include CJSON_LIBS="-L/path/lib -lcjson"' >&2; exit 1
endif
	@mkdir -p $(sort $(dir $(OBJECTS) $(UNITS)) $(BUILD)/gen $(BUILD)/tests/faults)
	@touch $@

$(BUILD)/%.c.o: %.c | $(BUILD)/.config
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(C_ALL) -MMD -MP -c $< -o $@

$(BUILD)/kernels/%: private EXTRA_CFLAGS = $(KERNEL_CFLAGS)
$(BUILD)/tests/%: private EXTRA_CFLAGS = $(TEST_CFLAGS)

ifeq ($(WITH_CUDA),1)
# ptxas reports to the .ptxas file beside the object, which feeds the resource table and the spill check. What is not
# a plain resource line is shown.
PTXAS_PLAIN := ^ptxas info *: ([0-9]+ bytes gmem|Compiling|Function prop|Used|Compile time)|bytes stack frame
define COMPILE_CU
$(call say,NVCC,$<)
$(Q)mkdir -p $(@D)
$(Q)$(NVCC) $(NVCC_ALL) -MMD -MP -MF $(@:.o=.d) -MT $@ -c $< -o $@ 2>$(@:.o=.ptxas); status=$$?; \
grep -vE '$(PTXAS_PLAIN)' $(@:.o=.ptxas) >&2; exit $$status
endef
else
# The descriptor and the plan of a GPU variant are plain C++; its kernels are behind __CUDACC__.
define COMPILE_CU
$(call say,CXX,$<)
$(Q)mkdir -p $(@D)
$(Q)$(CXX) $(CXX_ALL) -MMD -MP -x c++ -c $< -o $@
endef
endif
$(BUILD)/%.cu.o: %.cu | $(BUILD)/.config
	$(COMPILE_CU)

# 800,900 for code=sm_80 and code=sm_90a; empty where GENCODE names no machine code in this way (-arch=native). A file has
# it, since nvcc ends a -D at a comma.
MACHINE_CODE = $(subst $(SPACE),$(COMMA),$(patsubst sm_%,%0,$(subst a,,$(subst f,,$(filter sm_%,$(GPU_CODE))))))
$(BUILD)/gen/machine_code.inc: Makefile | $(BUILD)/.config
	$(Q)echo '$(or $(MACHINE_CODE),__CUDA_ARCH_LIST__),' >$@
$(BUILD)/kernels/cuda/backend.cu.o: $(BUILD)/gen/machine_code.inc

$(BUILD)/gen/kernel_resources.c: $(VARIANT_OBJECTS)
$(FAULTY_RESOURCES).c: $(VARIANT_OBJECTS) $(FAULT_KERNELS)
$(BUILD)/gen/kernel_resources.c $(FAULTY_RESOURCES).c: scripts/build/kernel_resources.sh | $(BUILD)/.config
	$(call say,TABLE,$@)
	$(Q)scripts/build/kernel_resources.sh --c $(if $(filter 1,$(WITH_CUDA)),$(patsubst %.o,%.ptxas,$(filter %.o,$^))) >$@

$(BUILD)/gen/kernel_resources.o $(FAULTY_RESOURCES).o: %.o: %.c
	$(Q)$(CC) $(C_ALL) -MMD -MP -c $< -o $@

$(FAULTY_REGISTRY): kernels/registry.c tests/faults.def | $(BUILD)/.config
	$(call say,CC,$< with tests/faults.def)
	$(Q)$(CC) $(C_ALL) '-DATTN_EXTRA_VARIANTS="tests/faults.def"' -MMD -MP -c $< -o $@

# Rewritten only when it changes, so that an unchanged tree relinks nothing.
VERSION_HEADER := $(BUILD)/gen/version_data.h
$(VERSION_HEADER): FORCE | $(BUILD)/.config
	@commit=unknown; \
	if [ -e .git ] && short=$$(git rev-parse --short HEAD 2>/dev/null); then \
	  commit=$$short; git diff --quiet HEAD -- 2>/dev/null || commit=$$short+dirty; \
	fi; \
	printf '#define ATTNBENCH_VERSION "%s"\n#define ATTNBENCH_GIT_COMMIT "%s"\n' '$(VERSION)' "$$commit" >$@.new; \
	if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi
$(call object,cli/base/version.c): $(VERSION_HEADER)

# Files that are a part of the program, as numbers that the source behind the colon includes.
PARTS := cli/page/style.css:page/page cli/page/script.js:page/page cli/measure/callable.py:measure/callable \
  cli/measure/interpreter.py:measure/callable $(foreach s,bash zsh fish,cli/options/completion.$s:options/generate)
define PART
$(BUILD)/gen/$(notdir $1).inc: $1 Makefile | $(BUILD)/.config
	$$(Q)od -An -v -tu1 $$< | sed 's/[0-9][0-9]*/&,/g' >$$@
$(call object,cli/$2.c): $(BUILD)/gen/$(notdir $1).inc
endef
$(foreach p,$(PARTS),$(eval $(call PART,$(firstword $(subst :, ,$p)),$(lastword $(subst :, ,$p)))))

define LINK
$(call say,LINK,$@)
$(Q)$(CXX) $(LD_ALL) $(filter %.o,$^) $(LIBS_ALL) $(LINK_EXTRA) -o $@
endef

# A source that was added or removed changes these lists, and so what is made of them.
OBJECT_LIST := $(BUILD)/gen/objects.txt
UNIT_LIST := $(BUILD)/gen/units.def
FUZZ_LIST := $(BUILD)/gen/fuzz.def
$(OBJECT_LIST): private LIST = $(sort $(OBJECTS) $(FAULTY_OBJECTS))
$(UNIT_LIST): private LIST = $(patsubst %,'UNIT(%)',$(notdir $(UNITS)))
$(FUZZ_LIST): private LIST = $(patsubst %,'FUZZ(%)',$(notdir $(FUZZ_SOURCES:.c=)))
$(OBJECT_LIST) $(UNIT_LIST) $(FUZZ_LIST): FORCE | $(BUILD)/.config
	@printf '%s\n' $(LIST) >$@.new; if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

$(BUILD)/attnbench: $(OBJECTS) $(OBJECT_LIST)
	$(LINK)

# tests/faults/cards.c stands before these.
$(BUILD)/attnbench-faulty: private LINK_EXTRA = \
    $(addprefix -Wl$(COMMA)--wrap=,device_open device_count bench_bind bench_launch)
$(BUILD)/attnbench-faulty: $(FAULTY_OBJECTS) $(OBJECT_LIST)
	$(LINK)

$(call object,tests/units.c): $(UNIT_LIST)
$(call object,tests/fuzz/replay.c): $(FUZZ_LIST)
$(BUILD)/tests/units: private LINK_EXTRA = $(CMOCKA_LIBS)
$(BUILD)/tests/units: $(call object,tests/units.c tests/fuzz/replay.c $(UNIT_SOURCES) $(UNIT_CU_SOURCES) $(FUZZ_SOURCES)) $(LIB_OBJECTS) $(OBJECT_LIST)
	$(LINK)
$(UNITS): $(BUILD)/tests/units
	$(Q)ln -sf $(<F) $@

$(FUZZERS): private LINK_EXTRA = -fsanitize=fuzzer
$(FUZZERS): $(BUILD)/tests/fuzz/%: $(BUILD)/tests/fuzz/%.c.o $(LIB_OBJECTS) $(OBJECT_LIST)
	$(LINK)

# Objects for --load. -Bsymbolic: what they define is theirs, whatever attnbench has of the same name.
define LINK_SHARED
$(call say,LINK,$@)
$(Q)$(CXX) -shared -Wl,-Bsymbolic $(LDFLAGS) $(SANITIZE_FLAGS) $(filter %.o,$^) $(1) -o $@
endef

$(EXAMPLE_OBJECTS): private CXX_ALL += -fPIC
$(EXAMPLE_OBJECTS): private NVCC_ALL += -Xcompiler -fPIC
$(EXAMPLES): $(BUILD)/%.so: $(BUILD)/kernels/example/%.cu.o
	$(call LINK_SHARED,$(if $(filter 1,$(WITH_CUDA)),$(CUDA_LIBS) -ldl -lpthread))

$(BUILD)/tests/plugins/%: private C_ALL += -fPIC
$(PLUGINS): %.so: %.c.o
	$(call LINK_SHARED)

# Our kernels for Hopper on an emulated GPU (tests/emulated): a C++ compiler takes them as CUDA, with the toolkit's
# headers. Where an include path has a header of that folder, it stands before the one of the same name here.
EMULATED_OBJECTS := $(addprefix $(BUILD)/emulated/,$(addsuffix .cu.o,kernels/variants/wgmma kernels/variants/wgmma_general \
    kernels/variants/wgmma_paged kernels/variants/wgmma_fp8 kernels/variants/decode_general kernels/variants/mla \
    tests/emulated/emulator tests/emulated/plugin tests/emulated/reference))
# Most of the time goes into the emulator, and -O2 takes three times as long to compile.
$(BUILD)/emulated/%.cu.o: private CXXFLAGS = -Og
$(BUILD)/emulated/tests/%.cu.o: private CXXFLAGS = -O3
$(BUILD)/emulated/%.cu.o: private CPPFLAGS_ALL := -Itests/emulated $(CPPFLAGS_ALL) -isystem $(abspath $(dir $(NVCC))../include)
$(BUILD)/emulated/%.cu.o: private WARN_CXX += -Wno-unknown-pragmas -Wno-parentheses -Wno-psabi -Wno-shadow -Wno-unused-parameter
$(BUILD)/emulated/kernels/%.cu.o: private CPPFLAGS_ALL += -include tests/emulated/cuda.cuh
$(BUILD)/emulated/%.cu.o: %.cu | $(BUILD)/.config
	$(call say,CXX,$<, emulated)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) $(CXX_ALL) -fPIC -MMD -MP -x c++ -c $< -o $@
$(BUILD)/tests/emulated.so: $(EMULATED_OBJECTS)
	$(call LINK_SHARED)
-include $(EMULATED_OBJECTS:.o=.d)

# Some of our kernels with a spin at their end (tests/slowed/plugin.cu): their sources, but for one line in each kernel.
SLOWED_SOURCES := $(addprefix $(BUILD)/slowed/,kernels/tiles/attn_params.cuh kernels/tiles/wgmma_tile.cuh \
    $(SLOWED_NAMES:%=kernels/variants/%.cu))
SLOWED_OBJECTS := $(SLOWED_NAMES:%=$(BUILD)/slowed/kernels/variants/%.cu.o) $(BUILD)/tests/slowed/plugin.cu.o
$(SLOWED_SOURCES): $(BUILD)/slowed/%: % tests/slowed/slow.sh | $(BUILD)/.config
	$(Q)mkdir -p $(@D)
	$(Q)tests/slowed/slow.sh $< >$@
$(SLOWED_OBJECTS): $(SLOWED_SOURCES) tests/slowed/guard.cuh tests/slowed/slowed.def
$(SLOWED_OBJECTS): private CPPFLAGS_ALL := -I$(BUILD)/slowed -include tests/slowed/guard.cuh $(CPPFLAGS_ALL)
$(SLOWED_OBJECTS): private NVCC_ALL += -Xcompiler -fPIC
$(SLOWED_OBJECTS): private CXX_ALL += -fPIC
$(BUILD)/slowed/%.cu.o: $(BUILD)/slowed/%.cu
	$(COMPILE_CU)
$(BUILD)/tests/slowed.so: $(SLOWED_OBJECTS)
	$(call LINK_SHARED,$(if $(filter 1,$(WITH_CUDA)),$(CUDA_LIBS) -ldl -lpthread))

# Build N has its objects in an order drawn from N, and N kernels that nobody calls in OTHER_SOURCES.
SAME_OBJECTS := $(filter-out $(call object,$(OTHER_SOURCES)),$(OBJECTS))
define OTHER_BUILD
$(BUILD)/builds/$1/%.cu.o: private CPPFLAGS_ALL += -DATTN_UNUSED_KERNELS=$1 -include tests/builds/unused.cuh
$(BUILD)/builds/$1/%.cu.o: %.cu tests/builds/unused.cuh | $(BUILD)/.config
	$$(COMPILE_CU)
$(BUILD)/builds/$1/attnbench: $(OTHER_SOURCES:%=$(BUILD)/builds/$1/%.o) $(SAME_OBJECTS) $(OBJECT_LIST)
	$$(call say,LINK,$$@)
	$$(Q)yes $1 | head -c 65536 >$$(@D)/order
	$$(Q)$$(CXX) $$(LD_ALL) $$$$(printf '%s\n' $$(filter %.o,$$^) | shuf --random-source=$$(@D)/order) $$(LIBS_ALL) -o $$@
endef
$(foreach n,$(OTHER_NUMBERS),$(eval $(call OTHER_BUILD,$n)))
-include $(wildcard $(OTHER_NUMBERS:%=$(BUILD)/builds/%/kernels/variants/*.d))

.SECONDARY:
-include $(EXAMPLE_OBJECTS:.o=.d) $(PLUGINS:.so=.c.d)
-include $(patsubst %.o,%.d,$(OBJECTS) $(FAULTY_OBJECTS) $(call object,tests/units.c $(UNIT_SOURCES) $(UNIT_CU_SOURCES) $(FUZZ_SOURCES) tests/fuzz/replay.c))
