// WalBudget: the WAL that the server keeps for our slot, against its limit.
//
//   |<-------- retained -------->|<-- left -->|
//   restart_lsn            end of WAL       limit
//   0 %            50 % warning      80 % at risk
//
// The limit is the lower of the configured one and the server's own
// (max_slot_wal_keep_size, beyond which the slot is lost and with it every
// event that was not read). A server without a limit fills its disk instead:
// then, without a configured one, kDefaultLimit counts.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "base/time.h"

namespace walpost {

// State of a slot in pg_replication_slots.
struct RetainedWal {
  uint64_t retained_bytes = 0;           // end of WAL - restart_lsn
  std::optional<int64_t> safe_wal_size;  // nullopt: the server has no limit
};

class WalBudget {
 public:
  enum class Level { kFine, kWarning, kAtRisk };

  static constexpr uint64_t kDefaultLimit = uint64_t{16} << 30;

  // `limit_bytes` 0: use the server's limit.
  explicit WalBudget(uint64_t limit_bytes) : configured_limit_(limit_bytes) {}

  // Reports come every few seconds; fewer only make time_left() coarser.
  void OnReport(const RetainedWal& wal, MonotonicTime now);

  Level level() const;
  // 0 before the first report.
  uint64_t limit_bytes() const { return limit_; }
  uint64_t retained_bytes() const { return retained_; }
  // Time until the limit is reached at the growth rate of the last minute or
  // so; nullopt while retained WAL does not grow.
  std::optional<std::chrono::seconds> time_left() const;

 private:
  uint64_t configured_limit_;
  uint64_t limit_ = 0;
  uint64_t retained_ = 0;
  MonotonicTime reported_at_{};
  double growth_bytes_per_second_ = 0;
};

}  // namespace walpost
