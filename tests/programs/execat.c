/* usage: execat dir DIR NAME | cwd NAME | fd FILE | absolute DIR FILE | nofollow FILE
   - exec by execveat in one of its forms, argv {"x"}; prints errno when it fails */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sys/syscall.h>
extern char **environ;
static void at(int dir, const char *name, int flags) {
  char *argv[] = {"x", 0};
  syscall(SYS_execveat, dir, name, argv, environ, flags);
  printf("%s\n", strerror(errno));
}
int main(int c, char **v) {
  if (!strcmp(v[1], "dir")) at(open(v[2], O_PATH), v[3], 0);
  if (!strcmp(v[1], "absolute")) at(open(v[2], O_PATH), v[3], 0);
  if (!strcmp(v[1], "cwd")) at(AT_FDCWD, v[2], 0);
  if (!strcmp(v[1], "fd")) at(open(v[2], O_PATH), "", AT_EMPTY_PATH);
  if (!strcmp(v[1], "nofollow")) at(AT_FDCWD, v[2], AT_SYMLINK_NOFOLLOW);
  return 9;
}
