// The name of the operator, for records of decisions.
#pragma once

#include <cstdlib>
#include <string>

namespace walpost {

inline std::string CurrentUser() {
  const char* user = std::getenv("USER");
  return user == nullptr || *user == '\0' ? "somebody" : user;
}

}  // namespace walpost
