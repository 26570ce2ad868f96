/* usage: crowd EXECS SECONDS - 16 threads start /bin/true at once, by posix_spawn and by vfork, until so many were
   started or the time is over; says how many there were and how many did not end with 0. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/wait.h>
extern char **environ;
static long left, done, failed;
static time_t end;
static void *work(void *number) {
  char *argv[] = {"true", number, 0};
  while (__atomic_sub_fetch(&left, 1, __ATOMIC_SEQ_CST) >= 0 && time(0) < end) {
    pid_t child = 0;
    int status = -1;
    if ((long)number % 2) {
      if (posix_spawn(&child, "/bin/true", 0, 0, argv, environ)) child = 0;
    } else if (!(child = vfork())) {
      execve("/bin/true", argv, environ);
      _exit(errno);
    }
    if (child > 0) while (waitpid(child, &status, 0) < 0 && errno == EINTR) ;
    __atomic_add_fetch(&done, 1, __ATOMIC_SEQ_CST);
    if (status) {
      __atomic_add_fetch(&failed, 1, __ATOMIC_SEQ_CST);
      fprintf(stderr, "child %d: status %#x\n", child, status);
    }
  }
  return 0;
}
int main(int c, char **v) {
  static char names[16][16];
  pthread_t threads[16];
  left = atol(v[1]), end = time(0) + atol(v[2]);
  for (long i = 0; i < 16; i++) {
    /* odd addresses spawn, even ones vfork */
    char *name = names[i] + i % 2;
    sprintf(name, "%ld", i);
    pthread_create(&threads[i], 0, work, name);
  }
  for (int i = 0; i < 16; i++) pthread_join(threads[i], 0);
  printf("done %ld failed %ld\n", done, failed);
  return failed != 0;
}
