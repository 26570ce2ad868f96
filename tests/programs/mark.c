/* flags: -static
   What the races want to run: adds a line to `marks` when it runs in a denied form - its file ends in `!`, an
   argument or a variable says hostile - and is silent otherwise. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
extern char **environ;
static void mark(const char *what) {
  int fd = open("marks", O_WRONLY | O_APPEND | O_CREAT, 0666);
  write(fd, what, strlen(what));
}
int main(int c, char **v) {
  char last = 0;
  int self = open("/proc/self/exe", O_RDONLY);
  lseek(self, -1, SEEK_END);
  read(self, &last, 1);
  if (last == '!') mark("file\n");
  for (; *v; v++) if (strstr(*v, "hostile")) mark("argument\n");
  for (; *environ; environ++) if (strstr(*environ, "hostile")) mark("variable\n");
  return 0;
}
