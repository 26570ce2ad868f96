/* leaves the caller's process group, stops as ^Z would stop it, says when it goes on */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
int main(void) { setpgid(0, 0); raise(SIGTSTP); puts("goes on"); return 7; }
