# Makefile - builds luaheap, tests it and installs it. `make help` lists the targets.
#
# One tree of objects for each variant, all with the same shape, so that a test runs on any of them:
#
#     build/        release: libluaheap.a, heap.so, bin/
#     build/test/   for the C tests: with -DLH_TEST_ALLOC, so that an allocation can be made to fail
#     build/asan/   the same under AddressSanitizer and UndefinedBehaviorSanitizer
#
# What a target needs from Debian is listed, checked and installed by .ci/packages.

PREFIX = /usr/local
DESTDIR =
CC = gcc
AR = ar
PKG_CONFIG = pkg-config
LUA = lua5.4
BUSTED = busted
SIZES = 0.2 1 10

CFLAGS = -O2 -g
WARNINGS = -Wall -Wextra -Wshadow -Wconversion $(if $(WERROR),-Werror)
BASE_CFLAGS = -std=c11 -D_GNU_SOURCE -fPIC -fvisibility=hidden $(WARNINGS)
SANITIZE = -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer

# The writing half of the library: all that heap.so holds. It alone sees Lua's headers.
MODULE_SOURCES = $(wildcard $(addprefix lib/,$(addsuffix .c,base hash layout walk* writer* mark take)))
LIB_SOURCES = $(wildcard lib/*.c)
TOOLS = heaptop heapdiff heappath
TOOL_SOURCES = $(wildcard $(TOOLS:%=cli/%.c))
CLI_SOURCES = $(filter-out $(TOOL_SOURCES),$(wildcard cli/*.c))
TEST_SOURCES = $(wildcard tests/c/test_*.c)
TEST_COMMON = $(filter-out $(TEST_SOURCES) tests/c/lua_%,$(wildcard tests/c/*.c))

TEST_NAMES = $(patsubst tests/c/%.c,%,$(TEST_SOURCES))
# Lua modules in C that only the specs use.
TEST_MODULES = $(patsubst tests/c/%.c,%.so,$(wildcard tests/c/lua_*.c))
BUILT = $(if $(wildcard lua/heap.c),heap.so) $(TOOL_SOURCES:cli/%.c=bin/%) $(TEST_MODULES:%=tests/%)

# Asked for when a recipe runs, since `make packages` may have to install them first.
LUA_NAME = $(firstword $(shell for n in lua5.4 lua-5.4 lua54 lua; do \
  $(PKG_CONFIG) --exists "$$n >= 5.4 $$n < 5.5" 2>/dev/null && echo $$n; done))
LUA_CFLAGS = $(shell $(PKG_CONFIG) --cflags $(LUA_NAME))
LUA_LIBS = $(shell $(PKG_CONFIG) --libs $(LUA_NAME))
LIB_CFLAGS = $(shell $(PKG_CONFIG) --cflags libcgraph)
CLI_CFLAGS = $(shell $(PKG_CONFIG) --cflags jansson smartcols)
LIB_LIBS = $(shell $(PKG_CONFIG) --libs libcgraph) -lm
CLI_LIBS = $(shell $(PKG_CONFIG) --libs jansson smartcols) $(LIB_LIBS)
TEST_LIBS = $(shell $(PKG_CONFIG) --libs cmocka) $(LUA_LIBS) $(LIB_LIBS) -ldl

.DELETE_ON_ERROR:
.SUFFIXES:
.PHONY: all help needs packages demo test bench check-asan check-seams lint install uninstall clean \
  test-built asan-built

all: build/libluaheap.a $(filter-out build/tests/%,$(BUILT:%=build/%))

needs:
	@.ci/packages --check build

packages:
	@.ci/packages build test

# variant <root> <extra flags>: the rules for one tree.
define variant
$(1)/lib/%.o: lib/%.c | needs
	@mkdir -p $$(@D)
	$$(CC) $$(BASE_CFLAGS) $$(CFLAGS) $(2) $$(CPPFLAGS) \
	  $$(if $$(filter $$<,$$(MODULE_SOURCES)),$$(LUA_CFLAGS),$$(LIB_CFLAGS)) -MMD -MP -c -o $$@ $$<

$(1)/lua/%.o: lua/%.c | needs
	@mkdir -p $$(@D)
	$$(CC) $$(BASE_CFLAGS) $$(CFLAGS) $(2) $$(CPPFLAGS) -Ilib $$(LUA_CFLAGS) -MMD -MP -c -o $$@ $$<

$(1)/cli/%.o: cli/%.c | needs
	@mkdir -p $$(@D)
	$$(CC) $$(BASE_CFLAGS) $$(CFLAGS) $(2) $$(CPPFLAGS) -Ilib $$(CLI_CFLAGS) -MMD -MP -c -o $$@ $$<

$(1)/tests/c/%.o: tests/c/%.c | needs
	@mkdir -p $$(@D)
	$$(CC) $$(BASE_CFLAGS) $$(CFLAGS) $(2) $$(CPPFLAGS) -Ilib $$(LUA_CFLAGS) -MMD -MP -c -o $$@ $$<

$(1)/libluaheap.a: $$(LIB_SOURCES:%.c=$(1)/%.o)
	rm -f $$@
	$$(AR) rcs $$@ $$^

# Linked to libc only: the lua_* functions are the host's. nodelete: Lua's finalizers may outlive dlclose.
$(1)/heap.so: $(1)/lua/heap.o $$(MODULE_SOURCES:%.c=$(1)/%.o)
	$$(CC) $$(CFLAGS) $(2) $$(LDFLAGS) -shared -Wl,-z,nodelete -Wl,--as-needed -o $$@ $$^

$(1)/bin/%: $(1)/cli/%.o $$(CLI_SOURCES:%.c=$(1)/%.o) $(1)/libluaheap.a
	@mkdir -p $$(@D)
	$$(CC) $$(CFLAGS) $(2) $$(LDFLAGS) -o $$@ $$^ $$(CLI_LIBS)

$(1)/tests/%.so: $(1)/tests/c/%.o
	$$(CC) $$(CFLAGS) $(2) $$(LDFLAGS) -shared -o $$@ $$<

$(1)/tests/%: $(1)/tests/c/%.o $$(TEST_COMMON:%.c=$(1)/%.o) $(1)/libluaheap.a
	$$(CC) $$(CFLAGS) $(2) $$(LDFLAGS) -Wl,--export-dynamic -o $$@ $$^ $$(TEST_LIBS)
endef

$(eval $(call variant,build,))
$(eval $(call variant,build/test,-DLH_TEST_ALLOC))
$(eval $(call variant,build/asan,-DLH_TEST_ALLOC $(SANITIZE)))

.SECONDARY:
-include $(wildcard build/*/*.d build/tests/c/*.d build/test/*/*.d build/test/tests/c/*.d \
  build/asan/*/*.d build/asan/tests/c/*.d)

test: packages
	@$(MAKE) --no-print-directory test-built

test-built: $(BUILT:%=build/%) $(TEST_NAMES:%=build/test/tests/%)
	@BUSTED=$(BUSTED) LUA=$(LUA) tests/run.sh build $(TEST_NAMES:%=build/test/tests/%)

check-asan: packages
	@$(MAKE) --no-print-directory asan-built

asan-built: $(BUILT:%=build/asan/%) $(TEST_NAMES:%=build/asan/tests/%)
	@CC=$(CC) BUSTED=$(BUSTED) LUA=$(LUA) SANITIZED=1 \
	  tests/run.sh build/asan $(TEST_NAMES:%=build/asan/tests/%)

clean:
	rm -rf build
