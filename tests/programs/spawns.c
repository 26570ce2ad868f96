/* usage: spawns spawn|vfork N PROGRAM [THREADS [PIECES]] - starts PROGRAM N times in all, each thread one after the other,
   by posix_spawn or by vfork and execve, with so many arguments of 128 KiB; prints nanoseconds per start */
#define _GNU_SOURCE
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/wait.h>
extern char **environ;
static char *args[64];
static int by_vfork, each;
static void *work(void *nothing) {
  for (int i = 0; i < each; i++) {
    pid_t child;
    int status;
    if (by_vfork) {
      child = vfork();
      if (!child) { execve(args[0], args, environ); _exit(127); }
    } else if (posix_spawn(&child, args[0], 0, 0, args, environ)) exit(1);
    if (waitpid(child, &status, 0) != child || status) exit(1);
  }
  return nothing;
}
int main(int c, char **v) {
  int threads = c > 4 ? atoi(v[4]) : 1, pieces = c > 5 ? atoi(v[5]) : 0;
  pthread_t others[64];
  struct timespec a, b;
  if (threads < 1 || threads > 64 || pieces > 60) return 2;
  by_vfork = !strcmp(v[1], "vfork");
  each = atoi(v[2]) / threads;
  args[0] = v[3];
  for (int i = 1; i <= pieces; i++) {
    args[i] = malloc(128 * 1024);
    memset(args[i], 'x', 128 * 1024 - 1);
    args[i][128 * 1024 - 1] = 0;
  }
  clock_gettime(CLOCK_MONOTONIC, &a);
  for (int i = 1; i < threads; i++)
    if (pthread_create(&others[i], 0, work, 0)) return 1;
  work(0);
  for (int i = 1; i < threads; i++) pthread_join(others[i], 0);
  clock_gettime(CLOCK_MONOTONIC, &b);
  printf("%.0f\n", ((b.tv_sec - a.tv_sec) * 1e9 + (b.tv_nsec - a.tv_nsec)) / (each * threads));
  return 0;
}
