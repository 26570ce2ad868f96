/* usage: pageend FILE - exec FILE with its path, its argv array and its last argument each ending exactly where
   readable memory ends, and with one argument that crosses a page; prints errno when it fails */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>
extern char **environ;
static char *room(void) { /* the end of two readable pages; what follows is not readable */
  char *p = mmap(0, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  mprotect(p + 2 * 4096, 4096, PROT_NONE);
  return p + 2 * 4096;
}
static char *at_end(const char *text) { return strcpy(room() - strlen(text) - 1, text); }
int main(int c, char **v) {
  char *crossing = strcpy(room() - 4096 - 4, "crossing");
  char **argv = (char **)room() - 4;
  argv[0] = "echo", argv[1] = crossing, argv[2] = at_end("end"), argv[3] = 0;
  execve(at_end(v[1]), argv, environ);
  printf("%s\n", strerror(errno));
  return 9;
}
