/* Two processes that trace each other execute /bin/true; what hangs here hangs us. Says what the execs came to. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
extern char **environ;
int main(void) {
  char *argv[] = {"true", 0};
  int go[2], back[2];
  char byte;
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
  pipe(go), pipe(back);
  pid_t first = fork();
  if (!first) {
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
    pid_t second = fork();
    if (!second) {
      long traced = ptrace(PTRACE_SEIZE, getppid(), 0, 0);
      write(go[1], traced ? "n" : "y", 1);
      read(back[0], &byte, 1);
      execve("/bin/true", argv, environ);
      _exit(errno);
    }
    read(go[0], &byte, 1);
    long traced = ptrace(PTRACE_SEIZE, second, 0, 0);
    printf("child traces parent: %c, parent traces child: %c\n", byte, traced ? 'n' : 'y');
    fflush(stdout);
    write(back[1], "", 1);
    execve("/bin/true", argv, environ);
    _exit(errno);
  }
  int status;
  waitpid(first, &status, 0);
  printf("ended %#x\n", status);
  return 0;
}
