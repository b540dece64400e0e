/* overview.c - the opened files, the pages that they allow, and the first questions of a page. */
#include "heapview.h"

/* The command line, such as "heapview a b c". `--` keeps a file from being taken for an option. */
static void put_command(lh_json *w, const view *v) {
  char *text = NULL;
  size_t size;
  bool has_dash = v->profile != NULL && *v->profile == '-';
  for (size_t i = 0; i < v->n; i++) has_dash |= *v->files[i] == '-';
  FILE *out = cli_open_text(&text, &size);
  fputs(has_dash ? "heapview --" : "heapview", out);
  for (size_t i = 0; i <= v->n; i++) {
    const char *file = i == 0 ? v->profile : v->files[i - 1];
    if (file == NULL) continue;
    char *word = cli_shell_word(file);
    fprintf(out, " %s", word);
    free(word);
  }
  cli_close_text(out);
  lh_json_string(w, "command", text);
  free(text);
}

/* A damaged file may have names of megabytes; a page shows less. No character is cut in two. */
static void put_name(lh_json *w, const char *key, const char *name) {
  enum { MOST_BYTES = 4000 };
  size_t n = strnlen(name, MOST_BYTES);
  while (name[n] != '\0' && n > 0 && ((unsigned char)name[n] & 0xC0) == 0x80) n--;
  char *head = cli_must(strndup(name, n));
  cli_json_name(w, key, head);
  free(head);
}

static void put_snapshot(lh_json *w, const view *v, size_t i) {
  const lh_info *info = lh_snapshot_info(v->snapshots[i]);
  char state[17];
  snprintf(state, sizeof state, "%016llx", (unsigned long long)info->state_id);
  lh_json_open_in_line(w, NULL, '{');
  cli_json_name(w, "file", v->files[i]);
  put_name(w, "name", info->name);
  put_name(w, "program", info->program);
  put_name(w, "lua", info->lua_release);
  lh_json_string(w, "time", lh_time_text(info->time_ns).text);
  lh_json_string(w, "state", state);
  lh_json_count(w, "objects", info->objects);
  lh_json_count(w, "bytes", info->gc_bytes + info->external_bytes);
  lh_json_count(w, "file_bytes", info->file_bytes);
  lh_json_close(w, '}');
}

static void put_marks(lh_json *w, const lh_snapshot *snapshot) {
  uint32_t n = snapshot != NULL ? lh_mark_count(snapshot) : 0;
  cli_json_open(w, "marks", '[');
  for (uint32_t i = 0; i < n; i++) {
    bool is_time;
    char *name = cli_must(lh_mark_name(lh_mark_at(snapshot, i), &is_time));
    lh_json_open_in_line(w, NULL, '{');
    put_name(w, "name", name);
    lh_json_count(w, "position", lh_mark_position(snapshot, i));
    lh_json_string(w, "time", lh_time_text(lh_mark_at(snapshot, i)->time_ns).text);
    lh_json_close(w, '}');
    lh_free(name);
  }
  cli_json_close(w, ']');
}

static void put_words(lh_json *w, const char *key, const char *const *words) {
  cli_json_open(w, key, '[');
  for (; *words != NULL; words++) lh_json_string(w, NULL, *words);
  cli_json_close(w, ']');
}

const char *const *view_verdict(const view *v) {
  static const char *const profile[] = {"findings", "profile", "allocations?limit=20",
                                        "advice?limit=20", NULL};
  static const char *const one[] = {"leaks?limit=20", "suspects?limit=20", "waste", "info", NULL};
  static const char *const few[] = {"diff?limit=20", "leaks?limit=20", "suspects?limit=20",
                                    "waste",         "info",           NULL};
  static const char *const many[] = {"ladder?limit=20", "leaks?limit=20", "suspects?limit=20",
                                     "waste",           "info",           NULL};
  return v->n == 0 ? profile : v->n == 1 ? one : v->n <= 3 ? few : many;
}

static void put_pages(lh_json *w, const view *v) {
  const char *pages[9], **end = pages;
  *end++ = "verdict";
  if (v->n > 0) {
    *end++ = "treemap";
    *end++ = "flame";
    *end++ = "timeline";
    *end++ = "map";
    *end++ = "object";
  }
  if (v->usage != NULL) *end++ = "allocations";
  if (v->n > 0 && !v->is_written) *end++ = "sql";
  *end = NULL;
  put_words(w, "pages", pages);
}

int view_overview(view_asked *asked, lh_json *w) {
  const view *v = asked->v;
  put_command(w, v);
  lh_json_string(w, "version", LH_VERSION);
  cli_json_open(w, "snapshots", '[');
  for (size_t i = 0; i < v->n; i++) put_snapshot(w, v, i);
  cli_json_close(w, ']');
  if (v->profile != NULL) {
    lh_json_open_in_line(w, "profile", '{');
    cli_json_name(w, "file", v->profile);
    lh_json_close(w, '}');
  } else {
    lh_json_null(w, "profile");
  }
  put_marks(w, asked->snapshot);
  put_pages(w, v);
  put_words(w, "verdict", view_verdict(v));
  return LH_OK;
}

/* A picture first needs a pass over the heap, which leaves an index. So the idle server answers
** these ahead, after the first page's. A client waits for one at most: 0.6 s for ten million
** objects, more for leaks and places. */
static const char *const pictures[] = {"treemap",          /* lists, dominator tree */
                                       "timeline",         /* allocation order */
                                       "treemap?by=place", /* and the flame graph */
                                       "map",
                                       "treemap?by=class",
                                       "treemap?by=module"};

/* The index is of all objects, so any object will do. */
static char *referrers_key(const view *v) {
  char *key = NULL;
  size_t size;
  const lh_snapshot *last = v->snapshots[v->n - 1];
  if (lh_object_count(last) == 0) return NULL;
  FILE *out = cli_open_text(&key, &size);
  fprintf(out, "referrers?at=%s&limit=1", lh_address_text(last, 1).text);
  cli_close_text(out);
  return key;
}

char *view_prefetch_key(const view *v, size_t i) {
  const size_t n = v->n > 0 ? sizeof pictures / sizeof *pictures : 0;
  for (const char *const *key = view_verdict(v); *key != NULL; key++)
    if (i-- == 0) return cli_must(strdup(*key));
  if (i < n) return cli_must(strdup(pictures[i]));
  return n > 0 && i == n ? referrers_key(v) : NULL;
}
