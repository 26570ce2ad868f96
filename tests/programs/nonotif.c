/* usage: nonotif receive|answer|ask|killable COMMAND... - under a filter that spoils one part of seccomp notification */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#define DATA(field) offsetof(struct seccomp_data, field)
#define LOAD(at) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, at)
#define RET(what) BPF_STMT(BPF_RET | BPF_K, what)
int main(int c, char **v) {
  int killable = !strcmp(v[1], "killable"); /* WAIT_KILLABLE_RECV does not exist, as before 5.19 */
  unsigned ioctl = !strcmp(v[1], "receive") ? 0xc0502100 : !strcmp(v[1], "answer") ? 0xc0182101 : 0x40082102;
  struct sock_filter by_ioctl[] = {LOAD(DATA(nr)), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ioctl, 0, 2), LOAD(DATA(args[1])),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ioctl, 1, 0), RET(SECCOMP_RET_ALLOW), RET(SECCOMP_RET_ERRNO | EPERM)};
  struct sock_filter by_flag[] = {LOAD(DATA(nr)), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_seccomp, 0, 2), LOAD(DATA(args[1])),
    BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 32, 1, 0), RET(SECCOMP_RET_ALLOW), RET(SECCOMP_RET_ERRNO | EINVAL)};
  struct sock_fprog filter = {6, killable ? by_flag : by_ioctl};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter)) { perror("seccomp"); return 99; }
  execvp(v[2], v + 2); perror(v[2]); return 98;
}
