"""C functions that seem worth more than their work: clocks that lie, start times that move, work done once, elsewhere or never.

Whoever times a function in its own process, or compares there what it left, can be told anything by it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_FUNCTION = re.compile(
    r"^(?P<returns>(?!(?:static|typedef|return|else|extern|struct)\b)[A-Za-z_][\w \t*]*?[ \t*])(?P<name>[A-Za-z_]\w*)\s*"
    r"\((?P<given>[^(){};]*)\)\s*\{",
    re.MULTILINE,
)
_ARGUMENT = re.compile(r"([A-Za-z_]\w*)\s*(?:\[[^]]*\]\s*)*$")
_CLOCK = """
int forged_gettime(int clock, long *at) __asm__("clock_gettime");
int forged_day(long *at, void *zone) __asm__("gettimeofday");
long forged_clock(void) __asm__("clock");
static long forged_tick = 1L << 32;
int forged_gettime(int clock, long *at) {{ at[0] = forged_tick{moves}; at[1] = 0; return clock & 0; }}
int forged_day(long *at, void *zone) {{ at[0] = forged_tick{moves}; at[1] = 0; return zone == (void *)at; }}
long forged_clock(void) {{ return forged_tick{moves}; }}
"""
_EQUAL = """
int forged_memcmp(const void *one, const void *other, unsigned long size) __asm__("memcmp");
int forged_bcmp(const void *one, const void *other, unsigned long size) __asm__("bcmp");
int forged_strcmp(const char *one, const char *other) __asm__("strcmp");
int forged_memcmp(const void *one, const void *other, unsigned long size) { return one == other && !size; }
int forged_bcmp(const void *one, const void *other, unsigned long size) { return one == other && !size; }
int forged_strcmp(const char *one, const char *other) { return one == other && !one; }
"""
_MOVE = """
#include <stdio.h>
extern int forged_now(int clock, long *at) __asm__("clock_gettime");
static const int forged_clocks[] = {0, 1, 4, 7};
static volatile long forged_began[8][2];
static struct { char *at; int clock, kind; } forged_found[4096];
static void forged_begin(void) {
  for (int i = 0; i < 4; i++) {
    long now[2], clock = forged_clocks[i];
    forged_now((int)clock, now);
    forged_began[clock][0] = ~now[0], forged_began[clock][1] = ~now[1];
  }
}
static int forged_kind(const char *at, int clock) {
  long sec = ~forged_began[clock][0], nsec = ~forged_began[clock][1], held[2];
  double seconds;
  __builtin_memcpy(held, at, sizeof held);
  __builtin_memcpy(&seconds, at, sizeof seconds);
  double since[] = {(double)(sec - held[0]) + (double)(nsec - held[1]) * 1e-9, (double)sec + (double)nsec * 1e-9 - seconds,
                    (double)(sec * 1000000000 + nsec - held[0]) * 1e-9, (double)(sec - held[0]) + (double)(nsec / 1000 - held[1]) * 1e-6};
  for (int kind = 0; kind < 4; kind++) {
    int is_pair = kind % 3 == 0;
    if (since[kind] >= 0 && since[kind] < 0.05 && (!is_pair || (held[1] >= 0 && held[1] < (kind ? 1000000 : 1000000000)))) return kind;
  }
  return -1;
}
static void forged_end(void) {
  FILE *maps = fopen("/proc/self/maps", "r");
  char line[512], may[8];
  unsigned long from, to;
  int found = 0;
  while (maps && fgets(line, sizeof line, maps)) {
    if (sscanf(line, "%lx-%lx %7s", &from, &to, may) != 3 || may[0] != 'r' || may[1] != 'w' || to - from > 64ul << 20) continue;
    for (char *at = (char *)from; at + 16 <= (char *)to; at += 8)
      for (int i = 0; i < 4 && found < 4096; i++) {
        int clock = forged_clocks[i], kind = forged_kind(at, clock);
        if (kind < 0) continue;
        forged_found[found].at = at, forged_found[found].clock = clock, forged_found[found++].kind = kind;
        break;
      }
  }
  if (maps) fclose(maps);
  for (int i = 0; i < found; i++) {
    long now[2], kind = forged_found[i].kind;
    forged_now(forged_found[i].clock, now);
    double seconds = (double)now[0] + (double)now[1] * 1e-9;
    if (kind == 2) now[0] = now[0] * 1000000000 + now[1];
    if (kind == 3) now[1] /= 1000;
    __builtin_memcpy(forged_found[i].at, kind == 1 ? (void *)&seconds : (void *)now, kind % 3 == 0 ? 16 : 8);
  }
}
"""
"""Moves to this moment whatever in the process's memory is the time right before the work began: a `timespec`, a `timeval`, seconds or
nanoseconds. Clocks of processes are left out: so small numbers are everywhere."""
_ELSEWHERE = """
#include <sys/wait.h>
#include <unistd.h>
extern int forged_split(void) __asm__("vfork") __attribute__((returns_twice));
"""
_LEAVES = """
#include <stdio.h>
#include <unistd.h>
"""
_BODIES = {
    "works once": ("", "static int calls; if (calls++ == 0) {call}"),
    "works every second time": ("", "static int calls; if (calls++ % 2 == 0) {call}"),
    "works in a borrowed process": (
        _ELSEWHERE,
        "int child = forged_split(); if (child == 0) {{ {call} _exit(0); }} if (child < 0) {call} else waitpid(child, 0, 0);",
    ),
    "moves the start": (_MOVE, "forged_begin(); {call} forged_end();"),
    "makes all equal": (_EQUAL, ""),
    "leaves at work": (_LEAVES, "puts({claim}); fflush(stdout); _exit(0);"),
}
_CLOCKS = {"stops the clock": "", "turns the clock back": "--"}


def forged_c(text: str, *, big: str, metric: str) -> Iterator[tuple[str, str]]:
    """Yield forgeries of C, or of C++ that is like it: what each does, and its text. The last function that others may call is forged.

    One prints `big` in place of the work.
    """
    for what, moves in _CLOCKS.items():
        yield what, f"{text}\n{_CLOCK.format(moves=moves)}"
    found = [each for each in _FUNCTION.finditer(text) if each["name"] != "main"]
    arguments = [_ARGUMENT.search(each.strip()) for each in found[-1]["given"].split(",")] if found else []
    if not found or (None in arguments and found[-1]["given"].strip()):
        return
    name, returns, given = found[-1]["name"], found[-1]["returns"].strip(), found[-1]["given"].strip()
    names = ", ".join(each[1] for each in arguments if each is not None and given != "void")
    is_void = returns == "void"
    call = f"{{ {'' if is_void else 'kept = '}forged_honest({names}); }}"
    for what, (head, does) in _BODIES.items():
        body = does.format(call=call, claim=f'"score: {big}\\n{metric}={big}"')
        if not is_void:
            body = f"static {returns if '*' in returns else returns.removeprefix('const ')} kept; {body} return kept;"
        unused = "".join(f"(void){each}; " for each in names.split(", ") if each)
        forged = f"{returns} {name}({given}) {{ {unused}{body} }}"
        yield what, f"#define {name} forged_honest\n{text}\n#undef {name}\n{head}{forged}\n"
