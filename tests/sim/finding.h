// Finding: a promise that was broken in a simulation, and how.
#pragma once

#include <string>

namespace walpost::sim {

struct Finding {
  std::string promise;  // "P1"
  std::string text;
};

}  // namespace walpost::sim
