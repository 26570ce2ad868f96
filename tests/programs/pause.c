/* usage: pause MILLISECONDS - a policy hook that takes its time and has no objection */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int c, char **v) { usleep(atoi(v[1]) * 1000); puts("{\"verdict\":\"none\"}"); return 0; }
