/* flags: -static
   usage: tree PIPE PROGRAM - does what each line of PIPE (`-`: its stdin) says, and says "done" when it is:
     execs N    starts PROGRAM N times, one after the other
     grow N     lets N processes live, a tree of which each has up to 16 children and has executed this program
     end        lets them end, and waits for it
     over       ends itself
   usage: tree N AT - the AT-th of N; tells by descriptor 10 that it lives, and ends with descriptor 11 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/wait.h>
enum { FAN = 16, READY = 10, HOLD = 11 };
extern char **environ;
static pid_t start(char *file, char **argv) {
  pid_t child = vfork();
  if (!child) { execve(file, argv, environ); _exit(127); }
  if (child < 0) { perror("vfork"); exit(1); }
  return child;
}
static pid_t node(char *self, char *of, int at) {
  char number[16], *argv[] = {self, of, number, 0};
  sprintf(number, "%d", at);
  return start(self, argv);
}
static int lives(char *self, char *of, int at) {
  int status, failed = 0;
  char byte = 0;
  for (int i = 1; i <= FAN && FAN * at + i < atoi(of); i++) node(self, of, FAN * at + i);
  if (write(READY, "", 1) != 1) return 1;
  close(READY);
  while (read(HOLD, &byte, 1) > 0) ;
  while (wait(&status) > 0) failed |= status != 0;
  return failed;
}
static int held;
static pid_t first;
static int grow(char *self, char *of) {
  int ready[2], hold[2], left = atoi(of);
  char bytes[4096];
  ssize_t got;
  if (pipe2(ready, O_CLOEXEC) || pipe2(hold, O_CLOEXEC)) return 1;
  dup2(ready[1], READY), dup2(hold[0], HOLD);
  close(ready[1]), close(hold[0]);
  first = node(self, of, 0);
  close(READY), close(HOLD);
  held = hold[1];
  while (left > 0 && (got = read(ready[0], bytes, sizeof bytes)) > 0) left -= got;
  close(ready[0]);
  return left != 0;
}
static int end(void) {
  int status;
  close(held);
  return waitpid(first, &status, 0) != first || status;
}
static int execs(char *program, long count) {
  int status;
  char *argv[] = {program, 0};
  while (count-- > 0) {
    pid_t child = start(program, argv);
    if (waitpid(child, &status, 0) != child || status) return 1;
  }
  return 0;
}
int main(int c, char **v) {
  char word[16], number[16];
  FILE *in;
  if (c != 3) return 2;
  if (v[1][0] >= '0' && v[1][0] <= '9') return lives(v[0], v[1], atoi(v[2]));
  /* Opened for both: whoever writes to the pipe may close it between two lines. */
  if (!(in = strcmp(v[1], "-") ? fopen(v[1], "r+e") : stdin)) return perror(v[1]), 1;
  while (fscanf(in, "%15s", word) == 1) {
    int failed;
    if (!strcmp(word, "end")) failed = end();
    else if (!strcmp(word, "over")) return 0;
    else if (fscanf(in, "%15s", number) != 1) return 2;
    else failed = strcmp(word, "grow") ? execs(v[2], atol(number)) : grow(v[0], number);
    if (failed) { fprintf(stderr, "tree: %s failed\n", word); return 1; }
    puts("done");
    fflush(stdout);
  }
  return 0;
}
