/* usage: spawns spawn|vfork N PROGRAM - starts PROGRAM N times, one after the other, by posix_spawn or by vfork and
   execve; prints nanoseconds per start */
#define _GNU_SOURCE
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/wait.h>
extern char **environ;
int main(int c, char **v) {
  int by_vfork = !strcmp(v[1], "vfork"), n = atoi(v[2]);
  char *args[] = {v[3], 0};
  struct timespec a, b;
  clock_gettime(CLOCK_MONOTONIC, &a);
  for (int i = 0; i < n; i++) {
    pid_t child;
    int status;
    if (by_vfork) {
      child = vfork();
      if (!child) { execve(v[3], args, environ); _exit(127); }
    } else if (posix_spawn(&child, v[3], 0, 0, args, environ)) return 1;
    if (waitpid(child, &status, 0) != child || status) return 1;
  }
  clock_gettime(CLOCK_MONOTONIC, &b);
  printf("%.0f\n", ((b.tv_sec - a.tv_sec) * 1e9 + (b.tv_nsec - a.tv_nsec)) / n);
  return 0;
}
