/* usage: lead COMMAND... - as the leader of a new session whose terminal is stdin */
#include <stdio.h>
#include <unistd.h>
#include <sys/ioctl.h>
int main(int c, char **v) {
  if (setsid() < 0 || ioctl(0, TIOCSCTTY, 0) < 0) { perror("lead"); return 99; }
  execvp(v[1], v + 1); perror(v[1]); return 98;
}
