/* usage: race MODE N - N times tries to have something approved and something else run.
   Each attempt executes ./good (or what MODE says) in its benign form while a peer keeps changing it to the denied
   form and back. The folder it runs in holds good, evil (mark.c, the second one byte longer), target (a copy of
   good), d1/prog, d2/prog, link and knil. Prints how the attempts ended. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

static const char *mode;
static uint64_t benign, hostile;
static char harmless[] = "benign0", harmful[] = "hostile";

/* What an exec is given; one page, so that a peer process can share it. */
static struct call {
  char path[32] __attribute__((aligned(64)));
  char word[64] __attribute__((aligned(64)));
  char preload[64] __attribute__((aligned(64)));
  char *argv[3], *envp[3];
  long attempt;
} *call;

static uint32_t seed = 1;
/* Mostly a spin of some microseconds; now and then it lets others run. */
static void pause_a_little(void) {
  seed ^= seed << 13, seed ^= seed >> 17, seed ^= seed << 5;
  if (seed % 4 == 0) usleep(seed % 50);
  else for (volatile uint32_t i = seed % 4000; i; i--) ;
}
static void put(char *at, const char *text) {
  uint64_t word;
  memcpy(&word, text, 8);
  __atomic_store_n((uint64_t *)at, word, __ATOMIC_SEQ_CST);
}
static int is(const char *name) { return !strcmp(mode, name); }

static off_t size_of(const char *path) {
  struct stat facts;
  return stat(path, &facts) ? 0 : facts.st_size;
}

/* The denied form, or the benign one again. */
static void turn(int bad) {
  if (is("path")) put(call->path + 8, bad ? "evil\0\0\0" : "good\0\0\0");
  else if (is("pointer")) __atomic_store_n(&call->argv[1], bad ? harmful : harmless, __ATOMIC_SEQ_CST);
  else if (is("env")) put(call->preload + 16, bad ? harmful : harmless);
  else if (is("symlink")) renameat2(AT_FDCWD, "link", AT_FDCWD, "knil", RENAME_EXCHANGE);
  else if (is("folder")) renameat2(AT_FDCWD, "d1", AT_FDCWD, "d2", RENAME_EXCHANGE);
  else if (is("rewrite")) {
    int fd = open("target", O_WRONLY);
    if (fd < 0) return;
    off_t end = size_of("good");
    if (bad) pwrite(fd, "!", 1, end); else ftruncate(fd, end);
    close(fd);
  } else put(call->word, bad ? harmful : harmless);
}
/* Until the attempt is over; a peer of all attempts is told 0. */
static void *flip(void *attempt) {
  prctl(PR_SET_TIMERSLACK, 1000);
  while (!attempt || call->attempt == (long)attempt) turn(1), pause_a_little(), turn(0), pause_a_little();
  return 0;
}
static int flip_alone(void *attempt) { flip(attempt); _exit(0); }

/* A writer that has mapped and dirtied the page long before: its store moves no time stamp. It comes while the policy
   thinks, and the mapping is gone before the kernel looks for writers. */
static void map_and_wait(void) {
  usleep(17000); /* until the last attempt's is gone */
  int fd = open("target", O_RDWR), ready[2];
  off_t last = size_of("target") - 1;
  pwrite(fd, ".", 1, last);
  char *map = mmap(0, last + 1, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), byte;
  pipe2(ready, O_CLOEXEC);
  if (!fork()) {
    map[last] = '.';
    usleep(15000);
    write(ready[1], "", 1);
    usleep(2000 + seed % 14000);
    map[last] = '!';
    _exit(0);
  }
  munmap(map, last + 1);
  close(fd);
  read(ready[0], &byte, 1);
}

static void execute(void) {
  const char *path = is("symlink") ? "link" : is("folder") ? "d1/prog" : call->path;
  if (is("rewrite") || is("mapped")) path = "target";
  execve(path, call->argv, call->envp);
  _exit(errno == EPERM ? 101 : errno == ETXTBSY ? 102 : errno == ENOENT ? 103 : 104);
}

int main(int c, char **v) {
  if (c < 3) return 2;
  mode = v[1];
  int fast_peer = is("path") || is("argv") || is("pointer") || is("env");
  call = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  strcpy(call->path, "././././good");
  memcpy(call->word, harmless, 8);
  strcpy(call->preload, "LD_PRELOAD=/xxx/benign0");
  call->argv[0] = "prog", call->argv[1] = is("pointer") ? harmless : call->word;
  call->envp[0] = "HOME=/", call->envp[1] = call->preload;
  if (!is("env")) call->envp[1] = 0;
  pid_t peer = 0;
  pthread_t thread;
  if (is("vfork")) pthread_create(&thread, 0, flip, 0);
  else if (!fast_peer && !is("vm") && !is("mapped") && !(peer = fork())) prctl(PR_SET_PDEATHSIG, SIGKILL), flip_alone(0);
  long ended[6] = {0};
  for (long i = atol(v[2]); i > 0; i--) {
    seed = i * 2654435761u | 1;
    call->attempt = i;
    pid_t child = is("vfork") ? vfork() : fork();
    if (!child) {
      if (fast_peer) pthread_create(&thread, 0, flip, (void *)i);
      if (is("vm")) {
        char *stack = malloc(65536);
        clone(flip_alone, stack + 65536, CLONE_VM | SIGCHLD, (void *)i);
      }
      if (is("mapped")) map_and_wait();
      else if (!is("vfork")) usleep(1 + i % 97);
      execute();
    }
    int status;
    waitpid(child, &status, 0);
    int code = WIFSIGNALED(status) ? 200 + WTERMSIG(status) : WEXITSTATUS(status);
    ended[code == 0 ? 0 : code == 101 ? 1 : code == 209 ? 2 : code == 102 ? 3 : code == 103 ? 4 : 5]++;
    if (code > 103 && code != 209) fprintf(stderr, "attempt %ld: %d\n", i, code);
  }
  call->attempt = 0;
  if (peer) kill(peer, SIGKILL);
  printf("ran %ld refused %ld killed %ld busy %ld missing %ld odd %ld\n", ended[0], ended[1], ended[2], ended[3],
         ended[4], ended[5]);
  fflush(stdout);
  _exit(0);
}
