/* connections.c - see connections.h. Each function scans the table, which is small. */
#include "connections.h"

#include <netinet/in.h>
#include <string.h>
#include <time.h>

uint64_t connections_now(void) {
  struct timespec time;
  (void)clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

void connections_begin(connections *list) {
  *list = (connections){0};
  for (size_t i = 0; i < CONNECTIONS_MOST; i++) list->all[i].socket = -1;
}

void connections_give_time(http_connection *g, bool expected) {
  if (g != NULL)
    g->due_ns = expected ? connections_now() + CONNECTIONS_SECONDS * UINT64_C(1000000000) : 0;
}

static void send_away(http_connection *g) {
  (void)shutdown(g->socket, SHUT_RDWR);
  g->is_leaving = true;
}

static bool is_from(const http_connection *g, const struct sockaddr *address) {
  if (g->from.ss_family != address->sa_family) return false;
  if (address->sa_family == AF_INET)
    return ((const struct sockaddr_in *)&g->from)->sin_addr.s_addr ==
           ((const struct sockaddr_in *)address)->sin_addr.s_addr;
  return memcmp(&((const struct sockaddr_in6 *)&g->from)->sin6_addr,
                &((const struct sockaddr_in6 *)address)->sin6_addr, sizeof(struct in6_addr)) == 0;
}

/* Leaves fewer than `most` connections (address NULL: of all). False: all have the token. */
static bool close_for_room(connections *list, const struct sockaddr *address, size_t most) {
  http_connection *oldest = NULL;
  size_t n = 0;
  for (size_t i = 0; i < CONNECTIONS_MOST; i++) {
    http_connection *g = &list->all[i];
    if (g->socket < 0 || g->is_leaving || (address != NULL && !is_from(g, address))) continue;
    n++;
    if (!g->is_known && (oldest == NULL || g->number < oldest->number)) oldest = g;
  }
  if (n < most) return true;
  if (oldest != NULL) send_away(oldest);
  return oldest != NULL;
}

bool connections_have_room(connections *list, const struct sockaddr *address) {
  uint64_t now = connections_now();
  for (size_t i = 0; i < CONNECTIONS_MOST; i++) {
    http_connection *g = &list->all[i];
    if (g->socket >= 0 && !g->is_leaving && g->due_ns != 0 && g->due_ns < now) send_away(g);
  }
  return close_for_room(list, address, CONNECTIONS_OF_ONE_ADDRESS) &&
         close_for_room(list, NULL, CONNECTIONS_AT_ONCE);
}

http_connection *connections_add(connections *list, int socket, const struct sockaddr *address) {
  size_t i = 0;
  while (i < CONNECTIONS_MOST && list->all[i].socket >= 0) i++;
  if (i == CONNECTIONS_MOST) return NULL;
  http_connection *g = &list->all[i];
  *g = (http_connection){.socket = socket, .number = list->n_came++};
  memcpy(&g->from, address,
         address->sa_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6));
  connections_give_time(g, true);
  return g;
}

void connections_remove(http_connection *g) {
  if (g != NULL) g->socket = -1;
}
