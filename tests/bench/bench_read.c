/*
** bench_read.c - opens and analyses one snapshot in a fresh process, phase by phase.
**
**     bench_read FILE      prints `name value` lines: objects, edges, seconds, bytes
**
** Memory: what the reader allocates is anonymous; the program's code is not. The kernel keeps a
** peak only of their sum (VmHWM), so that of the anonymous part is taken as VmHWM - RssFile at the
** end. The file, which is read into memory too, is told apart.
*/
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "rooms/all.h"

static double now(void) {
  struct timespec at;
  (void)clock_gettime(CLOCK_MONOTONIC, &at);
  return (double)at.tv_sec + (double)at.tv_nsec * 1e-9;
}

/* A field of /proc/self/status, such as "VmHWM:", in bytes. */
static double status_bytes(const char *field) {
  char line[256];
  double kilobytes = 0;
  FILE *status = fopen("/proc/self/status", "r");
  if (status == NULL) return 0;
  while (fgets(line, sizeof line, status) != NULL) {
    if (strncmp(line, field, strlen(field)) == 0) kilobytes = strtod(line + strlen(field), NULL);
  }
  (void)fclose(status);
  return kilobytes * 1024;
}

static double count_edges(const lh_snapshot *snapshot) {
  double edges = 0;
  for (lh_id id = 1; id <= lh_object_count(snapshot); id++) {
    lh_edges it;
    lh_edge edge;
    for (lh_edges_begin(snapshot, id, &it); lh_edges_next(&it, &edge);) edges++;
  }
  return edges;
}

int main(int argc, char **argv) {
  lh_error error = {0};
  lh_snapshot *snapshot = NULL;
  if (argc != 2) return 2;
  double start = now();
  if (lh_open(&snapshot, argv[1], &error) != 0) goto failed;
  double opened = now(), open_bytes = status_bytes("RssAnon:");
  if (lh_analyse(snapshot, &error) != 0) goto failed;
  double analysed = now(), analysed_cpu = (double)clock() / CLOCKS_PER_SEC;
  double peak_bytes = status_bytes("VmHWM:") - status_bytes("RssFile:");
  double kept_bytes = status_bytes("RssAnon:");
  double classifying = now();
  if (lh_classify(snapshot, &error) != 0) goto failed;
  double classified = now();
  double file_bytes = (double)lh_snapshot_info(snapshot)->file_bytes;
  printf("objects %u\nedges %.0f\n", lh_object_count(snapshot), count_edges(snapshot));
  printf("open_s %.6f\nanalyse_s %.6f\nclassify_s %.6f\n", opened - start, analysed - opened,
         classified - classifying);
  printf("analysed_cpu_s %.6f\n", analysed_cpu);
  printf("open_bytes %.0f\npeak_bytes %.0f\nkept_bytes %.0f\n", open_bytes - file_bytes,
         peak_bytes - file_bytes, kept_bytes - file_bytes);
  lh_close(snapshot);
  return 0;
failed:
  (void)fprintf(stderr, "bench_read: %s\n", error.message);
  lh_close(snapshot);
  return 1;
}
