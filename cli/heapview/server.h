/*
** server.h - the page and its answers over HTTP. A thread of its own takes requests, refuses what
** is none of ours (requests.h), and gives the page and the progress at once; questions wait in a
** queue, and whoever owns the snapshots answers one after the other.
*/
#ifndef LUAHEAP_HEAPVIEW_SERVER_H
#define LUAHEAP_HEAPVIEW_SERVER_H

#include "heapview.h"

typedef struct server server;

/* Begins to listen, at port 0 for any that is free; NULL in place of an address: for this machine
** alone. Ends the process if that cannot be. From now on SIGINT and SIGTERM end it, too. */
server *server_start(cli *c, const char *address, unsigned port);

/* http://127.0.0.1:PORT/#TOKEN */
const char *server_address(const server *s);

/* What is being done, which is told to all who look; NULL: nothing. As cli.told. */
void server_tell(void *s, const char *doing);

/* There will be no answers: tells the reason to who looks, and waits for them some seconds if
** `expected`, or if somebody has the page already. */
void server_fail(server *s, const char *sentence, bool expected);

/* Answers until a signal comes. */
_Noreturn void server_run(server *s, view *v);

/* Did the one go away whose question is being answered? As view.is_gone. */
bool server_asker_is_gone(void *s);

#endif
