/* usage: rooted DIR FILE [ARGS...] - chroot to DIR, then exec FILE there; prints errno when it fails */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
extern char **environ;
int main(int c, char **v) {
  if (chroot(v[1]) || chdir("/")) return perror("chroot"), 8;
  execve(v[2], v + 2, environ);
  printf("%s\n", strerror(errno));
  return 9;
}
