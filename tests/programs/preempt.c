/* usage: preempt restart|norestart PATH - exec while SIGURG arrives every 5 ms, as Go's runtime interrupts itself */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
extern char **environ;
static void h(int s) { (void)s; }
int main(int c, char **v) {
  struct sigaction a = {.sa_handler = h, .sa_flags = strcmp(v[1], "norestart") ? SA_RESTART : 0};
  sigaction(SIGURG, &a, 0);
  pid_t self = getpid();
  if (!fork()) { for (int i = 0; i < 400 && !kill(self, SIGURG); i++) usleep(5000); _exit(0); }
  do execve(v[2], v + 2, environ); while (errno == EINTR);
  fprintf(stderr, "execve: %s\n", strerror(errno)); return 9;
}
