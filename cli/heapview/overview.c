/*
** overview.c - the opened files, the pages that they allow, and the first questions of a page.
*/
#include <string.h>

#include "heapview.h"

/* The command line, such as "heapview a b c". `--` keeps a file from being taken for an option. */
static json_t *command_of(const view *v) {
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
  json_t *json = cli_must(json_string(text));
  free(text);
  return json;
}

/* A damaged file may have names of megabytes; a page shows less. No character is cut in two. */
static json_t *name_json(const char *name) {
  enum { MOST_BYTES = 4000 };
  size_t n = strnlen(name, MOST_BYTES);
  while (name[n] != '\0' && n > 0 && ((unsigned char)name[n] & 0xC0) == 0x80) n--;
  char *head = cli_must(strndup(name, n));
  json_t *json = cli_json_text(head);
  free(head);
  return json;
}

static json_t *snapshot_json(const view *v, size_t i) {
  const lh_info *info = lh_snapshot_info(v->snapshots[i]);
  json_t *json = cli_must(json_object());
  char state[17];
  snprintf(state, sizeof state, "%016llx", (unsigned long long)info->state_id);
  json_object_set_new(json, "file", cli_json_text(v->files[i]));
  json_object_set_new(json, "name", name_json(info->name));
  json_object_set_new(json, "program", name_json(info->program));
  json_object_set_new(json, "lua", name_json(info->lua_release));
  json_object_set_new(json, "time", json_string(lh_time_text(info->time_ns).text));
  json_object_set_new(json, "state", json_string(state));
  json_object_set_new(json, "objects", cli_json_size(info->objects));
  json_object_set_new(json, "bytes", cli_json_size(info->gc_bytes));
  json_object_set_new(json, "file_bytes", cli_json_size(info->file_bytes));
  return json;
}

static void put_marks(cli_json *w, const lh_snapshot *snapshot) {
  uint32_t n = snapshot != NULL ? lh_mark_count(snapshot) : 0;
  cli_json_open(w, "marks", '[');
  for (uint32_t i = 0; i < n; i++) {
    bool is_time;
    char *name = cli_must(lh_mark_name(lh_mark_at(snapshot, i), &is_time));
    json_t *json = cli_must(json_object());
    json_object_set_new(json, "name", name_json(name));
    json_object_set_new(json, "position", cli_json_size(lh_mark_position(snapshot, i)));
    json_object_set_new(json, "time",
                        json_string(lh_time_text(lh_mark_at(snapshot, i)->time_ns).text));
    cli_json_value(w, NULL, json);
    lh_free(name);
  }
  cli_json_close(w, ']');
}

static void put_words(cli_json *w, const char *key, const char *const *words) {
  cli_json_open(w, key, '[');
  for (; *words != NULL; words++) cli_json_value(w, NULL, json_string(*words));
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

static void put_pages(cli_json *w, const view *v) {
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

int view_overview(view_asked *asked, cli_json *w) {
  const view *v = asked->v;
  cli_json_value(w, "command", command_of(v));
  cli_json_value(w, "version", json_string(LH_VERSION));
  cli_json_open(w, "snapshots", '[');
  for (size_t i = 0; i < v->n; i++) cli_json_value(w, NULL, snapshot_json(v, i));
  cli_json_close(w, ']');
  json_t *profile = v->profile != NULL ? cli_must(json_object()) : json_null();
  if (v->profile != NULL) json_object_set_new(profile, "file", cli_json_text(v->profile));
  cli_json_value(w, "profile", profile);
  put_marks(w, asked->snapshot);
  put_pages(w, v);
  put_words(w, "verdict", view_verdict(v));
  return LH_OK;
}

/* ==== Questions answered ahead ==================================================== */

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

char *view_ahead(const view *v, size_t i) {
  const size_t n = v->n > 0 ? sizeof pictures / sizeof *pictures : 0;
  for (const char *const *key = view_verdict(v); *key != NULL; key++)
    if (i-- == 0) return cli_must(strdup(*key));
  if (i < n) return cli_must(strdup(pictures[i]));
  return n > 0 && i == n ? referrers_key(v) : NULL;
}
