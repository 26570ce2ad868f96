/* usage: naive USEC|floor COMMAND... - the notifier that everybody writes first, for comparison: looks at path, argv and
   envp, thinks for USEC, then lets the kernel read them again. Refuses what mark.c calls denied.
   As floor it only reads path and argv, in as few calls as that takes, and wakes its peer on the same CPU: what
   asking anybody costs at least. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS SECCOMP_IOW(4, __u64)
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP 1
#endif
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

static int text(pid_t pid, uint64_t at, char *into, size_t len) {
  struct iovec ours = {into, len - 1}, theirs = {(void *)at, len - 1};
  ssize_t got = process_vm_readv(pid, &ours, 1, &theirs, 1, 0);
  into[got < 0 ? 0 : got] = 0;
  return got > 0;
}
static int list_is_denied(pid_t pid, uint64_t at) {
  for (int i = 0; i < 64; i++) {
    uint64_t pointer = 0;
    char word[256];
    struct iovec ours = {&pointer, 8}, theirs = {(void *)(at + 8 * i), 8};
    if (process_vm_readv(pid, &ours, 1, &theirs, 1, 0) != 8 || !pointer) break;
    if (text(pid, pointer, word, 64) && strstr(word, "hostile")) return 1;
  }
  return 0;
}
static int is_denied(struct seccomp_notif *n) {
  char path[256], full[512], last = 0;
  text(n->pid, n->data.args[0], path, 64);
  snprintf(full, sizeof full, "/proc/%d/cwd/%s", n->pid, path);
  int fd = open(*path == '/' ? path : full, O_RDONLY);
  lseek(fd, -1, SEEK_END);
  read(fd, &last, 1);
  close(fd);
  return last == '!' || list_is_denied(n->pid, n->data.args[1]) || list_is_denied(n->pid, n->data.args[2]);
}
static void read_path_and_argv(struct seccomp_notif *n) {
  char path[256], words[32][128];
  uint64_t argv[33] = {0};
  struct iovec ours[2] = {{path, sizeof path - 1}, {argv, 32 * 8}}, theirs[32], into[32];
  theirs[0] = (struct iovec){(void *)n->data.args[0], 64};
  theirs[1] = (struct iovec){(void *)n->data.args[1], 32 * 8};
  process_vm_readv(n->pid, ours, 2, theirs, 2, 0);
  int count = 0;
  for (; count < 32 && argv[count]; count++) {
    into[count] = (struct iovec){words[count], 64};
    theirs[count] = (struct iovec){(void *)argv[count], 64};
  }
  process_vm_readv(n->pid, into, count, theirs, count, 0);
}
static void send_fd(int socket, int fd) {
  char data = 0, room[CMSG_SPACE(4)] = {0};
  struct iovec part = {&data, 1};
  struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
  struct cmsghdr *c = CMSG_FIRSTHDR(&m);
  c->cmsg_level = SOL_SOCKET, c->cmsg_type = SCM_RIGHTS, c->cmsg_len = CMSG_LEN(4);
  memcpy(CMSG_DATA(c), &fd, 4);
  sendmsg(socket, &m, 0);
}
static int receive_fd(int socket) {
  char data, room[CMSG_SPACE(4)];
  struct iovec part = {&data, 1};
  struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
  recvmsg(socket, &m, 0);
  int fd;
  memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), 4);
  return fd;
}
int main(int c, char **v) {
  struct sock_filter code[] = {{BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, nr)},
                               {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, SYS_execve},
                               {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_USER_NOTIF},
                               {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW}};
  struct sock_fprog filter = {4, code};
  int pair[2], status, floor = !strcmp(v[1], "floor");
  socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
  pid_t child = fork();
  if (!child) {
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    int listener = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &filter);
    if (listener < 0) _exit(125);
    send_fd(pair[1], listener);
    close(listener);
    execvp(v[2], v + 2);
    _exit(127);
  }
  int listener = receive_fd(pair[0]);
  if (floor) ioctl(listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS, SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP);
  for (;;) {
    struct seccomp_notif n = {0};
    struct pollfd ready = {listener, POLLIN};
    int some = poll(&ready, 1, 100);
    /* Before 6.11 a filter lives on in a dead child until somebody has waited for it. */
    if (!some && waitpid(child, &status, WNOHANG) == child) break;
    if (some != 1) continue;
    if (ready.revents & POLLHUP) break;
    if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &n)) {
      if (errno == EINTR || errno == ENOENT) continue;
      break;
    }
    struct seccomp_notif_resp r = {.id = n.id};
    if (floor) read_path_and_argv(&n);
    if (!floor && is_denied(&n)) r.error = -EPERM;
    else r.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    if (!floor && atoi(v[1])) usleep(atoi(v[1]));
    ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &r);
  }
  waitpid(child, &status, 0);
  return 0;
}
