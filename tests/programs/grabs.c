/* usage: grabs GENERATIONS - tries everything on so many of its ancestors (the reaper, the supervisor, the front):
   to read and write their memory, to trace them, to take their descriptors. Prints a line for each try that worked. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

static int parent_of(int pid) {
  char path[64], line[512];
  snprintf(path, sizeof path, "/proc/%d/stat", pid);
  FILE *stat = fopen(path, "r");
  if (!stat || !fgets(line, sizeof line, stat)) return 0;
  fclose(stat);
  return atoi(strrchr(line, ')') + 4);
}
static void said(int pid, const char *what, long result) {
  if (result >= 0) printf("%s of %d worked\n", what, pid);
  else printf("%s of %d: %s\n", what, pid, strerrorname_np(errno));
}
static void attack(int pid) {
  char path[64], byte = 0;
  /* Whatever is mapped at an address of ours, it may be mapped there as well: without rights it never gets so far. */
  struct iovec ours = {&byte, 1}, theirs = {(void *)parent_of, 1};
  said(pid, "process_vm_readv", process_vm_readv(pid, &ours, 1, &theirs, 1, 0));
  said(pid, "process_vm_writev", process_vm_writev(pid, &ours, 1, &theirs, 1, 0));
  snprintf(path, sizeof path, "/proc/%d/mem", pid);
  said(pid, "mem", open(path, O_RDWR));
  snprintf(path, sizeof path, "/proc/%d/fd/0", pid);
  said(pid, "fd", open(path, O_RDONLY));
  int handle = syscall(SYS_pidfd_open, pid, 0);
  for (int fd = 0; fd < 64; fd++) {
    long got = syscall(SYS_pidfd_getfd, handle, fd, 0);
    if (got >= 0 || fd == 63) said(pid, "pidfd_getfd", got);
  }
  said(pid, "PTRACE_SEIZE", ptrace(PTRACE_SEIZE, pid, 0, 0));
  said(pid, "PTRACE_ATTACH", ptrace(PTRACE_ATTACH, pid, 0, 0));
}
int main(int c, char **v) {
  int pid = getpid();
  for (int i = atoi(v[1]); i > 0; i--) attack(pid = parent_of(pid));
  return 0;
}
