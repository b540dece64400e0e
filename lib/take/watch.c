/*
** watch.c - starts, stops and ends a watcher.
**
** The first lh_watch of a state makes the watcher, which lives as long as the state. C code may
** have stored our allocation function, so even a stopped watcher stays, to pass on calls. lua_close
** runs two finalizers of ours: the sentry's, early (watch_close.c), and that of the watcher's
** userdata, late, which stops the watcher. The main thread's block is the last that the state
** frees; the watcher is freed with it.
**
** exit() may come without lua_close, as in os.exit(0). If a C function called it, the heap is
** consistent. A signal handler may have interrupted Lua or malloc: then no snapshot is taken.
**
** Our own thread serves when the running thread is unknown or its stack must not be touched: out of
** memory, and exit().
*/
#include "watch.h"

#include <sys/stat.h>
#include <unistd.h>

static const char registry_key = 0;

bool lh_watch_push(lua_State *L) {
  return lh_push_own(L, &registry_key) != NULL;
}

lh_watcher *lh_watcher_of(lua_State *L) {
  const lh_handle *h = lh_find_handle(L, &registry_key);
  return h ? h->of : NULL;
}

lh_watched lh_watch_facts(lua_State *L) {
  const lh_watcher *w = lh_watcher_of(L);
  if (!w) return (lh_watched){0};
  return (lh_watched){.own_thread = w->own_thread,
                      .running = w->running_thread,
                      .closes = w->closes,
                      .n_finalized = w->n_finalized};
}

/* ==== Starting ====================================================================== */

static bool is_period(double seconds) {
  return seconds >= 0 && seconds < 1e9;
}

static int check_options(const lh_watch_options *options, lh_error *error) {
  bool triggers = options->signal_number || options->at_bytes || options->every_seconds > 0 ||
                  options->mark_seconds > 0 || options->at_exit || options->out_of_memory;
  if (!triggers)
    return lh_fail(error, LH_EARGUMENT,
                   "nothing to watch for: give a signal, a size, a period, exit or out of memory");
  if (options->again != 0 && !(options->again > 1 && options->again < 1e9))
    return lh_fail(error, LH_EARGUMENT, "the factor between two sizes must be above 1");
  if (!is_period(options->every_seconds) || !is_period(options->mark_seconds))
    return lh_fail(error, LH_EARGUMENT, "a period must be a number of seconds above 0");
  return LH_OK;
}

/* Copies a text as a part of a file's name that no terminal or command can misread. A program that
** Lua reads from stdin is called "-". */
static void copy_as_name(char *out, size_t size, const char *text) {
  size_t length = strnlen(text, size - 1);
  for (size_t i = 0; i < length; i++) {
    unsigned char c = (unsigned char)text[i];
    bool is_option = i == 0 && c == '-';
    out[i] = is_option || c == '/' || c < ' ' || c == 0x7F ? '_' : text[i];
  }
  out[length] = '\0';
}

static void copy_program(lh_watcher *w, const char *program) {
  enum { TAIL_BYTES = 128 }; /* "-TAG-PID-ID-N.heap" */
  const char *slash = strrchr(program, '/');
  copy_as_name(w->program, sizeof w->program - TAIL_BYTES, slash ? slash + 1 : program);
}

static int copy_names(lh_watcher *w, const lh_watch_options *options, lh_error *error) {
  const char *directory = options->directory ? options->directory : ".";
  copy_program(w, options->program ? options->program : program_invocation_short_name);
  struct stat info;
  bool found = realpath(directory, w->directory) && stat(w->directory, &info) == 0;
  if (found && S_ISDIR(info.st_mode) && access(w->directory, W_OK | X_OK) == 0) return LH_OK;
  int os_errno = found && !S_ISDIR(info.st_mode) ? ENOTDIR : errno;
  return lh_fail_errno(error, os_errno, "cannot write into the directory '%s'", directory);
}

static void copy_options(lh_watcher *w, const lh_watch_options *options) {
  w->options = *options;
  w->options.directory = w->options.program = NULL;
  copy_as_name(w->tag, sizeof w->tag, options->tag ? options->tag : "");
  (void)snprintf(w->log, sizeof w->log, "%s", options->log ? options->log : "");
  w->options.tag = w->tag;
  w->options.log = w->log;
  w->take =
      options->take ? *options->take : (lh_take_options){.string_bytes = LH_DEFAULT_STRING_BYTES};
  w->options.take = &w->take;
  if (options->again == 0) w->options.again = LH_DEFAULT_AGAIN;
  if (options->max_files == 0) w->options.max_files = LH_DEFAULT_MAX_FILES;
  w->n_files = 0;
  w->exited = w->memory_taken = w->forked = w->closes = false;
}

/* Makes our userdata and our thread. May raise "not enough memory". */
static int make_objects(lua_State *L) {
  lh_watcher *w = lua_touserdata(L, 1);
  lh_handle *h = lh_make_handle(L, &registry_key, LH_WATCHER_VALUES);
  w->own_thread = lua_newthread(L);
  lua_setiuservalue(L, -2, LH_WATCHER_THREAD);
  h->of = w; /* last: from here on the finalizer frees the watcher */
  return 0;
}

/* Makes our objects at the first lh_watch, with our allocation function in place. Checks that we
** hear of the new thread, and that the hook is where we expect it. */
static int make_own(lua_State *L, lh_watcher *w, lh_error *error) {
  int rc = lh_call_protected(L, make_objects, w, "starting to watch a Lua state", error);
  if (rc < 0) return rc;
  if (lh_thread_set_has(&w->threads, w->own_thread) && lh_hook_fits(w)) return LH_OK;
  return lh_fail(error, LH_EHOST,
                 "this Lua makes threads in another way than PUC Lua: it cannot be watched");
}

static lh_watcher *new_watcher(lua_State *L, lh_state *state) {
  const lh_layout *layout = &state->layout;
  lh_watcher *w = lh_alloc_zeroed(1, sizeof *w);
  if (!w) return NULL;
  w->layout = *layout;
  w->global = lh_global_state(L);
  w->main_thread = (lua_State *)(uintptr_t)raw_main_thread(layout, w->global);
  w->thread_bytes = layout->thread_bytes;
  w->extra_bytes = raw_extra_bytes(layout);
  w->main_block = raw_main_block(layout, w->global);
  (void)snprintf(w->state_id, sizeof w->state_id, "%04x", (unsigned)(state->own.state_id >> 48));
  return w;
}

/* Sets up everything but the list and the signal. */
static int set_up(lua_State *L, lh_watcher *w, lh_error *error) {
  lh_watch_install(w);
  if (w->options.out_of_memory) {
    w->reserve = lh_alloc_pages(LH_RESERVE_BYTES);
    w->state_reserve = w->alloc(w->alloc_data, NULL, 0, LH_STATE_RESERVE);
    if (!w->reserve || !w->state_reserve)
      return lh_fail_memory(error, "taking a reserve of memory");
  }
  if (!lh_thread_set_init(&w->threads) || !lh_thread_set_add_all(&w->threads, w->global))
    return lh_fail_memory(error, "starting to watch a Lua state");
  w->on = true;
  return w->own_thread ? LH_OK : make_own(L, w, error);
}

/* ==== Stopping ====================================================================== */

/* Leaves the list before anything is freed, so that no handler uses it. */
static void stop(lh_watcher *w) {
  w->busy = 1;
  (void)lh_end_wait(w);
  lh_watchers_remove(w);
  lh_watch_leave_jobs(w);
  w->on = false;
  w->newborn = w->newest = NULL;
  atomic_store(&w->wanted, 0);
  lh_thread_set_free(&w->threads);
  lh_watch_free_reserve(w);
  w->busy = 0;
}

/* Takes the snapshot at the end, and serves requests that had no safe point. */
static void take_last(lh_watcher *w, lua_State *L) {
  w->busy = 1;
  unsigned wanted = lh_end_wait(w);
  if (lh_watchers_answered(w)) wanted &= ~(unsigned)LH_WANT_SIGNALLED;
  if (w->options.at_exit && !w->exited) wanted |= LH_WANT_SNAPSHOT;
  w->exited = true;
  lh_watch_serve(w, L, wanted, false);
  w->closes = false;
  lh_watch_leave_jobs(w);
  w->busy = 0;
}

static bool runs_lua_code(const void *thread) {
  return thread && !(RAW_FIELD(thread, RAW_THREAD_CALL, const raw_call *)->status & RAW_CALL_IS_C);
}

void lh_watch_exit(lh_watcher *w) {
  const void *running = NULL;
  if (w->busy) return;
  bool in_handler = lh_is_in_handler(&w->usual_mask);
  if (!in_handler) running = lh_threads_running(w);
  if (in_handler || runs_lua_code(running)) {
    lh_watch_report_handler(w);
    return;
  }
  w->running_thread = running ? running : w->main_thread; /* as if the host had asked */
  if (w->own_thread) take_last(w, w->own_thread);
}

void lh_watch_finalize(lua_State *L) {
  lh_handle *h = lh_test_own(L, 1, &registry_key);
  lh_watcher *w = h ? h->of : lh_watcher_of(L);
  if (!w || !(h || lh_is_sentry(w, L))) return;
  if (w->on) {
    lh_begin_closing(w);
    take_last(w, L);
  }
  if (!h) return;
  if (w->on) stop(w);
  h->of = NULL;
  w->own_thread = NULL; /* freed with the userdata */
  lh_watch_install_again(w);
}

void lh_watch_end(lh_watcher *w) {
  if (w->on) stop(w);
  lh_free(w);
}

int lh_watch(lua_State *L, const lh_watch_options *options, lh_error *error) {
  int rc = check_options(options, error);
  if (rc < 0) return rc;
  if (!lua_checkstack(L, 2)) return lh_fail_memory(error, "starting to watch a Lua state");
  lh_state *state = lh_find_state(L, error);
  if (!state) return LH_EARGUMENT;
  if (lh_watchers_find(L)) return lh_fail(error, LH_EARGUMENT, "this Lua state is watched already");
  lh_watcher *w = lh_watcher_of(L);
  if (!w) w = new_watcher(L, state);
  if (!w) return lh_fail_memory(error, "starting to watch a Lua state");
  w->busy = 1;
  copy_options(w, options);
  rc = copy_names(w, options, error);
  if (rc == LH_OK) rc = set_up(L, w, error);
  if (rc == LH_OK) rc = lh_watchers_add(w, error);
  w->busy = 0;
  if (rc == LH_OK) {
    lh_watch_begin(w);
    return rc;
  }
  stop(w);
  lh_watch_uninstall(w);
  if (lh_watcher_of(L) != w) lh_free(w);
  return rc;
}

void lh_unwatch(lua_State *L) {
  lh_watcher *w = lh_watchers_find(L);
  if (!w) return;
  stop(w);
  lh_watch_uninstall(w);
}
