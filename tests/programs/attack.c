/* usage: attack PID... - everything a hostile program may try on processes of its own user; prints what worked */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
static void tried(const char *what, int pid, int worked) { printf("%s %s\n", worked ? "WORKED" : "failed", what); }
static void opened(const char *file, int pid, int how) {
  char path[64], byte; snprintf(path, sizeof path, "/proc/%d/%s", pid, file);
  int fd = open(path, how); tried(file, pid, fd >= 0 && (strcmp(file, "environ") || read(fd, &byte, 1) == 1)); if (fd >= 0) close(fd);
}
int main(int c, char **v) {
  prctl(PR_SET_PDEATHSIG, 0);
  for (int i = 1; i < c; i++) {
    int pid = atoi(v[i]), signals[] = {SIGKILL, SIGSTOP, SIGTERM, SIGCONT, SIGABRT, 0};
    for (int s = 0; signals[s]; s++) tried("kill", pid, !kill(pid, signals[s]));
    tried("tgkill", pid, !syscall(SYS_tgkill, pid, pid, SIGKILL));
    union sigval none = {0}; tried("sigqueue", pid, !sigqueue(pid, SIGKILL, none));
    int pidfd = syscall(SYS_pidfd_open, pid, 0);
    tried("pidfd_send_signal", pid, !syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, 0, 0));
    for (int fd = 0; fd < 64; fd++) if (syscall(SYS_pidfd_getfd, pidfd, fd, 0) >= 0) tried("pidfd_getfd", pid, 1);
    tried("attach", pid, !ptrace(PTRACE_ATTACH, pid, 0, 0));
    tried("seize", pid, !ptrace(PTRACE_SEIZE, pid, 0, 0));
    char byte; struct iovec here = {&byte, 1}, there = {main, 1};
    /* EFAULT would say that only the address was wrong */
    tried("readv", pid, process_vm_readv(pid, &here, 1, &there, 1, 0) > 0 || errno == EFAULT);
    tried("writev", pid, process_vm_writev(pid, &here, 1, &there, 1, 0) > 0 || errno == EFAULT);
    opened("mem", pid, O_RDWR); opened("environ", pid, O_RDONLY); opened("maps", pid, O_RDONLY); opened("auxv", pid, O_RDONLY);
    opened("fd/0", pid, O_RDWR); opened("cwd", pid, O_RDONLY | O_DIRECTORY); opened("root", pid, O_RDONLY | O_DIRECTORY);
    for (int fd = 3; fd < 64; fd++) {
      char path[64], to[256]; snprintf(path, sizeof path, "/proc/%d/fd/%d", pid, fd);
      if (readlink(path, to, sizeof to) > 0) tried("readlink", pid, 1);
    }
  }
  puts("done"); return 0;
}
