/* a service that has no objection to anything: answers each line of stdin under the id that it has */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(void) {
  char *line = 0;
  size_t room = 0;
  setvbuf(stdout, 0, _IOLBF, 0);
  while (getline(&line, &room, stdin) > 0) {
    char *id = strstr(line, "\"id\":");
    if (id) printf("{\"id\":%ld,\"verdict\":\"none\"}\n", atol(id + 5));
  }
  return 0;
}
