#pragma once

#include <string>

namespace walpost {

struct HttpOptions {
  // host:port of the HTTP server; empty means none.
  std::string listen;
};

}  // namespace walpost
