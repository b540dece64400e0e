/*
** live_page.c - the page of a running program: how much lives, how fast it allocates and frees, and
** which types and sites that is. Rates are those of the time since the page before; on the first
** page, of all the time since tracking began.
*/
#include <inttypes.h>
#include <string.h>

#include "live.h"

/* {=== Counting ====================================================================== */

static void add(live_counts *to, const lh_profile_count *from) {
  to->allocated += from->made + from->resized;
  to->allocated_bytes += from->made_bytes + from->resized_bytes;
  to->freed += from->freed + from->replaced;
  to->freed_bytes += from->freed_bytes + from->replaced_bytes;
}

void live_count(lh_profile *profile, live_figures *figures) {
  const lh_profile_info *info = lh_profile_about(profile);
  const lh_sites *sites = lh_profile_sites(profile);
  size_t n;
  const lh_profile_count *rows = lh_profile_counts(profile, &n);
  *figures = (live_figures){.program = cli_escape(info->program), .duration_ns = info->duration_ns};
  figures->n_sites = lh_n_sites(sites);
  figures->sites = cli_must(calloc((size_t)figures->n_sites + 1, sizeof *figures->sites));
  figures->names = cli_must(calloc((size_t)figures->n_sites + 1, sizeof *figures->names));
  for (size_t i = 0; rows != NULL && i < n; i++) {
    const lh_profile_count *row = &rows[i];
    if (row->stack == 0) continue; /* what goes that was there before */
    lh_site_id site = lh_stack_of(sites, row->stack)->site;
    add(&figures->all, row);
    add(&figures->types[row->type < LH_TYPE_COUNT ? row->type : LH_TYPE_COUNT], row);
    add(&figures->sites[site], row);
    figures->peak_bytes += row->live_bytes_at_peak;
    if (figures->names[site] == NULL)
      figures->names[site] = cli_must(lh_site_text(lh_site_of(sites, site)));
  }
}

void live_free(live_figures *figures) {
  for (uint32_t i = 0; figures->names != NULL && i <= figures->n_sites; i++)
    lh_free(figures->names[i]);
  free(figures->names);
  free(figures->sites);
  lh_free(figures->program);
  *figures = (live_figures){0};
}

static uint64_t live_bytes(const live_counts *counts) {
  uint64_t made = counts->allocated_bytes, gone = counts->freed_bytes;
  return made > gone ? made - gone : 0;
}

static uint64_t live_blocks(const live_counts *counts) {
  return counts->allocated > counts->freed ? counts->allocated - counts->freed : 0;
}

/* In a second. */
static uint64_t rate(uint64_t now, uint64_t before, uint64_t ns) {
  double n = now > before ? (double)(now - before) : 0;
  return ns > 0 ? (uint64_t)(n * 1e9 / (double)ns + 0.5) : 0;
}

/* }=================================================================================== */

/* {=== Rows ========================================================================== */

typedef struct row {
  const char *name;
  live_counts now, before;
} row;

static int by_live_bytes(const void *a, const void *b) {
  const row *one = a, *other = b;
  uint64_t mine = live_bytes(&one->now), its = live_bytes(&other->now);
  if (mine != its) return mine < its ? 1 : -1;
  return strcmp(one->name, other->name);
}

static const char *type_name(unsigned type) {
  return type < LH_TYPE_COUNT ? lh_type_name((lh_type)type) : "part";
}

/* Freed by free. */
static row *type_rows(const live_figures *now, const live_figures *before, size_t *n) {
  row *rows = cli_must(calloc(LIVE_TYPES, sizeof *rows));
  *n = 0;
  for (unsigned i = 0; i < LIVE_TYPES; i++)
    if (now->types[i].allocated > 0)
      rows[(*n)++] = (row){type_name(i), now->types[i], before->types[i]};
  qsort(rows, *n, sizeof *rows, by_live_bytes);
  return rows;
}

static int by_name(const void *a, const void *b) {
  return strcmp(((const row *)a)->name, ((const row *)b)->name);
}

static void merge(live_counts *to, const live_counts *from) {
  to->allocated += from->allocated;
  to->allocated_bytes += from->allocated_bytes;
  to->freed += from->freed;
  to->freed_bytes += from->freed_bytes;
}

/* Those with one name, which differ in what allocates there, are one. */
static size_t merge_rows(row *rows, size_t n) {
  size_t n_merged = 0;
  qsort(rows, n, sizeof *rows, by_name);
  for (size_t i = 0; i < n; i++) {
    row *last = n_merged > 0 ? &rows[n_merged - 1] : NULL;
    if (last != NULL && strcmp(last->name, rows[i].name) == 0) {
      merge(&last->now, &rows[i].now);
      merge(&last->before, &rows[i].before);
    } else {
      rows[n_merged++] = rows[i];
    }
  }
  return n_merged;
}

/* Sites keep their numbers as long as the program is tracked. */
static row *site_rows(const live_figures *now, const live_figures *before, size_t *n) {
  row *rows = cli_must(calloc((size_t)now->n_sites + 1, sizeof *rows));
  *n = 0;
  for (uint32_t i = 1; i <= now->n_sites; i++) {
    if (now->names[i] == NULL) continue;
    row *r = &rows[(*n)++];
    *r = (row){.name = now->names[i], .now = now->sites[i]};
    if (before->sites != NULL && i <= before->n_sites) r->before = before->sites[i];
  }
  *n = merge_rows(rows, *n);
  qsort(rows, *n, sizeof *rows, by_live_bytes);
  return rows;
}

/* }=================================================================================== */

/* {=== Text =========================================================================== */

static lh_number size_rate(const cli *c, uint64_t bytes) {
  lh_number text = lh_size_text(bytes, c->exact_bytes);
  strncat(text.text, "/s", sizeof text.text - strlen(text.text) - 1);
  return text;
}

static void print_rows(cli *c, const char *heading, const row *rows, size_t n, size_t shown,
                       uint64_t all_bytes, uint64_t ns) {
  const cli_column columns[] = {{"live", CLI_RIGHT},   {"share", CLI_RIGHT},
                                {"blocks", CLI_RIGHT}, {"allocated", CLI_RIGHT},
                                {"freed", CLI_RIGHT},  {heading, CLI_WRAP}};
  cli_table *table = cli_table_new(c, columns, sizeof columns / sizeof *columns);
  for (size_t i = 0; i < n && i < shown; i++) {
    const live_counts *now = &rows[i].now, *before = &rows[i].before;
    uint64_t bytes = live_bytes(now);
    lh_number live = lh_size_text(bytes, c->exact_bytes), share = lh_share_text(bytes, all_bytes);
    lh_number blocks = lh_count_text(live_blocks(now));
    lh_number made = size_rate(c, rate(now->allocated_bytes, before->allocated_bytes, ns));
    lh_number freed = size_rate(c, rate(now->freed_bytes, before->freed_bytes, ns));
    cli_table_row(
        table,
        (const char *[]){live.text, share.text, blocks.text, made.text, freed.text, rows[i].name},
        CLI_PLAIN);
  }
  cli_table_print(table);
}

static void print_head(const cli *c, const live_figures *now, const live_figures *before,
                       uint64_t ns, const char *state) {
  uint64_t bytes = live_bytes(&now->all);
  lh_number blocks = lh_count_of(live_blocks(&now->all), "block", "blocks");
  printf("%s%s live in %s, allocated since tracking began; at most %s%s\n",
         cli_style_on(c, CLI_BOLD), lh_size_text(bytes, c->exact_bytes).text, blocks.text,
         lh_size_text(now->peak_bytes, c->exact_bytes).text, cli_style_off(c));
  lh_number made = size_rate(c, rate(now->all.allocated_bytes, before->all.allocated_bytes, ns));
  lh_number freed = size_rate(c, rate(now->all.freed_bytes, before->all.freed_bytes, ns));
  lh_number n = lh_count_text(rate(now->all.allocated, before->all.allocated, ns));
  printf("%s allocated in %s blocks/s, %s freed%s\n", made.text, n.text, freed.text,
         before->sites != NULL ? "" : ", on average");
  printf("%s%s, tracked for %" PRIu64 " s%s%s%s\n\n", cli_style_on(c, CLI_FAINT), now->program,
         now->duration_ns / 1000000000, state != NULL ? "; " : "", state != NULL ? state : "",
         cli_style_off(c));
}

void live_print(cli *c, const live_figures *now, const live_figures *before, size_t rows,
                const char *state) {
  size_t n_types, n_sites;
  row *types = type_rows(now, before, &n_types), *sites = site_rows(now, before, &n_sites);
  uint64_t bytes = live_bytes(&now->all);
  uint64_t ns = now->duration_ns > before->duration_ns ? now->duration_ns - before->duration_ns : 0;
  print_head(c, now, before, ns, state);
  print_rows(c, "type", types, n_types, SIZE_MAX, bytes, ns);
  putchar('\n');
  print_rows(c, "allocated at", sites, n_sites, rows > 0 ? rows : SIZE_MAX, bytes, ns);
  free(types);
  free(sites);
}

/* }=================================================================================== */

/* {=== JSON =========================================================================== */

static void json_counts(cli_json *w, const live_counts *counts) {
  cli_json_value(w, "live_bytes", cli_json_size(live_bytes(counts)));
  cli_json_value(w, "live_blocks", cli_json_size(live_blocks(counts)));
  cli_json_value(w, "allocated_bytes", cli_json_size(counts->allocated_bytes));
  cli_json_value(w, "allocated_blocks", cli_json_size(counts->allocated));
  cli_json_value(w, "freed_bytes", cli_json_size(counts->freed_bytes));
  cli_json_value(w, "freed_blocks", cli_json_size(counts->freed));
}

static void json_rows(cli_json *w, const char *key, const char *name, const row *rows, size_t n) {
  cli_json_open(w, key, '[');
  for (size_t i = 0; i < n; i++) {
    cli_json_open(w, NULL, '{');
    cli_json_value(w, name, cli_json_text(rows[i].name));
    json_counts(w, &rows[i].now);
    cli_json_close(w, '}');
  }
  cli_json_close(w, ']');
}

void live_print_json(const live_figures *now, size_t rows) {
  const live_figures nothing = {0};
  size_t n_types, n_sites;
  row *types = type_rows(now, &nothing, &n_types), *sites = site_rows(now, &nothing, &n_sites);
  cli_json w = {0};
  cli_json_open(&w, NULL, '{');
  cli_json_value(&w, "program", cli_json_text(now->program));
  cli_json_value(&w, "duration_ns", cli_json_size(now->duration_ns));
  json_counts(&w, &now->all);
  cli_json_value(&w, "peak_bytes", cli_json_size(now->peak_bytes));
  json_rows(&w, "types", "type", types, n_types);
  json_rows(&w, "sites", "site", sites, rows > 0 && rows < n_sites ? rows : n_sites);
  cli_json_close(&w, '}');
  free(types);
  free(sites);
}

/* }=================================================================================== */
