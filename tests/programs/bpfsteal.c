/* usage: bpfsteal [map:N|prog:N|link:N]... - tries to get hold of every BPF map, program and link by number, as root
   could without a guard, and says what came of it; given numbers, says of each whether it is there or gone. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/bpf.h>
#include <sys/syscall.h>

static int ask(int command, union bpf_attr *attr) { return syscall(SYS_bpf, command, attr, sizeof *attr); }

/* Walks the numbers of one kind; opens what it finds. */
static void walk(const char *kind, int next, int open) {
  int found = 0, opened = 0, refused = 0;
  union bpf_attr attr = {.start_id = 0};
  while (!ask(next, &attr)) {
    found++;
    union bpf_attr which = {.map_id = attr.next_id};
    int fd = ask(open, &which);
    if (fd >= 0) opened++, close(fd); else refused = errno;
    attr.start_id = attr.next_id;
  }
  printf("%s found %d opened %d (walk ended: %s%s%s)\n", kind, found, opened, strerror(errno),
         refused ? ", open: " : "", refused ? strerror(refused) : "");
}
static void look(const char *which) {
  union bpf_attr attr = {.map_id = atoi(strchr(which, ':') + 1)};
  int command = *which == 'm' ? BPF_MAP_GET_FD_BY_ID : *which == 'p' ? BPF_PROG_GET_FD_BY_ID : BPF_LINK_GET_FD_BY_ID;
  printf("%s %s\n", which, ask(command, &attr) >= 0 ? "there" : errno == ENOENT ? "gone" : strerror(errno));
}
int main(int c, char **v) {
  for (int i = 1; i < c; i++) look(v[i]);
  if (c > 1) return 0;
  walk("maps", BPF_MAP_GET_NEXT_ID, BPF_MAP_GET_FD_BY_ID);
  walk("programs", BPF_PROG_GET_NEXT_ID, BPF_PROG_GET_FD_BY_ID);
  walk("links", BPF_LINK_GET_NEXT_ID, BPF_LINK_GET_FD_BY_ID);
  return 0;
}
