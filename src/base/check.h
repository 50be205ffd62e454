// WALPOST_CHECK: an assertion that stays on in release builds.
//
// Only for states that nothing but our own bug can cause; never for input. A
// walpost that has lost track of what is acknowledged must not confirm
// anything, so it exits: the slot still has everything.
#pragma once

#include <cstdio>
#include <cstdlib>

#define WALPOST_CHECK(condition)                                           \
  do {                                                                     \
    if (!(condition)) [[unlikely]] {                                       \
      std::fprintf(stderr, "walpost: %s:%d: check failed: %s\n", __FILE__, \
                   __LINE__, #condition);                                  \
      std::abort();                                                        \
    }                                                                      \
  } while (false)
