/* usage: forms ROUNDS - every honest form of an exec, so many times: an argv of 2.5 MiB, one of 128 KiB, a chain of
   interpreters (./chain), none and empty argv, execveat by descriptor and by folder, a set-user-id file (./suid), a
   thread that is not the leader, argv in a page that is not in memory, argv[0] unlike the path. Says what did not
   end with 0. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
extern char **environ;
static const char *names[] = {"big argv",    "long argument", "chain", "no argv", "empty argv", "by descriptor",
                              "by folder", "set-user-id",  "thread",  "paged out",     "lying name", 0};
static void *in_thread(void *argv) {
  execve("/bin/true", argv, environ);
  _exit(errno);
}
static void run(int form) {
  char *plain[] = {"true", "a", 0}, *none[] = {0}, *lying[] = {"something else", 0};
  static char block[131072 - 1], *big[22] = {"true"};
  pthread_t thread;
  memset(block, 'x', sizeof block - 1);
  switch (form) {
    case 0: for (int i = 1; i < 21; i++) big[i] = block; execve("/bin/true", big, environ); break;
    case 1: big[1] = block; execve("/bin/true", big, environ); break;
    case 2: execve("./chain", plain, environ); break;
    case 3: execve("/bin/true", 0, environ); break;
    case 4: execve("/bin/true", none, environ); break;
    case 5: syscall(SYS_execveat, open("/bin/true", O_PATH), "", plain, environ, AT_EMPTY_PATH); break;
    case 6: syscall(SYS_execveat, open("/bin", O_PATH), "true", plain, environ, 0); break;
    case 7: execve("./suid", plain, environ); break;
    case 8: pthread_create(&thread, 0, in_thread, plain); pause(); break;
    case 9: {
      int fd = open("page", O_RDWR | O_CREAT, 0600);
      ftruncate(fd, 4096);
      plain[1] = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
      strcpy(plain[1], "from a file");
      msync(plain[1], 4096, MS_SYNC);
      madvise(plain[1], 4096, MADV_PAGEOUT);
      execve("/bin/true", plain, environ);
      break;
    }
    case 10: execve("/bin/true", lying, environ); break;
  }
  _exit(errno);
}
int main(int c, char **v) {
  struct rlimit stack = {64 << 20, 64 << 20};
  setrlimit(RLIMIT_STACK, &stack);
  long failed = 0, done = 0;
  for (long i = atol(v[1]); i > 0; i--)
    for (int form = 0; names[form]; form++) {
      int status;
      pid_t child = fork();
      if (!child) run(form);
      waitpid(child, &status, 0);
      done++;
      if (status) failed++, fprintf(stderr, "%s: status %#x\n", names[form], status);
    }
  printf("done %ld failed %ld\n", done, failed);
  return failed != 0;
}
