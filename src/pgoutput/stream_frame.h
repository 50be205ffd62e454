// The frames of the streaming replication protocol: the contents of CopyData
// after START_REPLICATION has switched the connection to COPY BOTH.
//
//   server  'w' Int64 start LSN, Int64 WAL end, Int64 send time, payload
//   server  'k' Int64 WAL end, Int64 send time, Int8 reply requested
//   client  'r' Int64 write, Int64 flush, Int64 apply, Int64 time, Int8 reply
//
// For logical replication, start LSN and WAL end of 'w' are the same. They are
// not ordered along the stream, and are 0/0 for Relation and Type messages: use
// them for diagnostics only.
#pragma once

#include <array>
#include <string_view>
#include <variant>

#include "absl/status/statusor.h"
#include "base/lsn.h"
#include "base/time.h"

namespace walpost::pgoutput {

struct XLogData {
  Lsn start_lsn;
  WallTime send_time;
  std::string_view payload;  // one whole pgoutput message
};

struct PrimaryKeepalive {
  // The walsender has sent everything decodable below this LSN.
  Lsn wal_end;
  WallTime send_time;
  bool reply_requested = false;
};

using ServerFrame = std::variant<XLogData, PrimaryKeepalive>;

// kDataLoss: not a frame of this protocol, or cut short.
absl::StatusOr<ServerFrame> DecodeServerFrame(std::string_view bytes);

struct StandbyStatus {
  Lsn received;   // "write": for readers of pg_stat_replication
  Lsn confirmed;  // "flush" and "apply": moves the slot; 0/0 does not
  WallTime time;
  bool reply_requested = false;
};

inline constexpr size_t kStandbyStatusBytes = 34;
std::array<char, kStandbyStatusBytes> EncodeStandbyStatus(
    const StandbyStatus& status);

}  // namespace walpost::pgoutput
