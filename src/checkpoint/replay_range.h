// ReplayRange: the WAL that `walpost replay` sends again.
//
//      oldest       from           to       confirmed
//   ─────┼────────────┼─────────────┼────────────┼───▶ WAL
//    guard slot       └─ replayed ──┘        live slot
//
// A range [from, to) refers to LSNs of commit records, so its ends need not be
// boundaries: a transaction is in it as a whole or not at all. The WAL before
// the guard slot was removed, and what comes after the confirmed LSN is for the
// live flow to publish first.
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

struct ReplayRequest {
  Lsn from;           // 0/0: the oldest available WAL
  Lsn to;             // 0/0: confirmed LSN of the live slot now
  std::string since;  // a time for Postgres, or 1h for an hour ago
  std::optional<Checkpoint> checkpoint;  // begin at its position
};

struct ReplayRange {
  Lsn from;
  Lsn to;
  std::optional<WallTime> since;  // skip earlier transactions
  uint32_t timeline = 0;

  bool is_empty() const { return from >= to; }
};

// The remedy for WAL that is not available.
inline constexpr char kReplayFromTable[] =
    "rows of the outbox table can be replayed however old they are: walpost "
    "replay -c FILE --from-table";

// The server as replay finds it.
struct ReplayServer {
  std::string system_identifier;
  uint32_t timeline = 0;
  std::string slot;               // the live one
  Lsn oldest;                     // confirmed LSN of the guard slot
  Lsn confirmed;                  // that of the live slot, read before
  std::optional<WallTime> since;  // what ReplayRequest::since means there
};

// kFailedPrecondition: the WAL was removed (names the oldest available LSN), or
// the checkpoint is of another WAL. kInvalidArgument: the request makes no
// sense.
absl::StatusOr<ReplayRange> ChooseReplayRange(const ReplayRequest& request,
                                              const ReplayServer& server);

}  // namespace walpost
