/* a thread's exec fails; leader and sibling live on */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
extern char **environ;
static void *t(void *path) { char *a[] = {path, "M", 0}; execve(path, a, environ); return (void *)(long)errno; }
static void *s(void *x) { usleep(1000); return (void *)77; }
int main(int c, char **v) {
  pthread_t h, g; void *r, *q; pthread_create(&g, 0, s, 0); pthread_create(&h, 0, t, v[1]);
  pthread_join(h, &r); pthread_join(g, &q); printf("errno %ld sibling %ld\n", (long)r, (long)q); return 5;
}
