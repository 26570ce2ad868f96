/* usage: protect TIMES PATH - execs of PATH with one argument whose page another thread takes away and gives back */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/wait.h>
extern char **environ;
static char *page;
static void *flicker(void *x) {
  for (;;) { mprotect(page, 4096, PROT_NONE); mprotect(page, 4096, PROT_READ | PROT_WRITE); madvise(page + 4096, 4096, MADV_DONTNEED); }
}
int main(int c, char **v) {
  int ran = 0;
  for (int i = atoi(v[1]); i > 0; i--) {
    pid_t p = fork();
    if (!p) {
      page = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      memset(page, 'a', 4095);
      char *a[] = {v[2], page, 0};
      pthread_t t; pthread_create(&t, 0, flicker, 0);
      execve(v[2], a, environ); _exit(127);
    }
    waitpid(p, 0, 0);
  }
  return 0;
}
