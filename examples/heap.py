#!/usr/bin/env python3
"""heap.py - asks luaheap's questions from Python, through libluaheap.so.

    export LD_LIBRARY_PATH=.../luaheap/build    where luaheap is not installed
    python3 heap.py SNAPSHOT...            the biggest classes of the last snapshot, and what grew
    with Heap("a", "b", "c") as heap:      or as a module
        for group in heap.ask("diff")["groups"]: print(group["held_by"], group["objects"])

A question has the name of a command's option (heaptop --waste is "waste"), or is "classes",
"objects", "info", "diff"; its answer has the keys that --json has, as the man pages list them.
Arguments are those of lib/report/request.c, such as limit=5, sort="shallow", at="_G.cache".
"""
import ctypes
import json
import sys

lib = ctypes.CDLL("libluaheap.so.1")
lib.lh_error_new.restype = ctypes.c_void_p
lib.lh_error_message.restype = ctypes.c_char_p


class Heap:
    def __init__(self, *paths):
        self.snapshots = (ctypes.c_void_p * len(paths))()
        for i, path in enumerate(paths):
            one = ctypes.c_void_p()
            self._check("lh_open", ctypes.byref(one), path.encode())
            self.snapshots[i] = one

    def _check(self, function, *arguments):
        error = ctypes.c_void_p(lib.lh_error_new())
        try:
            if getattr(lib, function)(*arguments, error) != 0:
                raise RuntimeError(lib.lh_error_message(error).decode())
        finally:
            lib.lh_free(error)

    def ask(self, question, **arguments):
        """The answer about the last snapshot, compared with the others where it compares."""
        words = [str(word).encode() for pair in arguments.items() for word in pair]
        text = ctypes.c_void_p()
        self._check("lh_answer_json", self.snapshots, ctypes.c_size_t(len(self.snapshots)),
                    question.encode(), (ctypes.c_char_p * (len(words) + 1))(*words),
                    ctypes.byref(text))
        try:
            return json.loads(ctypes.string_at(text))
        finally:
            lib.lh_free(text)

    def close(self):
        for i, snapshot in enumerate(self.snapshots):
            lib.lh_close(ctypes.c_void_p(snapshot))
            self.snapshots[i] = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


if __name__ == "__main__":
    if len(sys.argv) == 1:
        sys.exit("usage: heap.py SNAPSHOT...")
    with Heap(*sys.argv[1:]) as heap:
        for row in heap.ask("classes", limit=5)["classes"]:
            print(f'{row["retained_bytes"]:>12,} bytes  {row["objects"]:>8,}  {row["class"]}')
        if len(sys.argv) > 2:
            for row in heap.ask("diff", limit=5)["groups"]:
                print(f'{row["objects"]:>8,} new {row["class"]} at {row["held_by"]}')
