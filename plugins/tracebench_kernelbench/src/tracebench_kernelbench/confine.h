/* What a process that holds a kernel may ask of the operating system: memory, clocks, its pipes, and to read files. */

#include <fcntl.h>
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static void confine(void) {
  static const int allowed[] = {
      SYS_read,        SYS_write,      SYS_mmap,         SYS_munmap,       SYS_mprotect,   SYS_brk,     SYS_madvise,   SYS_mremap,
      SYS_futex,       SYS_exit,       SYS_exit_group,   SYS_rt_sigreturn, SYS_close,      SYS_fstat,   SYS_newfstatat, SYS_pread64,
      SYS_getrandom,   SYS_getpid,     SYS_gettid,       SYS_clock_gettime, SYS_nanosleep, SYS_clock_nanosleep, SYS_sched_yield,
      SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_lseek, SYS_sched_getaffinity, SYS_sysinfo,
  };
  enum { COUNT = sizeof allowed / sizeof *allowed };
  struct sock_filter steps[2 * COUNT + 16];
  int at = 0;
#define STEP(code, value, yes, no) steps[at++] = (struct sock_filter)BPF_JUMP(code, value, yes, no)
  STEP(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch), 0, 0);
#ifdef __x86_64__
  STEP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0);
#else
  STEP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_AARCH64, 1, 0);
#endif
  STEP(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS, 0, 0);
  STEP(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr), 0, 0);
  for (int i = 0; i < COUNT; i++) {
    STEP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)allowed[i], 0, 1);
    STEP(BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
  }
  STEP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 1, 0);
  STEP(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM, 0, 0);
  /* Files may be read, by the loader of libraries. None may be written: the reference's library is one. */
  STEP(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2]), 0, 0);
  STEP(BPF_ALU | BPF_AND | BPF_K, O_ACCMODE | O_CREAT | O_TRUNC | O_PATH, 0, 0);
  STEP(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0);
  STEP(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM, 0, 0);
  STEP(BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
  struct sock_fprog program = {(unsigned short)at, steps};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) _exit(3);
}
