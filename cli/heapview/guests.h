/*
** guests.h - who is connected to the server, and who has to go: there are few places, and all that
** somebody without the token can do is take them.
*/
#ifndef LUAHEAP_HEAPVIEW_GUESTS_H
#define LUAHEAP_HEAPVIEW_GUESTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

enum {
  GUESTS_AT_ONCE = 64,
  GUESTS_OF_ONE_ADDRESS = 32,
  GUESTS_MOST = GUESTS_AT_ONCE + 16, /* with those that were sent away and are not gone yet */
  GUESTS_SECONDS = 60                /* for each step */
};

typedef struct guest {
  int socket; /* -1: there is none */
  struct sockaddr_storage from;
  uint64_t number; /* in the order in which they came */
  uint64_t due_ns; /* its next step; 0: it waits for us */
  bool is_known;   /* it has shown the token */
  bool is_leaving;
} guest;

typedef struct guests {
  guest all[GUESTS_MOST];
  uint64_t n_came;
} guests;

void guests_begin(guests *list);

/* May one more come from there? Those whose time is up are sent away, and if there is no room, the
** one that has been here longest without having shown the token. To be sent away is to have no
** socket any more, in both directions: whoever waits for it sees its end. */
bool guests_have_room(guests *list, const struct sockaddr *address);

/* One has come; NULL: there is no place for it. And it is gone (NULL: harmless). */
guest *guests_come(guests *list, int socket, const struct sockaddr *address);
void guests_leave(guest *g);

/* From now on it has its time for its next step; or none is expected of it. NULL is harmless. */
void guests_give_time(guest *g, bool expected);

uint64_t guests_now(void); /* nanoseconds since some moment */

#endif
