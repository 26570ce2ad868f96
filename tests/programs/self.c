/* prints what a program can see of how it was started */
#include <stdio.h>
#include <unistd.h>
#include <sys/auxv.h>
int main(int c, char **v) {
  char exe[4096];
  ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
  exe[n < 0 ? 0 : n] = 0;
  printf("exe %s\nexecfn %s\nargv0 %s\nsecure %lu\n", exe, (char *)getauxval(AT_EXECFN), v[0], getauxval(AT_SECURE));
  return 0;
}
