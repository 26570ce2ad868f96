/* usage: vanish TIMES PATH - children that exec PATH and are killed 0 to 3 ms later */
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/wait.h>
extern char **environ;
int main(int c, char **v) {
  for (int i = atoi(v[1]); i > 0; i--) {
    pid_t p = fork(); if (!p) { execve(v[2], v + 2, environ); _exit(127); }
    usleep(i % 31 * 100); kill(p, SIGKILL); waitpid(p, 0, 0);
  }
  return 0;
}
