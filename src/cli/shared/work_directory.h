#pragma once

#include <cstdlib>
#include <string>

namespace walpost {

// Directory of temporary databases: from the command line, else $TMPDIR, else
// /tmp.
inline std::string WorkDirectory(const std::string& named) {
  if (!named.empty()) return named;
  const char* usual = std::getenv("TMPDIR");
  return usual != nullptr ? usual : "/tmp";
}

}  // namespace walpost
