// Length of the simulations, and their output if the code under test aborts the
// process.
#pragma once

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "sim/simulation.h"

namespace walpost::sim {

// Steps with troubles in one history; the calm ones at its end are extra.
inline constexpr uint64_t kStepsPerHistory = 10'000;

// For all tests together: WALPOST_SIM_STEPS, else a few seconds' worth.
inline uint64_t StepBudget() {
  if (const char* steps = std::getenv("WALPOST_SIM_STEPS")) {
    return std::strtoull(steps, nullptr, 10);
  }
#ifdef WALPOST_SANITIZED
  return 300'000;
#else
  return 10'000'000;
#endif
}

// During its lifetime, WALPOST_CHECK prints the report of a simulation.
class AbortReport {
 public:
  explicit AbortReport(const Simulation& simulation) {
    current_ = &simulation;
    std::signal(SIGABRT, [](int) {
      std::fprintf(stderr, "%s", current_->Report().c_str());
    });
  }
  ~AbortReport() { std::signal(SIGABRT, SIG_DFL); }
  AbortReport(const AbortReport&) = delete;
  AbortReport& operator=(const AbortReport&) = delete;

 private:
  static inline const Simulation* current_ = nullptr;
};

}  // namespace walpost::sim
