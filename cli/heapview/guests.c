/*
** guests.c - see guests.h. Each function scans the table, which is small.
*/
#include "guests.h"

#include <netinet/in.h>
#include <string.h>
#include <time.h>

uint64_t guests_now(void) {
  struct timespec time;
  (void)clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

void guests_begin(guests *list) {
  *list = (guests){0};
  for (size_t i = 0; i < GUESTS_MOST; i++) list->all[i].socket = -1;
}

void guests_give_time(guest *g, bool expected) {
  if (g != NULL) g->due_ns = expected ? guests_now() + GUESTS_SECONDS * UINT64_C(1000000000) : 0;
}

static void send_away(guest *g) {
  (void)shutdown(g->socket, SHUT_RDWR);
  g->is_leaving = true;
}

/* Compares addresses without the port. */
static bool is_from(const guest *g, const struct sockaddr *address) {
  if (g->from.ss_family != address->sa_family) return false;
  if (address->sa_family == AF_INET)
    return ((const struct sockaddr_in *)&g->from)->sin_addr.s_addr ==
           ((const struct sockaddr_in *)address)->sin_addr.s_addr;
  return memcmp(&((const struct sockaddr_in6 *)&g->from)->sin6_addr,
                &((const struct sockaddr_in6 *)address)->sin6_addr, sizeof(struct in6_addr)) == 0;
}

/* Leaves fewer than `most` connections (address NULL: of all). False: all have the token. */
static bool make_room(guests *list, const struct sockaddr *address, size_t most) {
  guest *oldest = NULL;
  size_t n = 0;
  for (size_t i = 0; i < GUESTS_MOST; i++) {
    guest *g = &list->all[i];
    if (g->socket < 0 || g->is_leaving || (address != NULL && !is_from(g, address))) continue;
    n++;
    if (!g->is_known && (oldest == NULL || g->number < oldest->number)) oldest = g;
  }
  if (n < most) return true;
  if (oldest != NULL) send_away(oldest);
  return oldest != NULL;
}

bool guests_have_room(guests *list, const struct sockaddr *address) {
  uint64_t now = guests_now();
  for (size_t i = 0; i < GUESTS_MOST; i++) {
    guest *g = &list->all[i];
    if (g->socket >= 0 && !g->is_leaving && g->due_ns != 0 && g->due_ns < now) send_away(g);
  }
  return make_room(list, address, GUESTS_OF_ONE_ADDRESS) && make_room(list, NULL, GUESTS_AT_ONCE);
}

guest *guests_come(guests *list, int socket, const struct sockaddr *address) {
  size_t i = 0;
  while (i < GUESTS_MOST && list->all[i].socket >= 0) i++;
  if (i == GUESTS_MOST) return NULL;
  guest *g = &list->all[i];
  *g = (guest){.socket = socket, .number = list->n_came++};
  memcpy(&g->from, address,
         address->sa_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6));
  guests_give_time(g, true);
  return g;
}

void guests_leave(guest *g) {
  if (g != NULL) g->socket = -1;
}
