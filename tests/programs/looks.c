#define _GNU_SOURCE
/* A policy hook that takes its time: two milliseconds, then it looks at the file of the event itself and refuses one
   that ends in `!`, or an argument that says hostile. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
int main(void) {
  static char event[1 << 20], last;
  size_t len = 0, got;
  while (len < sizeof event - 1 && (got = read(0, event + len, sizeof event - 1 - len)) > 0 && got != (size_t)-1) len += got;
  usleep(2000);
  int bad = strstr(event, "\"hostile\"") != 0;
  char *path = strstr(event, "\"path\":\"");
  if (path) {
    path += 8;
    *strchrnul(path, '"') = 0;
    int file = open(path, O_RDONLY);
    lseek(file, -1, SEEK_END);
    read(file, &last, 1);
  }
  puts(bad || last == '!' ? "{\"verdict\":\"deny\",\"reason\":\"it ends badly\"}" : "{\"verdict\":\"none\"}");
  return 0;
}
