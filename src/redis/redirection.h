// Redirection: the answer of a node of a Redis Cluster that does not have the
// hash slot, or has it no longer.
//
//   MOVED 3999 127.0.0.1:6381    that node has it, from now on
//   ASK 3999 127.0.0.1:6381      that node has this key already, while the
//                                slot is on its way
//
// Pure.
#pragma once

#include <optional>
#include <string_view>

#include "base/server_place.h"

namespace walpost {

struct Redirection {
  enum class Kind { kMoved, kAsk };

  // `asked`: the node that answers; one without a host is reached by its host.
  // nullopt: the error is another one.
  static std::optional<Redirection> Of(std::string_view error,
                                       const ServerPlace& asked);

  Kind kind;
  ServerPlace place;
};

}  // namespace walpost
