// FrameSource: a replication connection, as WalStream sees it.
//
// ReplicationStream implements it over libpq; the simulation has its own.
// Nothing in it blocks.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "base/lsn.h"
#include "base/time.h"

namespace walpost {

// A warning that the server sent before the next frame.
struct ServerWarning {
  std::string text;
  // Rows were committed while the publication did not exist (55000): from
  // PostgreSQL 18 on the server skips them, and continues.
  bool rows_are_missing = false;
};

// A standby status update; its time is that of sending.
struct StatusUpdate {
  Lsn received;
  Lsn confirmed;  // 0/0: moves nothing
  bool reply_requested = false;
};

class FrameSource {
 public:
  enum class Read {
    kFrame,  // `frame()` holds the next frame
    kEmpty,  // nothing more has been received
    kEnded,  // the server ended the stream; see status()
  };

  virtual ~FrameSource() = default;

  // Takes the next frame of those received.
  virtual Read NextFrame() = 0;
  // The frame that NextFrame took; valid until the next NextFrame.
  virtual std::string_view frame() const = 0;
  // Receives more, at most 16 KB. False if the connection is lost; see
  // status().
  virtual bool Receive() = 0;
  // True if Receive has something to read.
  virtual bool HasInput() const = 0;
  virtual std::vector<ServerWarning> TakeWarnings() = 0;
  // Why the stream ended; kOk: the server ended it in order.
  virtual const absl::Status& status() const = 0;

  // Queues a status update and sends as much as possible.
  virtual absl::Status SendStatus(const StatusUpdate& update) = 0;
  // True if queued bytes wait for the connection; Flush sends them.
  virtual bool has_unsent() const = 0;
  virtual absl::Status Flush() = 0;

  // The owner's clock.
  virtual MonotonicTime Now() const = 0;
};

}  // namespace walpost
