/*
** guests.h - the server's few connections: without the token a client can only occupy them.
*/
#ifndef LUAHEAP_HEAPVIEW_GUESTS_H
#define LUAHEAP_HEAPVIEW_GUESTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

enum {
  GUESTS_AT_ONCE = 64,
  GUESTS_OF_ONE_ADDRESS = 32,
  GUESTS_MOST = GUESTS_AT_ONCE + 16, /* with those that are closing */
  GUESTS_SECONDS = 60                /* for each step of a connection */
};

typedef struct guest {
  int socket; /* -1: unused */
  struct sockaddr_storage from;
  uint64_t number; /* order of arrival */
  uint64_t due_ns; /* time limit of its next step; 0: it waits for us */
  bool is_known;   /* it has shown the token */
  bool is_leaving;
} guest;

typedef struct guests {
  guest all[GUESTS_MOST];
  uint64_t n_came;
} guests;

void guests_begin(guests *list);

/* True: a connection from `address` fits. Shuts down, in both directions, connections whose time is
** up and, for lack of room, the oldest one without the token. */
bool guests_have_room(guests *list, const struct sockaddr *address);

/* Adds a connection; NULL: no place. guests_leave removes it; NULL is allowed. */
guest *guests_come(guests *list, int socket, const struct sockaddr *address);
void guests_leave(guest *g);

/* Starts the time limit of its next step, or ends it if none is `expected`. NULL is allowed. */
void guests_give_time(guest *g, bool expected);

uint64_t guests_now(void); /* monotonic, in nanoseconds */

#endif
