// RecoveryRange: the rows that `walpost recover` looks for in Kafka.
//
// With a transaction horizon that is still valid: rows of transactions from
// there on, in tables that say who inserted a row. Earlier rows were delivered,
// whether Kafka still has them or not. Without a horizon: all rows.
//
// Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "base/lsn.h"
#include "base/time.h"
#include "checkpoint/checkpoint.h"

namespace walpost {

struct RecoveryRange {
  uint64_t from_transaction = 0;  // an xid8; 0: all rows
  std::string text;               // for people, with the reason
};

// The server as recover finds it.
struct RecoveryServer {
  std::string system_identifier;
  uint32_t timeline = 0;
  WallTime started_at{};
  uint64_t next_transaction = 0;
  Lsn wal_end;
};

// `loaded`: the answer of the checkpoint store. `numbering`: of the
// configuration (outbox/numbering.h).
RecoveryRange ChooseRecoveryRange(
    const absl::StatusOr<std::optional<Checkpoint>>& loaded, uint64_t numbering,
    const RecoveryServer& server);

}  // namespace walpost
