/*
** parameters.h - for answers.c: the parameters of a question as fields of its request.
*/
#ifndef LUAHEAP_HEAPVIEW_PARAMETERS_H
#define LUAHEAP_HEAPVIEW_PARAMETERS_H

#include "heapview.h"

/* Which snapshot is looked at; all else, once that is analysed. One sentence in *asked->error where
** a parameter is not known, or its value is none. */
int view_take_in(view_asked *asked);
int view_take_parameters(view_asked *asked);

/* part.c: the usage that the question is about, which stays until another part is asked for. */
int view_take_part(view_asked *asked, const lh_usage **out);

/* Analysed and classified, if it was not yet. */
int view_prepare(lh_snapshot *snapshot, lh_error *error);

#endif
