/* Makes system calls hang for as long as a file exists.
 *
 *   LD_PRELOAD=held_calls.so WALPOST_HELD_CALLS=<folder> walpost run ...
 *
 *   <folder>/names   look-ups of host names (not of addresses) hang
 *   <folder>/fsync   fsync hangs
 *
 * The name two.addresses has two: 127.0.0.2 and 127.0.0.1.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <limits.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void wait_while_held(const char *call) {
  const char *folder = getenv("WALPOST_HELD_CALLS");
  char path[PATH_MAX];
  if (folder == NULL) return;
  snprintf(path, sizeof(path), "%s/%s", folder, call);
  while (access(path, F_OK) == 0) usleep(10000);
}

static int is_address(const char *node) {
  unsigned char bytes[sizeof(struct in6_addr)];
  return inet_pton(AF_INET, node, bytes) == 1 ||
         inet_pton(AF_INET6, node, bytes) == 1;
}

int getaddrinfo(const char *node, const char *service,
                const struct addrinfo *hints, struct addrinfo **list) {
  static int (*real)(const char *, const char *, const struct addrinfo *,
                     struct addrinfo **);
  if (real == NULL) *(void **)&real = dlsym(RTLD_NEXT, "getaddrinfo");
  if (node != NULL && !is_address(node)) wait_while_held("names");
  if (node != NULL && strcmp(node, "two.addresses") == 0) {
    int error = real("127.0.0.2", service, hints, list);
    if (error != 0) return error;
    return real("127.0.0.1", service, hints, &(*list)->ai_next);
  }
  return real(node, service, hints, list);
}

int fsync(int fd) {
  static int (*real)(int);
  if (real == NULL) *(void **)&real = dlsym(RTLD_NEXT, "fsync");
  wait_while_held("fsync");
  return real(fd);
}
