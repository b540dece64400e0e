/*
** heapcheck - verifies that a file is a whole and sound snapshot or profile. Reads all of each file
** and prints one line: the contents, or on stderr the byte offset of the damage and what was being
** read there. Goes on after a bad file. Four million objects take 1.5 s.
*/
#include "cli.h"

static const cli_option options[] = {CLI_JSON_OPTION, CLI_BYTES_OPTION, CLI_LAST_OPTIONS};

static const cli_tool tool = {
    "heapcheck",
    "Checks that snapshots of Lua heaps, and profiles, are whole and sound.",
    {"[options] FILE ..."},
    options,
    "One line for each file: what is in it, or at which byte it is wrong.\n"
    "Example: heapcheck /var/tmp/*.heap && echo all are sound\n"
    "Exit status: 0 all are sound, 2 at least one is not; wrong usage or failure.\n"};

typedef struct finding {
  lh_snapshot *snapshot; /* at most one of the two */
  lh_profile *profile;
  uint64_t edges;
  int code;
  lh_error error;
} finding;

static int verify_snapshot(cli *c, const char *file, finding *f) {
  int code = cli_try_open(c, file, &f->snapshot, &f->error);
  if (code != LH_OK) return code;
  cli_progress(c, "verifying %s", file);
  code = lh_verify(f->snapshot, &f->edges, &f->error);
  cli_progress(c, NULL);
  return code;
}

/* Opening a profile verifies it. A cut profile opens, but is not whole. */
static int verify_profile(cli *c, const char *file, finding *f) {
  int code = lh_profile_open(file, &f->profile, &f->error);
  if (code != LH_OK) return code;
  const lh_profile_info *info = lh_profile_about(f->profile);
  if (info->is_whole) return LH_OK;
  (void)snprintf(f->error.message, sizeof f->error.message,
                 "'%s' was cut or is still being written: %s can be read, of %s", file,
                 lh_size_text(info->read_bytes, c->exact_bytes).text,
                 lh_size_text(info->file_bytes, c->exact_bytes).text);
  f->error.offset = info->read_bytes;
  return LH_EDAMAGED;
}

static finding verify(cli *c, const char *file) {
  finding f = {.edges = 0};
  f.code = verify_snapshot(c, file, &f);
  if (f.code != LH_EFOREIGN) return f;
  lh_error foreign = f.error;
  f.code = verify_profile(c, file, &f);
  if (f.code == LH_EFOREIGN) f.error = foreign;
  return f;
}

static void print_snapshot(const cli *c, const lh_snapshot *snapshot, uint64_t edges) {
  const lh_info *info = lh_snapshot_info(snapshot);
  const lh_outside_info *outside = lh_snapshot_outside(snapshot);
  int64_t missing = info->unaccounted_bytes;
  printf("%s, %s, %s, %s in the file", lh_count_of(info->objects, "object", "objects").text,
         lh_size_text(info->object_bytes, c->exact_bytes).text,
         lh_count_of(edges, "edge", "edges").text,
         lh_size_text(info->file_bytes, c->exact_bytes).text);
  if (info->external_bytes > 0)
    printf(", %s of external strings", lh_size_text(info->external_bytes, c->exact_bytes).text);
  if (missing != 0)
    printf(", %s unaccounted", missing > 0
                                   ? lh_size_text((uint64_t)missing, c->exact_bytes).text
                                   : lh_size_change((uint64_t)-missing, 0, c->exact_bytes).text);
  if (outside) printf(", from outside (%s)", lh_stillness_name(outside->stillness));
}

static void print_profile(const cli *c, const lh_profile *profile) {
  const lh_profile_info *info = lh_profile_about(profile);
  const lh_sites *sites = lh_profile_sites(profile);
  if (info->is_aggregate)
    printf("an aggregate");
  else
    printf("a profile of %s", lh_count_of(info->n_events, "event", "events").text);
  printf(", %s, %s, %s in the file", lh_count_of(lh_n_sites(sites), "site", "sites").text,
         lh_count_of(lh_n_stacks(sites), "stack", "stacks").text,
         lh_size_text(info->file_bytes, c->exact_bytes).text);
  if (info->lost_events > 0)
    printf(", %s could not be written",
           lh_count_of(info->lost_events, "more event", "more events").text);
}

static void print_sound(cli *c, const char *file, const finding *f) {
  char *name = cli_escape(file);
  printf("%s: ok: ", name);
  if (f->profile)
    print_profile(c, f->profile);
  else
    print_snapshot(c, f->snapshot, f->edges);
  putchar('\n');
  lh_free(name);
  cli_flush(c); /* keeps the order with lines on stderr */
}

static void json_snapshot(lh_json *w, const lh_snapshot *snapshot, uint64_t edges) {
  const lh_info *info = lh_snapshot_info(snapshot);
  const lh_outside_info *outside = lh_snapshot_outside(snapshot);
  lh_json_count(w, "objects", info->objects);
  lh_json_count(w, "bytes", info->object_bytes);
  if (info->external_bytes > 0) lh_json_count(w, "external_bytes", info->external_bytes);
  lh_json_count(w, "gc_bytes", info->gc_bytes);
  lh_json_integer(w, "unaccounted_bytes", info->unaccounted_bytes);
  lh_json_count(w, "edges", edges);
  lh_json_count(w, "file_bytes", info->file_bytes);
  if (outside) cli_json_name(w, "outside", lh_stillness_name(outside->stillness));
}

static void json_profile(lh_json *w, const lh_profile *profile) {
  const lh_profile_info *info = lh_profile_about(profile);
  const lh_sites *sites = lh_profile_sites(profile);
  lh_json_flag(w, "aggregate", info->is_aggregate);
  lh_json_count(w, "events", info->n_events);
  lh_json_count(w, "lost_events", info->lost_events);
  lh_json_count(w, "sites", lh_n_sites(sites));
  lh_json_count(w, "stacks", lh_n_stacks(sites));
  lh_json_count(w, "file_bytes", info->file_bytes);
}

static void json_file(lh_json *w, const char *file, const finding *f) {
  cli_json_open(w, NULL, '{');
  cli_json_name(w, "file", file);
  lh_json_flag(w, "ok", f->code == LH_OK);
  if (f->code != LH_OK) {
    cli_json_name(w, "message", f->error.message);
    if (f->code == LH_EDAMAGED) lh_json_count(w, "offset", f->error.offset);
  } else if (f->profile) {
    json_profile(w, f->profile);
  } else {
    json_snapshot(w, f->snapshot, f->edges);
  }
  cli_json_close(w, '}');
}

static bool check_file(cli *c, lh_json *w, const char *file) {
  finding f = verify(c, file);
  if (c->json)
    json_file(w, file, &f);
  else if (f.code == LH_OK)
    print_sound(c, file, &f);
  if (f.code != LH_OK) cli_say(c, "%s", f.error.message);
  lh_close(f.snapshot);
  lh_profile_close(f.profile);
  return f.code == LH_OK;
}

int main(int argc, char **argv) {
  cli c;
  lh_json w = {0};
  int status = CLI_DONE;
  cli_begin(&c, &tool);
  cli_parse(&c, NULL, argc, argv);
  if (optind == argc) cli_usage_error(&c, "which files? Name at least one");
  if (c.json) cli_json_open(&w, NULL, '{');
  if (c.json) cli_json_open(&w, "files", '[');
  for (int i = optind; i < argc; i++)
    if (!check_file(&c, &w, argv[i])) status = CLI_FAILURE;
  if (c.json) cli_json_close(&w, ']');
  if (c.json) cli_json_close(&w, '}');
  return cli_finish(&c, status);
}
