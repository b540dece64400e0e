# Makefile - builds luaheap, tests it and installs it. `make help` lists the targets.
#
# One tree of objects for each variant, all with the same shape, so that a test runs on any of them:
#
#     build/        release: libluaheap.a, heap.so, bin/
#     build/test/   for the C tests: with -DLH_TEST_ALLOC, so that an allocation can be made to fail
#     build/asan/   the same under AddressSanitizer and UndefinedBehaviorSanitizer
#     build/work/   for tests/hostile/test_work*.c: the library tells how much it does
#     build/release-5.M.N/   the same for another Lua (tests/release.sh)
#
# What a target needs from Debian is listed, checked and installed by .ci/packages.

PREFIX = /usr/local
DESTDIR =
CC = gcc
AR = ar
OBJCOPY = objcopy
PKG_CONFIG = pkg-config
LUA = lua5.4
BUSTED = busted
SIZES = 0.2 1 10
OUTSIDE_SIZES = 0.2 2
SECONDS = 60
FUZZ_SANITIZERS = address,undefined
MINUTES = 10
N ?= 10

CFLAGS ?= -O2 -g
WARNINGS = -Wall -Wextra -Wshadow -Wconversion $(if $(WERROR),-Werror)
BASE_CFLAGS = -std=c11 -D_GNU_SOURCE -fPIC -fvisibility=hidden -fno-semantic-interposition \
  $(WARNINGS)
# What other programs load shows its entries only, and stays, as all must that has functions which
# Lua may call: a finalizer may run after Lua has closed its libraries. Functions are bound when it
# is loaded: the dynamic linker would need 3 KB of a signal handler's stack.
LOADED = -shared -Wl,-z,nodelete,-z,now -Wl,--as-needed -Wl,--version-script=lib/loaded.map
# What is compiled for sanitizers needs lines for their reports, and is compiled in half the time.
# gcc warns of their code, too: of ours other trees are asked.
SANITIZED = -O1 -g1 -fno-omit-frame-pointer -w
SANITIZE = -fsanitize=address,undefined -fno-sanitize-recover=undefined $(SANITIZED)

# What looks into other processes: for one command, and in need of more than libc.
OUTSIDE_SOURCES = $(wildcard lib/outside/*.c)
# What of it knows Lua's structures, and the walk: compiled for each minor release that heapattach
# reads, whatever Lua is here, and joined to one object that shows its table only
# (lib/outside/structure.h).
MIRRORED_SOURCES = $(wildcard lib/mirrored/*.c)
LUA_SOURCES = $(MIRRORED_SOURCES) $(patsubst %,lib/take/%.c,chain layout shot walk walk_proto \
  walk_shared walk_thread writer)
LUAS = 504 505
LIB_SOURCES = $(filter-out $(OUTSIDE_SOURCES) $(MIRRORED_SOURCES),$(wildcard lib/*.c lib/*/*.c))
# The shared library: all but the picture, which needs libcgraph. heap.so: the same and the module.
SHARED_SOURCES = $(filter-out lib/dot.c,$(LIB_SOURCES))
MODULE_C = $(wildcard lua/*.c lua/reader/*.c lua/live/*.c)
MODULE_SOURCES = $(MODULE_C) $(SHARED_SOURCES)
# Rises when a program that is linked to the shared library has to be compiled anew.
SOVERSION = 1
SHARED = libluaheap.so.$(SOVERSION)
# The same, with functions that take snapshots of Lua 5.5, where build/ has those for 5.4.
SHARED_2 = libluaheap5.5.so.$(SOVERSION)
VERSION = $(shell sed -n 's/^.define LH_VERSION "\(.*\)"/\1/p' lib/luaheap.h)
TOOLS = heaptop heapdiff heappath heapprof heapcheck heapsql heapview heapattach
TOOL_SOURCES = $(wildcard $(TOOLS:%=cli/%.c))
D3 = /usr/share/nodejs/d3/dist/d3.min.js
# What the tools share; what only one of them needs is in cli/TOOL/.
CLI_SOURCES = $(filter-out $(TOOL_SOURCES),$(wildcard cli/*.c))
# SQLite's extension, which is a part of these tools, too.
SNAP_SOURCES = $(wildcard cli/heapsnap/*.c)
SQL_TOOLS = heapsql heappath heapview
# objects <tree> <sources>: where they are compiled. The C tests' allocations can fail in two files,
# and the module for Lua 5.5 knows Lua in some; all else they share with the release.
OWN_build/test = lib/base.c lib/parallel.c tests/%
OWN_build/5.5 = lib/take/% lib/track/% lua/%
own = $(filter $(or $(OWN_$(1)),%),$(2))
objects = $(patsubst %.c,$(1)/%.o,$(call own,$(1),$(2))) \
  $(patsubst %.c,build/%.o,$(filter-out $(call own,$(1),$(2)),$(2)))
# tool_objects <tree> <tool>: all that it is made of, but the library.
tool_objects = $(call objects,$(1),$(sort cli/$(2).c $(wildcard cli/$(2)/*.c) $(CLI_SOURCES) \
  $(if $(filter $(2),$(SQL_TOOLS)),$(SNAP_SOURCES) cli/heapsql/query.c) \
  $(if $(filter $(2),heapview),cli/heapprof/boxes.c)))
TEST_SOURCES = $(wildcard tests/*/test_*.c)
TEST_COMMON = $(filter-out tests/common/lua_%,$(wildcard tests/common/*.c))

# Tests of a tree of their own: what they ask is compiled so that its work is counted.
WORK_TESTS = test_work test_work_profiles
TEST_NAMES = $(filter-out $(WORK_TESTS),$(basename $(notdir $(TEST_SOURCES))))
# Tests that make the system fail (tests/common/faults.h), and the calls that go through them.
WRAPPED = access close fcntl fstatat fsync fstatfs linkat open openat renameat sendfile \
  syscall write
WRAPPING_TESTS = test_background test_faults test_kill test_profile_counts \
  test_profile_writer test_room test_shared
# Those with heap.so's own code in them.
READER_TESTS = test_corpus test_memory test_reader_memory
# Of lib/outside, placed in memory as the command is.
OUTSIDE_TESTS = $(basename $(notdir $(wildcard tests/outside/test_*.c)))
# Lua modules in C that only the specs use.
TEST_MODULES = $(patsubst tests/common/%.c,%.so,$(wildcard tests/common/lua_*.c))
BUILT = heap.so heap/dot.so heap/reader_rows_meta.lua heapsnap.so $(TOOLS:%=bin/%) \
  $(TOOLS:%=man/%.1) $(TOOLS:%=completions/%.bash) $(TOOLS:%=completions/_%) \
  $(TEST_MODULES:%=tests/%) tests/ask_view tests/heapattach tests/epoll_host \
  tests/prefix_host tests/prefork_host tests/fleet_host

# Asked for when a recipe runs, since `make packages` may have to install them first.
# lua_of <release>: pkg-config's name for it.
lua_of = $(firstword $(shell for n in lua$(1) lua-$(1) lua$(subst .,,$(1)) lua; do \
  $(PKG_CONFIG) --exists "$$n >= $(1) $$n < $(1).99" 2>/dev/null && echo $$n; done))
LUA_RELEASE = $(if $(call lua_of,5.4),5.4,5.5)
LUA_NAME = $(call lua_of,$(LUA_RELEASE))
# Where both releases are installed, the module is built for 5.5, too.
SECOND := $(and $(call lua_of,5.4),$(call lua_of,5.5))
LUA_CFLAGS = $(shell $(PKG_CONFIG) --cflags $(LUA_NAME))
LUA_LIBS = $(shell $(PKG_CONFIG) --libs $(LUA_NAME))
LIB_CFLAGS = $(shell $(PKG_CONFIG) --cflags libcgraph)
CLI_CFLAGS = $(shell $(PKG_CONFIG) --cflags jansson sqlite3 libmicrohttpd libgvc)
LIB_LIBS = $(shell $(PKG_CONFIG) --libs libcgraph) -lm
CLI_LIBS = $(LIB_LIBS)
SQL_LIBS = $(shell $(PKG_CONFIG) --libs sqlite3)
# Where heapattach's code and heap are: addresses at which no target has any. Libraries and PIE
# programs are above 0x2aaaaaaab000; others count up from 0x400000, for gigabytes if need be. So it
# is compiled as for PIE, and linked as none. (A kernel for aarch64 may have only 2^39 addresses.)
PLACE_AT = $(if $(findstring aarch64,$(shell $(CC) -dumpmachine)),0x1000000000,0x180000000000)
PLACE = -pie -Wl,-no-pie,--no-relax,-Ttext-segment=$(PLACE_AT)
OUTSIDE_LIBS = $(shell $(PKG_CONFIG) --libs libelf liblzma) -pthread
# Graphviz keeps its plugins in a folder that the linker does not know.
PLUGINS = $(shell $(PKG_CONFIG) --variable=libdir libgvc)/graphviz
VIEW_LIBS = $(shell $(PKG_CONFIG) --libs jansson libmicrohttpd libgvc zlib) -L$(PLUGINS) \
  -Wl,-rpath,$(PLUGINS) -lgvplugin_dot_layout -lgvplugin_core -pthread
TEST_LIBS = $(shell $(PKG_CONFIG) --libs cmocka) $(LUA_LIBS) $(LIB_LIBS) -ldl

# A build names each folder that it makes; V=1 shows the commands.
Q = $(if $(V),,@)
FOLDER = [ -d $(@D) ] || { mkdir -p $(@D) && echo "  $(@D)/"; }

.DELETE_ON_ERROR:
.SUFFIXES:
.SECONDEXPANSION:
.PHONY: all help needs packages browser demo test bench fuzz fuzz-corpus check-asan check-seams \
  lint test-release install uninstall clean test-built asan-built tsan-built release-built \
  soak-built bench-built demo-built pictures pictures-built lint-gcc lint-clang documents rock \
  install-rock deb dist

all: build/libluaheap.a build/$(SHARED) $(filter-out build/tests/%,$(BUILT:%=build/%)) \
  $(if $(SECOND),build/5.5/heap.so build/5.5/heap/dot.so build/5.5/$(SHARED_2))
documents: $(TOOLS:%=build/man/%.1) $(TOOLS:%=build/completions/%.bash)

NEEDED = build
needs:
	@.ci/packages --check $(NEEDED)

packages:
	@.ci/packages build test

# For the specs of pages, which skip where it cannot be had.
browser: packages
	@.ci/packages browser || echo "without a browser no pages are tried"

# for_lua <root> <extra flags> <LH_LUA>
define for_lua

$(1)/lua$(3)/%.o: %.c | needs
	@$$(FOLDER)
	$$(Q)$$(CC) $$(BASE_CFLAGS) -Wmissing-prototypes $$(CFLAGS) $(2) -fno-lto $$(CPPFLAGS) -Ilib \
	  -DLH_LUA=$(3) -MMD -MP -c -o $$@ $$<

$(1)/lua$(3).o: $(LUA_SOURCES:%.c=$(1)/lua$(3)/%.o)
	$$(Q)$$(CC) -nostdlib -r -o $$@ $$^
	$$(Q)$$(OBJCOPY) --keep-global-symbol=lh_lua_$(3) $$@

endef

# variant <root> <extra flags>: the rules for one tree. Each function of the library sees its
# declaration: the shared library shows those of lib/luaheap.h.
define variant
$(foreach lua,$(LUAS),$(call for_lua,$(1),$(2),$(lua)))
$(1)/lib/%.o: lib/%.c | needs
	@$$(FOLDER)
	$$(Q)$$(CC) $$(BASE_CFLAGS) -Wmissing-prototypes $$(CFLAGS) $(2) $$(CPPFLAGS) -Ilib \
	  $$(if $$(filter lib/take/% lib/track/%,$$<),$$(LUA_CFLAGS),$$(LIB_CFLAGS)) \
	  $$(if $$(filter lib/mirrored/%,$$<),-DLH_LUA=505) \
	  -MMD -MP -c -o $$@ $$<

$(1)/lua/%.o: lua/%.c | needs
	@$$(FOLDER)
	$$(Q)$$(CC) $$(BASE_CFLAGS) $$(CFLAGS) $(2) $$(CPPFLAGS) -Ilib -Ilua $$(LUA_CFLAGS) \
	  -MMD -MP -c -o $$@ $$<

$(1)/cli/%.o: cli/%.c | needs
	@$$(FOLDER)
	$$(Q)$$(CC) $$(BASE_CFLAGS) $$(CFLAGS) $(2) $$(CPPFLAGS) -Ilib -Icli $$(CLI_CFLAGS) \
	  -MMD -MP -c -o $$@ $$<

# What is tested is optimised as it will be. What tests it is compiled in half the time, and what
# tests it under AddressSanitizer in half of that.
$(1)/tests/%.o: tests/%.c | needs
	@$$(FOLDER)
	$$(Q)$$(CC) $$(BASE_CFLAGS) $$(CFLAGS) $(2) $(if $(filter %/asan,$(1)),-O0,-O1) $$(CPPFLAGS) \
	  -Ilib -Icli -Ilua -Itests/common \
	  $$(LUA_CFLAGS) $$(LIB_CFLAGS) $$(if $$(filter tests/heapview/%,$$<),$$(CLI_CFLAGS)) -MMD -MP \
	  -c -o $$@ $$<

$(1)/libluaheap.a: $(call objects,$(1),$(LIB_SOURCES))
	@rm -f $$@
	$$(Q)$$(AR) rcs $$@ $$^

$(1)/liboutside.a: $(call objects,$(1),$(OUTSIDE_SOURCES)) \
  $(LUAS:%=$(if $(filter build/test,$(1)),build,$(1))/lua%.o)
	@rm -f $$@
	$$(Q)$$(AR) rcs $$@ $$^

# Linked to libc only: the lua_* functions are the host's.
$(1)/heap.so: $(call objects,$(1),$(MODULE_SOURCES))
	$$(Q)$$(CC) $$(CFLAGS) $(2) $$(LDFLAGS) $$(LOADED) -o $$@ $$^

# What the columns of answers mean, for editors and in manual pages; and the completions of options.
$(1)/generate/columns: $(1)/lua/generate/columns.o \
  $$(SHARED_SOURCES:%.c=$(1)/%.o)
	@$$(FOLDER)
	$$(Q)$$(CC) $$(CFLAGS) $(2) $$(LDFLAGS) -o $$@ $$^ -lm
$(1)/heap/reader_rows_meta.lua: lua/generate/reader_rows_meta.lua $(1)/generate/columns
	@$$(FOLDER)
	$$(Q)$(1)/generate/columns $$< >$$@
$(1)/man/%.1: cli/man/%.1 $(1)/generate/columns $(wildcard cli/man/shared/*)
	@$$(FOLDER)
	$$(Q)$(1)/generate/columns $$< >$$@

$(1)/generate/heapattach: $(1)/liboutside.a
$(1)/generate/heapattach: CLI_LIBS += $(1)/liboutside.a $(1)/libluaheap.a $$(OUTSIDE_LIBS)
$$(TOOLS:%=$(1)/generate/%): $(1)/generate/%: $$$$(call tool_objects,$(1),$$$$*) \
  $(1)/cli/generate/completions.o $(1)/libluaheap.a
	@$$(FOLDER)
	$$(Q)$$(CC) $$(CFLAGS) $(2) $$(LDFLAGS) -Wl,--wrap=cli_parse -o $$@ $$(filter %.o,$$^) \
	  $$(filter %.a,$$^) $$(CLI_LIBS) $$(SQL_LIBS) $$(VIEW_LIBS)
$(1)/completions/%.bash $(1)/completions/_%: $(1)/generate/%
	@$$(FOLDER)
	$$(Q)for file in $$*.bash _$$*; do $$< $$$$file >$$(@D)/$$$$file || exit; done

# What of it needs libcgraph: loaded when heap.dot is first called.
$(1)/heap/dot.so: $(1)/lua/dot/dot.o $(1)/lua/live/caller.o $(1)/libluaheap.a
	@$$(FOLDER)
	$$(Q)$$(CC) $$(CFLAGS) $(2) $$(LDFLAGS) $$(LOADED) -o $$@ $$^ $$(LIB_LIBS)

$$(TOOLS:%=$(1)/bin/%): $(1)/bin/%: $$$$(call tool_objects,$(1),$$$$*) $(1)/libluaheap.a
	@$$(FOLDER)
	$$(Q)$$(CC) $$(CFLAGS) $(2) $$(LDFLAGS) -o $$@ $$(filter %.o,$$^) $$(filter %.a,$$^) $$(CLI_LIBS)

# Loaded where no target's memory is, so that it can have that at its own addresses.
$(1)/bin/heapattach: $(1)/liboutside.a
$(1)/bin/heapattach: LDFLAGS += $(PLACE)
$(1)/bin/heapattach: CLI_LIBS += $(1)/liboutside.a $(1)/libluaheap.a $$(OUTSIDE_LIBS)

$(1)/cli/heapview/page.o: CLI_CFLAGS += -Ibuild/page
$(1)/cli/heapview/page.o: build/page/built_page.h

$$(SQL_TOOLS:%=$(1)/bin/%): CLI_LIBS += $$(SQL_LIBS)
$(1)/tests/ask_view: CLI_LIBS += $$(SQL_LIBS)
$(1)/bin/heapview $(1)/tests/ask_view: CLI_LIBS += $$(VIEW_LIBS)

# SQLite's functions are the host's, as Lua's are for heap.so; of the library it has what it uses.
$(1)/heapsnap.so: $$(SNAP_SOURCES:%.c=$(1)/%.o) $(1)/libluaheap.a
	$$(Q)$$(CC) $$(CFLAGS) $(2) $$(LDFLAGS) $$(LOADED) -o $$@ $$^ -lm

$(1)/tests/%.so: $(1)/tests/common/%.o $(1)/tests/libcommon.a $(1)/libluaheap.a
	$$(Q)$$(CC) $$(CFLAGS) $(2) $$(LDFLAGS) $$(LOADED) -o $$@ $$^ $$(LIB_LIBS)

# heapview without its server, for specs.
$(1)/tests/ask_view: $(1)/tests/heapview/ask_view.o $(1)/libluaheap.a \
  $$(filter-out $(1)/cli/heapview.o %/server.o,$(call tool_objects,$(1),heapview))
	$$(Q)$$(CC) $$(CFLAGS) $(2) $$(LDFLAGS) -o $$@ $$(filter %.o,$$^) $$(filter %.a,$$^) $$(CLI_LIBS)

# heapattach where there is no process.
$(1)/tests/heapattach: $(1)/tests/cli/stand_in.o $(call tool_objects,$(1),heapattach) \
  $(1)/libluaheap.a
	$$(Q)$$(CC) $$(CFLAGS) $(2) $$(LDFLAGS) -o $$@ $$(filter %.o,$$^) $$(filter %.a,$$^) $$(CLI_LIBS)

# What is looked at from outside is built as others build it, without sanitizers.
$(addprefix $(1)/tests/,epoll_host storm_host spy_host forger_host prefix_host \
  prefork_host fleet_host): \
  $(1)/tests/%: tests/outside/%.c | needs
	@$$(FOLDER)
	$$(Q)$$(CC) $$(BASE_CFLAGS) $$(CFLAGS) -include tests/common/any_lua.h $$(LUA_CFLAGS) $$(LDFLAGS) \
	  -o $$@ $$< $$(LUA_LIBS) -pthread -ldl

# An archive, so that a test with fakes in place of the library is linked with no more than it uses.
$(1)/tests/libcommon.a: $$(TEST_COMMON:%.c=$(1)/%.o)
	@rm -f $$@
	$$(Q)$$(AR) rcs $$@ $$^

$$(READER_TESTS:%=$(1)/tests/%): $(call objects,$(1),$(MODULE_C))
$(1)/tests/test_heapsnap: $(call objects,$(1),$(SNAP_SOURCES))
$(1)/tests/test_heapsnap: TEST_LIBS += $$(SQL_LIBS)
$(1)/tests/heapview/%.o: LIB_CFLAGS += $$(CLI_CFLAGS)
$(1)/tests/test_answers: $(filter-out %/heapview.o %/server.o %/browser.o, \
  $(call tool_objects,$(1),heapview))
$(1)/tests/test_answers: TEST_LIBS += $$(CLI_LIBS) $$(SQL_LIBS) $$(VIEW_LIBS)
$(OUTSIDE_TESTS:%=$(1)/tests/%): $(1)/liboutside.a
$(OUTSIDE_TESTS:%=$(1)/tests/%): TEST_LIBS += $(1)/liboutside.a $(1)/libluaheap.a $$(OUTSIDE_LIBS)
# ThreadSanitizer allows no code there. What a test looks at is not placed like that.
$(OUTSIDE_TESTS:%=$(1)/tests/%): private LDFLAGS += $(if $(filter %/tsan,$(1)),,$(PLACE))
$(1)/tests/test_storm: | $(1)/tests/storm_host
$(1)/tests/test_sandbox: | $(1)/tests/spy_host
$(1)/tests/test_asked_work: | $(1)/tests/forger_host
$(1)/tests/test_silent_file: | $(if $(filter %/test %/tsan,$(1)),build,$(1))/bin/heapattach
# Something happens between their requests (tests/common/requests.h).
$(1)/tests/test_signals $(1)/tests/test_killed $(1)/tests/test_storm: \
  TEST_LIBS += -Wl,--wrap=ptrace,--wrap=waitid,--wrap=kill
$(1)/tests/test_signals: TEST_LIBS += -Wl,--wrap=timer_delete
# Whose machine can be without debug registers.
$(1)/tests/test_storm: TEST_LIBS += -Wl,--wrap=lh_can_watch
$(1)/tests/test_log: $(call objects,$(1),lua/log.c)
$(1)/tests/test_log: TEST_LIBS += -Wl,-z,now
$(1)/tests/test_held_up: TEST_LIBS += -Wl,--wrap=nanosleep
$(1)/tests/test_pages: TEST_LIBS += -Wl,--wrap=ioctl
# Who counts what libc is asked for.
$(1)/tests/test_quiet_malloc: TEST_LIBS += -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc \
  -Wl,--wrap=free,--wrap=strdup,--wrap=realpath,--wrap=fopen,--wrap=opendir
$(1)/tests/test_walk_shared: TEST_LIBS += -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc
$(1)/tests/test_states: TEST_LIBS += -Wl,--wrap=process_vm_readv,--wrap=pread,--wrap=clock_gettime
$(1)/tests/test_memory_room: TEST_LIBS += -Wl,--wrap=lh_find_room
$(1)/tests/test_page: $(call objects,$(1),cli/heapview/page.c)
$(1)/tests/test_requests: $(call objects,$(1),cli/heapview/requests.c)
$(1)/tests/test_requests $(1)/tests/test_answer_json: TEST_LIBS += $$(VIEW_LIBS)
$(1)/tests/test_connections: $(call objects,$(1),cli/heapview/connections.c)
$(1)/tests/test_answer_cache: $(call objects,$(1),cli/heapview/answer_cache.c)
# Where files are exchanged between two calls.
$(1)/tests/test_exchanged: TEST_LIBS += -Wl,--wrap=open,--wrap=openat,--wrap=statx,--wrap=syscall
# Where a thread keeps a lock.
$(1)/tests/test_track_threads: TEST_LIBS += -Wl,--wrap=pthread_mutex_unlock
# Who counts how often lines are compared.
$(1)/tests/test_work_profiles: TEST_LIBS += -Wl,--wrap=lh_compare_lines
# Whose clock can be put forward (tests/common/random_program.h).
$(1)/tests/test_profile_counts $(1)/tests/test_profile_writer: \
  TEST_LIBS += -Wl,--wrap=clock_gettime
$$(addprefix $(1)/tests/,$$(TEST_NAMES) $$(WORK_TESTS)): $(1)/tests/%: \
  $$$$(addprefix $(1)/,$$$$(addsuffix .o,$$$$(basename $$$$(wildcard tests/*/$$$$*.c)))) \
  $(1)/tests/libcommon.a $(1)/libluaheap.a
	$$(Q)$$(CC) $$(CFLAGS) $(2) $$(LDFLAGS) -Wl,--export-dynamic -Wl,--no-as-needed \
	  $$(if $$(filter $$(@F),$$(WRAPPING_TESTS)),$$(WRAPPED:%=-Wl,--wrap=%)) -o $$@ \
	  $$(filter %.o,$$^) $$(filter %.a,$$^) $$(TEST_LIBS)
endef

$(eval $(call variant,build,))
$(eval $(call variant,build/rock,))
$(eval $(call variant,build/5.5,))
build/5.5/%: private LUA_CFLAGS = $(shell $(PKG_CONFIG) --cflags $(SECOND))
$(eval $(call variant,build/test,-DLH_TEST_ALLOC))
$(eval $(call variant,build/asan,-DLH_TEST_ALLOC $(SANITIZE)))
RELEASE = build/release
$(eval $(call variant,$(RELEASE),-DLH_TEST_ALLOC))
$(eval $(call variant,build/work,-fsanitize-coverage=trace-pc -g0 -w))
$(eval $(call variant,build/tsan,-fsanitize=thread $(SANITIZED)))
$(eval $(call variant,build/lint-gcc,-DLH_TEST_ALLOC -Werror))
$(eval $(call variant,build/fuzz,-fsanitize=fuzzer-no-link,$(FUZZ_SANITIZERS)))

# heapview's page in one piece, with Debian's d3 inside.
build/page/built_page.h: cli/generate/page.sh $(wildcard cli/heapview/page/*) | needs
	@$(FOLDER)
	$(Q)cli/generate/page.sh cli/heapview/page $(D3) >$@

# For a program that is linked to it; one that only reads snapshots has no Lua (lib/weak_lua.h).
build/$(SHARED): $(SHARED_SOURCES:%.c=build/%.o)
build/5.5/$(SHARED_2): $(call objects,build/5.5,$(SHARED_SOURCES))
build/$(SHARED) build/5.5/$(SHARED_2):
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -shared -Wl,-soname,$(@F) -Wl,-z,nodelete,-z,now -Wl,--as-needed \
	  -Wl,-Bsymbolic-functions -o $@ $^ -lm

.SECONDARY:
-include $(shell find build -name '*.d' 2>/dev/null)

test: browser
	@$(MAKE) --no-print-directory test-built

test-built: all $(BUILT:%=build/%) $(TEST_NAMES:%=build/test/tests/%) \
  $(WORK_TESTS:%=build/work/tests/%)
	@BUSTED=$(BUSTED) LUA=$(LUA) tests/run.sh build $(TEST_NAMES:%=build/test/tests/%) \
	  $(WORK_TESTS:%=build/work/tests/%)

# On another Lua, whose sources are in LUA_DIR.
test-release: browser
	@CC="$(CC)" BUSTED=$(BUSTED) MAKE="$(MAKE)" tests/release.sh "$(LUA_DIR)"

release-built: $(BUILT:%=$(RELEASE)/%) $(TEST_NAMES:%=$(RELEASE)/tests/%)

check-asan: browser
	@$(MAKE) --no-print-directory asan-built

asan-built: $(BUILT:%=build/asan/%) $(TEST_NAMES:%=build/asan/tests/%)
	@CC="$(CC)" BUSTED=$(BUSTED) LUA=$(LUA) SANITIZED=1 \
	  tests/run.sh build/asan $(TEST_NAMES:%=build/asan/tests/%)

# The tests with several threads, under ThreadSanitizer.
THREAD_TESTS = test_threads test_track_threads test_watch_process test_copy test_open_threads \
  test_diff_threads
check-tsan: packages
	@$(MAKE) --no-print-directory tsan-built

tsan-built: $(THREAD_TESTS:%=build/tsan/tests/%) build/tsan/view
	@BUSTED=$(BUSTED) LUA=$(LUA) tests/run.sh --only build/tsan/view \
	  $(THREAD_TESTS:%=build/tsan/tests/%) tests/heapview/server_spec.lua

# A build in which only heapview, whose server has threads, is for ThreadSanitizer.
build/tsan/view: build/tsan/bin/heapview all
	@rm -rf $@ && mkdir -p $@/bin
	@ln -s $(CURDIR)/build/heap.so $(CURDIR)/build/heap $@
	@ln -s $(filter-out %/heapview,$(TOOLS:%=$(CURDIR)/build/bin/%)) $(CURDIR)/$< $@/bin

# A server under load that is looked at every second; in `make test` it runs for seconds. Then the
# tests that repeat themselves, N times as often as in `make test`.
SOAK_TESTS = test_damage test_killed
soak: packages
	@.ci/packages servers || echo "servers that are missing are not tried"
	@$(MAKE) --no-print-directory soak-built MINUTES="$(MINUTES)" N="$(N)"

soak-built: all $(BUILT:%=build/%) $(SOAK_TESTS:%=build/test/tests/%)
	@$(LUA) tests/lua/soak.lua build $$(($(MINUTES) * 60))
	@N=$(N) BUSTED=$(BUSTED) LUA=$(LUA) tests/run.sh --only build \
	  $(SOAK_TESTS:%=build/test/tests/%) tests/outside/soak_spec.lua \
	  tests/hostile/adversarial_spec.lua

check-seams:
	@.ci/packages build seams
	@$(MAKE) --no-print-directory all
	@CC="$(CC)" tests/check_seams.sh build
	@CC="$(CC)" tests/check_seams.sh --self-test

lint:
	@.ci/packages build test lint deb
	+@.ci/lint

# All C, tests included, by both compilers, for .ci/lint. Where all is compiled with WERROR=1, as
# .ci/run does, gcc has been asked by then. clang's warnings need no code.
LINT_SOURCES = $(LIB_SOURCES) $(OUTSIDE_SOURCES) $(MIRRORED_SOURCES) \
  $(wildcard lua/*.c lua/*/*.c cli/*.c cli/*/*.c tests/*/*.c)
lint-gcc: $(if $(WERROR),$(call objects,build/test,$(LINT_SOURCES)), \
  $(LINT_SOURCES:%.c=build/lint-gcc/%.o))
build/lint-gcc/%.o: CC = gcc

lint-clang: $(LINT_SOURCES:%.c=build/lint-clang/%.seen)
build/lint-clang/%.seen: %.c | needs
	@$(FOLDER)
	$(Q)clang -fsyntax-only $(BASE_CFLAGS) $(if $(filter lib/%,$<),-Wmissing-prototypes) -Werror \
	  -DLH_TEST_ALLOC $(CPPFLAGS) -Ilib -Icli -Ilua -Itests/common -Ibuild/page $(LUA_CFLAGS) \
	  $(LIB_CFLAGS) $(CLI_CFLAGS) $(if $(filter lib/mirrored/%,$<),-DLH_LUA=505) \
	  -MMD -MP -MF $(@:seen=d) -MT $@ $< && touch $@
build/lint-clang/cli/heapview/page.seen: build/page/built_page.h

# All targets, SECONDS each, from the committed corpus on; build/fuzz/corpus keeps what reached new
# code, and fuzz-corpus takes from that what adds to the committed one. Without its entropic
# schedule libFuzzer is three times as fast here.
FUZZ = -max_len=4096 -entropic=0 -timeout=20 -rss_limit_mb=1024 -artifact_prefix=build/fuzz/
FUZZ_TARGETS = $(patsubst tests/fuzz/%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
FUZZ_COMMON = tests/fuzz/mutate.o tests/fuzz/draft.o tests/fuzz/lies.o \
  $(patsubst %,tests/common/%.o,ask ask_several read_all forged_file)
# Of the targets for profiles, what heapview is sent and cores, which have their own corpus.
FUZZ_profile = $(patsubst %,tests/common/%.o,ask_profile forged_profile forged_file)
FUZZ_requests = tests/common/ask_request.o cli/heapview/requests.o
FUZZ_core = tests/common/ask_core.o
fuzz_corpus = $(or $(patsubst %/fuzz_profile,profiles,$(filter %/fuzz_profile,$(1))), \
  $(patsubst %/fuzz_requests,requests,$(filter %/fuzz_requests,$(1))), \
  $(patsubst %/fuzz_core,cores,$(filter %/fuzz_core,$(1))),corpus)
fuzz: $(FUZZ_TARGETS:%=build/fuzz/%)
	@mkdir -p $(patsubst %,build/fuzz/%,corpus profiles requests cores)
	$(foreach target,$^,$(target) -max_total_time=$(SECONDS) $(FUZZ) \
	  build/fuzz/$(call fuzz_corpus,$(target)) tests/fuzz/$(call fuzz_corpus,$(target)) &&) true

fuzz-corpus: $(FUZZ_TARGETS:%=build/fuzz/%)
	$(foreach target,$^,$(target) -set_cover_merge=1 -use_counters=0 \
	  tests/fuzz/$(call fuzz_corpus,$(target)) build/fuzz/$(call fuzz_corpus,$(target)) &&) true

build/fuzz/%: CC = clang
build/fuzz/fuzz_reader: $(MODULE_C:%.c=build/fuzz/%.o) build/fuzz/tests/common/ask_reader.o
build/fuzz/fuzz_reader: LIB_LIBS += $(LUA_LIBS)
build/fuzz/fuzz_requests: LIB_LIBS += $(shell $(PKG_CONFIG) --libs jansson)
build/fuzz/fuzz_core: build/fuzz/liboutside.a
build/fuzz/fuzz_core: LIB_LIBS += build/fuzz/liboutside.a build/fuzz/libluaheap.a $(OUTSIDE_LIBS)
build/fuzz/fuzz_%: build/fuzz/tests/fuzz/fuzz_%.o \
  $$(addprefix build/fuzz/,$$(or $$(FUZZ_$$*),$$(FUZZ_COMMON))) build/fuzz/libluaheap.a
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -fsanitize=fuzzer,$(FUZZ_SANITIZERS) -o $@ $(filter %.o,$^) \
	  $(filter %.a,$^) $(LIB_LIBS)

BENCH = LUA_CPATH="build/?.so;build/tests/?.so;;" LUA_PATH="lua/?.lua;;" LUA=$(LUA) $(LUA)
bench: packages
	@$(MAKE) --no-print-directory bench-built SIZES="$(SIZES)" OUTSIDE_SIZES="$(OUTSIDE_SIZES)"

bench-built: all build/tests/bench_read build/tests/lua_bench.so build/tests/lua_heapcheck.so \
  build/tests/lua_families.so
	@$(BENCH) tests/bench/run.lua build $(SIZES)
	@$(BENCH) tests/bench/shapes.lua build
	@$(BENCH) tests/bench/freed.lua
	@$(BENCH) tests/bench/freed.lua build
	@$(BENCH) tests/bench/families.lua build
	@$(BENCH) tests/bench/track.lua build
	@$(BENCH) tests/bench/view.lua build $(SIZES)
	@$(BENCH) tests/bench/outside.lua build $(OUTSIDE_SIZES)
	@$(BENCH) tests/bench/answers.lua build

build/tests/bench_read: build/tests/bench/bench_read.o build/libluaheap.a
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIB_LIBS)

build/tests/lua_bench.so: build/tests/bench/lua_bench.o
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -shared -o $@ $^

demo: packages
	@$(MAKE) --no-print-directory demo-built

demo-built: all
	@LUA=$(LUA) examples/demo.sh build

# Those of the manual, committed: heapview's pages of the examples, in a browser.
pictures: packages browser
	@$(MAKE) --no-print-directory pictures-built

pictures-built: all
	@$(LUA) cli/generate/pictures.lua cli/pictures

# Only what `all` builds and what is in the tree: an install as root compiles nothing that was
# built.
LIBDIR = $(PREFIX)/lib
LUA_C = $(LIBDIR)/lua/$(LUA_RELEASE)
LUA_LUA = $(PREFIX)/share/lua/$(LUA_RELEASE)
LUA_C_2 = $(LIBDIR)/lua/5.5
LUA_LUA_2 = $(PREFIX)/share/lua/5.5
EXTENSION = $(LIBDIR)/luaheap
INCLUDE = $(PREFIX)/include
MAN = $(PREFIX)/share/man/man1
BASH_COMPLETIONS = $(PREFIX)/share/bash-completion/completions
ZSH_COMPLETIONS = $(PREFIX)/share/zsh/site-functions
LUA_FILES = $(wildcard lua/heap/*.lua)

# put <mode> <folder> <files>: the folder is made.
put = install -d $(DESTDIR)$(2) && install -m $(1) $(3) $(DESTDIR)$(2)

# put_module <tree> <tree of the documents> <suffix of LUA_C and LUA_LUA>: what a Lua program needs;
# the picture only where it was built.
define put_module
	$(call put,644,$(LUA_C$(3)),$(1)/heap.so)
	[ ! -f $(1)/heap/dot.so ] || { $(call put,644,$(LUA_C$(3))/heap,$(1)/heap/dot.so); }
	$(call put,644,$(LUA_LUA$(3))/heap,$(LUA_FILES) $(2)/heap/reader_rows_meta.lua)
endef

# put_library <tree> <shared library> <name> <release of Lua>: what a C program is linked to.
define put_library
	install -d $(DESTDIR)$(LIBDIR)/pkgconfig
	install -m 644 $(1)/$(2) $(DESTDIR)$(LIBDIR)
	install -m 644 $(1)/libluaheap.a $(DESTDIR)$(LIBDIR)/lib$(3).a
	ln -sf $(2) $(DESTDIR)$(LIBDIR)/lib$(3).so
	sed -e 's|@PREFIX@|$(PREFIX)|; s|@LIBDIR@|$(LIBDIR:$(PREFIX)/%=$${prefix}/%)|' \
	  -e 's|@VERSION@|$(VERSION)|; s|@NAME@|$(3)|; s|@LUA@|$(4)|' lib/luaheap.pc \
	  >$(DESTDIR)$(LIBDIR)/pkgconfig/$(3).pc
	chmod 644 $(DESTDIR)$(LIBDIR)/pkgconfig/$(3).pc
endef
library_files = $(LIBDIR)/$(1) $(LIBDIR)/lib$(2).a $(LIBDIR)/lib$(2).so $(LIBDIR)/pkgconfig/$(2).pc

# The same files, to be taken away.
module_files = $(LUA_C$(1))/heap.so $(LUA_C$(1))/heap/dot.so \
  $(LUA_FILES:lua/%=$(LUA_LUA$(1))/%) $(LUA_LUA$(1))/heap/reader_rows_meta.lua

install: all
	$(call put_module,build,build)
	$(if $(SECOND),$(call put_module,build/5.5,build,_2))
	$(call put,755,$(PREFIX)/bin,$(TOOLS:%=build/bin/%))
	$(call put,644,$(EXTENSION),build/heapsnap.so)
	$(call put,644,$(INCLUDE),lib/luaheap.h)
	$(call put_library,build,$(SHARED),luaheap,$(LUA_RELEASE))
	$(if $(SECOND),$(call put_library,build/5.5,$(SHARED_2),luaheap5.5,5.5))
	[ -n "$(DESTDIR)" ] || ldconfig 2>/dev/null || true
	$(call put,644,$(MAN),$(TOOLS:%=build/man/%.1))
	for tool in $(TOOLS); do \
	  install -D -m 644 build/completions/$$tool.bash $(DESTDIR)$(BASH_COMPLETIONS)/$$tool && \
	  install -D -m 644 -t $(DESTDIR)$(ZSH_COMPLETIONS) build/completions/_$$tool || exit 1; done

uninstall:
	rm -f $(addprefix $(DESTDIR),$(call module_files) $(call module_files,_2) \
	  $(TOOLS:%=$(PREFIX)/bin/%) $(EXTENSION)/heapsnap.so \
	  $(INCLUDE)/luaheap.h $(call library_files,$(SHARED),luaheap) \
	  $(call library_files,$(SHARED_2),luaheap5.5) $(TOOLS:%=$(MAN)/%.1) \
	  $(TOOLS:%=$(BASH_COMPLETIONS)/%) $(TOOLS:%=$(ZSH_COMPLETIONS)/_%))
	-rmdir $(addprefix $(DESTDIR),$(LUA_C)/heap $(LUA_LUA)/heap $(LUA_C_2)/heap $(LUA_LUA_2)/heap \
	  $(EXTENSION))

# For luarocks: the module, with the picture where libcgraph is there. Nothing of it stays here.
rock: build/rock/heap.so build/rock/heap/reader_rows_meta.lua \
  $$(if $$(shell $$(PKG_CONFIG) --exists libcgraph && echo yes),build/rock/heap/dot.so)

install-rock:
	$(call put_module,build/rock,build/rock)
	rm -rf build/rock
	rmdir --ignore-fail-on-non-empty build

# Debian's packages, in build/deb: lua-heap, luaheap (the commands), libluaheap1, libluaheap-dev.
DEB = build/deb/luaheap-$(VERSION)
deb:
	@.ci/packages build deb
	rm -rf build/deb
	mkdir -p $(DEB)
	cp -r .ci cli lib lua examples Makefile README.md LICENSE $(DEB)
	cp -r .debian $(DEB)/debian
	cd $(DEB) && MAKEFLAGS= WERROR= dpkg-buildpackage -b -us -uc
	lintian --fail-on error,warning build/deb/*.changes

# The sources of this commit, as a release has them.
dist:
	@mkdir -p build
	git archive --prefix=luaheap-$(VERSION)/ -o build/luaheap-$(VERSION).tar.gz HEAD

help:
	@echo "make [all]         build the library, the module and the commands into build/;"
	@echo "                   their man pages: man -l build/man/heapdiff.1"
	@echo "make demo          find a leak: a, b, c, heapdiff, heappath and a picture"
	@echo "make pictures      draw heapview's pages for the manual"
	@echo "make test          run all tests; installs what they need (Debian)"
	@echo "make test-release  the same on another Lua, with LUA_DIR=its sources and testes/"
	@echo "make check-asan    the same under AddressSanitizer and UndefinedBehaviorSanitizer"
	@echo "make check-tsan    the tests with threads under ThreadSanitizer"
	@echo "make check-seams   see that the parts are joined only where they may be"
	@echo "make lint          compilers' warnings, formatting, linters for C, Lua, shell and man pages"
	@echo "make bench         speed and memory; SIZES=\"0.2 1 10\" (millions of objects), and"
	@echo "                   OUTSIDE_SIZES=\"0.2 2\" of processes looked at from outside"
	@echo "make fuzz          random snapshots into all that reads them, SECONDS=60 each (needs clang)"
	@echo "make soak          a server looked at for MINUTES=10, and soaks N=10 times as long"
	@echo "make install       PREFIX=/usr/local DESTDIR=; make uninstall takes it away again"
	@echo "make deb           Debian packages in build/deb, seen by lintian"
	@echo "make dist          the sources of this commit as build/luaheap-$(VERSION).tar.gz"
	@echo "make packages      install what build and tests need (Debian), or say what is missing"
	@echo "make clean         remove build/"
	@echo "Variables: CC CFLAGS CPPFLAGS LDFLAGS PREFIX DESTDIR LUA BUSTED WERROR=1 V=1"

clean:
	rm -rf build
