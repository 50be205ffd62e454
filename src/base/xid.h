// Xid: a 32-bit transaction id from the replication stream. It wraps, so it
// identifies nothing for long: use it for logs, never for order.
#pragma once

#include <compare>
#include <cstdint>

namespace walpost {

class Xid {
 public:
  constexpr Xid() = default;
  constexpr explicit Xid(uint32_t value) : value_(value) {}

  constexpr uint32_t value() const { return value_; }

  friend constexpr auto operator<=>(Xid, Xid) = default;

 private:
  uint32_t value_ = 0;
};

// The first id that PostgreSQL assigns to a transaction.
inline constexpr uint64_t kFirstTransaction = 3;

}  // namespace walpost
