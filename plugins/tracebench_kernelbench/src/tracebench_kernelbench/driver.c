/* The judge's driver. It runs a candidate's kernel and the reference, each in a locked process of its own, on the same fresh inputs; and that
   with PAIRS pairs of processes, one after the other, for where the pages of one process happen to lie can be worth a tenth of its time.

   driver CANDIDATE.so REFERENCE.so ARRAY... with one ARRAY per argument of the kernel, the output last: f:COUNT:LOW:HIGH (floats),
   i:COUNT:LIMIT (integers below it), p:COUNT:LIMIT (offsets that rise by less than it). Standard input, which is read after both processes
   exist, holds what they must not know:

     NONCE WARM LEAST MOST BUDGET_MS END_MS CALL_MS RTOL ATOL PICKS PICK... SEED...      (PAIRS * (WARM + MOST) seeds)

   WARM, LEAST, MOST and BUDGET_MS are of one pair of processes; after END_MS of processor time no further pair begins, nor does this one
   go on for longer than two timed rounds.

   Standard output: the nonce, then lines `fail`, `pair` (which one, and times), `out`, `roof`, `end`. A process has no way to it.

   Times are the processor time of the whole process as the kernel of the operating system counts it, from the end of one call to the end of
   the next: work that is done before a call begins, or after it claims to have ended, counts as well. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "confine.h"

enum { MOST_ARRAYS = 8, CANARY = 4096, MOST_ROUNDS = 4096, PAIRS = 9, WORKERS = 2 * PAIRS };

typedef struct {
  char kind;
  size_t count, offset;
  float low, high;
  uint64_t limit;
} Array;

typedef struct {
  pid_t pid;
  int go, done;
  char *region;
  clockid_t clock;
  int64_t cpu;    /* of the process, at the end of its last call */
  const char *name;
} Worker;

typedef void (*Kernel)(void *, void *, void *, void *, void *, void *, void *, void *);

static Array arrays[MOST_ARRAYS];
static int n_arrays;
static size_t inputs_size, output_offset, output_size, region_size;

/* ---- inputs: the same numbers as `problem.py` draws ---- */

static uint64_t draw(uint64_t seed, uint64_t place) {
  uint64_t x = seed + (place + 1) * 0x9E3779B97F4A7C15ull;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

static void fill(const Array *array, char *at, uint64_t seed) {
  if (array->kind == 'f') {
    float *values = (float *)at, span = array->high - array->low;
    for (size_t i = 0; i < array->count; i++) {
      float unit = (float)(draw(seed, i) >> 40) * 0x1p-24f, scaled = span * unit;
      values[i] = array->low + scaled;
    }
    return;
  }
  int32_t *values = (int32_t *)at;
  if (array->kind == 'i') {
    for (size_t i = 0; i < array->count; i++) values[i] = (int32_t)(((draw(seed, i) >> 32) * array->limit) >> 32);
    return;
  }
  values[0] = 0;
  for (size_t i = 1; i < array->count; i++)
    values[i] = values[i - 1] + (int32_t)(((draw(seed, i) >> 32) * array->limit) >> 32);
}

/* ---- the worker: a process that holds one kernel and nothing else ---- */

static void say(char word) {
  if (write(4, &word, 1) != 1) _exit(0);
}

static void work(const char *library, char *region, int go, int done) {
  int null = open("/dev/null", O_RDWR);
  for (int fd = 0; fd < 3; fd++) dup2(null, fd);
  int from = fcntl(go, F_DUPFD, 100), to = fcntl(done, F_DUPFD, 100);
  dup2(from, 3);
  dup2(to, 4);
  close_range(5, ~0u, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  void *place[MOST_ARRAYS] = {0};
  for (int i = 0; i < n_arrays; i++) place[i] = region + arrays[i].offset;
  char word;
  if (read(3, &word, 1) != 1) _exit(0);
  confine();
  void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  Kernel kernel = handle ? (Kernel)(uintptr_t)dlsym(handle, "kernel") : NULL;
  say(kernel ? 'k' : handle ? 's' : 'l');
  while (kernel && read(3, &word, 1) == 1) {
    kernel(place[0], place[1], place[2], place[3], place[4], place[5], place[6], place[7]);
    say('d');
  }
  _exit(0);
}

/* ---- the driver ---- */

static int64_t now(clockid_t clock) {
  struct timespec t;
  if (clock_gettime(clock, &t)) return 0;
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* The processor time of all three: a machine that is busy with others takes longer over as many rounds, and not fewer. */
static int64_t spent(Worker *both[]) { return now(CLOCK_PROCESS_CPUTIME_ID) + now(both[0]->clock) + now(both[1]->clock); }

static void finish(void) {
  puts("end");
  fflush(stdout);
  _exit(0);
}

static void *reserve(size_t size) {
  void *found = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (found == MAP_FAILED) _exit(4);
  return found;
}

/* All workers find the same things at the same addresses: where a library lies beside its data alone can be worth a quarter of its time.
   The region comes to the place of the first, the other workers' are gone, and nothing is put where a region lay. */
static char *settle_in(char *regions[], int mine) {
  char *first = regions[0];
  if (mine && mremap(regions[mine], region_size, region_size, MREMAP_MAYMOVE | MREMAP_FIXED, first) != first) _exit(4);
  for (int i = 1; i < WORKERS; i++)
    if (mmap(regions[i], region_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) != regions[i]) _exit(4);
  return first;
}

static Worker start(const char *name, const char *library, char *regions[], int mine) {
  int go[2], done[2];
  if (pipe2(go, O_CLOEXEC) || pipe2(done, O_CLOEXEC)) _exit(4);
  pid_t pid = fork();
  if (pid < 0) _exit(4);
  if (pid == 0) work(library, settle_in(regions, mine), go[0], done[1]);
  close(go[0]);
  close(done[1]);
  Worker worker = {pid, go[1], done[0], regions[mine], 0, 0, name};
  if (clock_getcpuclockid(pid, &worker.clock)) _exit(4);
  return worker;
}

/* End a worker: what it would still do takes nobody's time. */
static void stop(const Worker *worker) {
  kill(worker->pid, SIGKILL);
  waitpid(worker->pid, NULL, 0);
  close(worker->go);
  close(worker->done);
}

/* Send a word and wait for the answer; 0 when there is none, which is told as a failure. */
static char ask(Worker *worker, int round, int milliseconds) {
  char word = 'g';
  if (write(worker->go, &word, 1) == 1) {
    struct pollfd waiting = {worker->done, POLLIN, 0};
    if (poll(&waiting, 1, milliseconds) == 0) {
      printf("fail %s hang %d %d\n", worker->name, round, milliseconds);
      return 0;
    }
    if (read(worker->done, &word, 1) == 1) return word;
  }
  int status = 0;
  waitpid(worker->pid, &status, 0);
  if (WIFSIGNALED(status))
    printf("fail %s crash %d %d\n", worker->name, round, WTERMSIG(status));
  else
    printf("fail %s exit %d %d\n", worker->name, round, WEXITSTATUS(status));
  return 0;
}

/* One call on fresh inputs: the output goes to `out`; the times are returned. 0 when it failed. */
static int call(Worker *worker, int round, const char *inputs, char *out, int milliseconds, int64_t *cpu, int64_t *wall) {
  memcpy(worker->region, inputs, inputs_size);
  memset(worker->region + output_offset, 0xFF, output_size + CANARY);
  int64_t began = now(CLOCK_MONOTONIC);
  if (!ask(worker, round, milliseconds)) return 0;
  *wall = now(CLOCK_MONOTONIC) - began;
  memcpy(out, worker->region + output_offset, output_size);
  int64_t used = now(worker->clock);
  *cpu = used - worker->cpu;
  worker->cpu = used;
  if (memcmp(worker->region, inputs, inputs_size)) {
    printf("fail %s mutated %d 0\n", worker->name, round);
    return 0;
  }
  const unsigned char *beyond = (unsigned char *)worker->region + output_offset + output_size;
  for (int i = 0; i < CANARY; i++)
    if (beyond[i] != 0xFF) {
      printf("fail %s overrun %d %d\n", worker->name, round, i);
      return 0;
    }
  return 1;
}

static int agree(int round, const char *got, const char *want, double rtol, double atol) {
  const Array *output = &arrays[n_arrays - 1];
  for (size_t i = 0; i < output->count; i++) {
    double a = output->kind == 'f' ? ((const float *)got)[i] : ((const int32_t *)got)[i];
    double b = output->kind == 'f' ? ((const float *)want)[i] : ((const int32_t *)want)[i];
    if (a == b || (isfinite(a) && isfinite(b) && fabs(a - b) <= atol + rtol * fabs(b))) continue;
    printf("fail candidate differs %d %zu %.9g %.9g\n", round, i, a, b);
    return 0;
  }
  return 1;
}

static void show(int round, const unsigned char *data, size_t size) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  char *text = reserve(size / 3 * 4 + 8), *to = text;
  for (size_t i = 0; i < size; i += 3) {
    unsigned bits = data[i] << 16 | (i + 1 < size ? data[i + 1] << 8 : 0) | (i + 2 < size ? data[i + 2] : 0);
    *to++ = digits[bits >> 18];
    *to++ = digits[bits >> 12 & 63];
    *to++ = i + 1 < size ? digits[bits >> 6 & 63] : '=';
    *to++ = i + 2 < size ? digits[bits & 63] : '=';
  }
  printf("out %d %.*s\n", round, (int)(to - text), text);
}

/* The machine's ceilings: nanoseconds to copy as much as the kernel must move, and operations per nanosecond. */
typedef float Lanes __attribute__((vector_size(64)));

__attribute__((optimize("fp-contract=fast"))) static double operations(void) {
  enum { ROUNDS = 20000, CHAINS = 10 };
  Lanes sums[CHAINS] = {{0}}, factor, term;
  for (int i = 0; i < 16; i++) factor[i] = 0.999f, term[i] = 0.001f;
  double best = 0;
  for (int attempt = 0; attempt < 3; attempt++) {
    int64_t began = now(CLOCK_THREAD_CPUTIME_ID);
    for (int i = 0; i < ROUNDS; i++) {
      for (int k = 0; k < CHAINS; k++) sums[k] = sums[k] * factor + term;
      __asm__ volatile("" : "+m"(term));
    }
    double rate = 2.0 * 16 * ROUNDS * CHAINS / (double)(now(CLOCK_THREAD_CPUTIME_ID) - began);
    if (rate > best) best = rate;
  }
  volatile float keep = 0;
  for (int k = 0; k < CHAINS; k++) keep += sums[k][0];
  return best;
}

static void roof(char *from, char *to) {
  int64_t least = INT64_MAX;
  for (int attempt = 0; attempt < 5; attempt++) {
    int64_t began = now(CLOCK_THREAD_CPUTIME_ID);
    memcpy(to, from, inputs_size + output_size);
    int64_t took = now(CLOCK_THREAD_CPUTIME_ID) - began;
    if (took < least) least = took;
  }
  /* A copy reads and writes; a kernel moves each byte once. */
  printf("roof %lld %.4g\n", (long long)least / 2, operations());
}

/* Stay on one core, and the workers with us: two cores are never equally busy. */
static void settle(void) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  sched_setaffinity(0, sizeof one, &one);
}

static void lay_out(int count, char **texts) {
  size_t at = 0;
  n_arrays = count;
  for (int i = 0; i < count; i++) {
    Array *array = &arrays[i];
    array->kind = texts[i][0];
    if (array->kind == 'f')
      sscanf(texts[i] + 2, "%zu:%f:%f", &array->count, &array->low, &array->high);
    else
      sscanf(texts[i] + 2, "%zu:%lu", &array->count, &array->limit);
    if (i == count - 1) inputs_size = at;
    array->offset = at;
    at += (array->count * 4 + 4095) / 4096 * 4096;
  }
  output_offset = inputs_size;
  output_size = arrays[count - 1].count * 4;
  region_size = (output_offset + output_size + CANARY + 4095) / 4096 * 4096;
}

typedef struct {
  int warm, least, most, budget, end, limit, picks; /* milliseconds, and rounds */
  double rtol, atol;
} Plan;

static int picked[MOST_ROUNDS];
static uint64_t seeds[MOST_ROUNDS];

/* Load both libraries into a pair of workers, and call them by turns; the nanoseconds of processor time that it took are returned. */
static int64_t compare(Worker *both[], int pair, const Plan *plan, int64_t before, char *inputs, char *wanted, char *got) {
  for (int i = 0; i < 2; i++) {
    char word = ask(both[i], -1, plan->limit);
    if (word != 'k') {
      if (word) printf("fail %s %s -1 0\n", both[i]->name, word == 's' ? "symbol" : "library");
      finish();
    }
    both[i]->cpu = now(both[i]->clock);
  }
  int64_t began = spent(both);
  for (int turn = 0; turn < plan->warm + plan->most; turn++) {
    int64_t used = spent(both) - began;
    int timed = turn - plan->warm, whole = timed >= 2 && timed % 2 == 0;
    if (whole && (before + used > (int64_t)plan->end * 1000000 || (timed >= plan->least && used > (int64_t)plan->budget * 1000000))) break;
    int round = pair * (plan->warm + plan->most) + turn;
    for (int i = 0; i < n_arrays - 1; i++) fill(&arrays[i], inputs + arrays[i].offset, draw(seeds[round], (uint64_t)i));
    int64_t cpu[2], wall[2];
    for (int i = 0; i < 2; i++) {
      int who = (i + turn) % 2; /* each goes first in every second round */
      if (!call(both[who], round, inputs, who ? got : wanted, plan->limit, &cpu[who], &wall[who])) finish();
    }
    for (int i = 0; i < plan->picks; i++)
      if (picked[i] == round) show(round, (unsigned char *)got, output_size);
    if (!agree(round, got, wanted, plan->rtol, plan->atol)) finish();
    if (timed >= 0)
      printf("pair %d %lld %lld %lld %lld\n", pair, (long long)cpu[0], (long long)cpu[1], (long long)wall[0], (long long)wall[1]);
  }
  return spent(both) - began;
}

int main(int argc, char **argv) {
  if (argc < 5 || argc - 3 > MOST_ARRAYS) return 2;
  prctl(PR_SET_DUMPABLE, 0);
  signal(SIGPIPE, SIG_IGN);
  settle();
  lay_out(argc - 3, argv + 3);
  char *regions[WORKERS];
  Worker workers[WORKERS];
  for (int i = 0; i < WORKERS; i++) {
    regions[i] = mmap(NULL, region_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (regions[i] == MAP_FAILED) return 4;
  }
  for (int i = 0; i < WORKERS; i++) workers[i] = start(i % 2 ? "candidate" : "reference", argv[2 - i % 2], regions, i);

  char nonce[80];
  Plan plan;
  if (scanf("%79s %d %d %d %d %d %d %lf %lf %d", nonce, &plan.warm, &plan.least, &plan.most, &plan.budget, &plan.end, &plan.limit,
            &plan.rtol, &plan.atol, &plan.picks) != 10) return 2;
  if (PAIRS * (plan.warm + plan.most) > MOST_ROUNDS || plan.picks > MOST_ROUNDS) return 2;
  for (int i = 0; i < plan.picks; i++)
    if (scanf("%d", &picked[i]) != 1) return 2;
  for (int i = 0; i < PAIRS * (plan.warm + plan.most); i++)
    if (scanf("%lu", &seeds[i]) != 1) return 2;
  if (ftruncate(0, 0)) clearerr(stdin); /* what was read can be read by nobody else; a pipe is empty anyway */
  puts(nonce);

  char *inputs = reserve(region_size), *wanted = reserve(output_size + 8), *got = reserve(output_size + 8);
  int64_t used = 0;
  for (int pair = 0; pair < PAIRS && (pair == 0 || used < (int64_t)plan.end * 1000000); pair++) {
    Worker *both[] = {&workers[2 * pair], &workers[2 * pair + 1]};
    used += compare(both, pair, &plan, used, inputs, wanted, got);
    for (int i = 0; i < 2; i++) stop(both[i]);
  }
  roof(inputs, reserve(region_size));
  finish();
}
