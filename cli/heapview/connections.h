/* connections.h - the server's few connections: without the token a client can only occupy them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

enum {
  CONNECTIONS_AT_ONCE = 64,
  CONNECTIONS_OF_ONE_ADDRESS = 32,
  CONNECTIONS_MOST = CONNECTIONS_AT_ONCE + 16, /* with those that are closing */
  CONNECTIONS_SECONDS = 60                     /* for each step of a connection */
};

typedef struct http_connection {
  int socket; /* -1: unused */
  struct sockaddr_storage from;
  uint64_t number; /* order of arrival */
  uint64_t due_ns; /* time limit of its next step; 0: it waits for us */
  bool is_known;   /* it has shown the token */
  bool is_leaving;
} http_connection;

typedef struct connections {
  http_connection all[CONNECTIONS_MOST];
  uint64_t n_came;
} connections;

void connections_begin(connections *list);

/* True: a connection from `address` fits. Shuts down, in both directions, connections whose time is
** up and, for lack of room, the oldest one without the token. */
bool connections_have_room(connections *list, const struct sockaddr *address);

/* Adds a connection; NULL: no place. connections_remove removes it; NULL is allowed. */
http_connection *connections_add(connections *list, int socket, const struct sockaddr *address);
void connections_remove(http_connection *g);

/* Starts the time limit of its next step, or ends it if none is `expected`. NULL is allowed. */
void connections_give_time(http_connection *g, bool expected);

uint64_t connections_now(void); /* monotonic, in nanoseconds */
