// ReplicationStream: the bytes of one START_REPLICATION, in both directions.
//
// A thin layer over a Connection in COPY BOTH mode: it reads frames, writes
// standby status updates, and ends the copy. It decides nothing.
//
// Owned by the WalSource; one per connection. Non-blocking.
#pragma once

#include <memory>
#include <string_view>

#include "absl/status/status.h"
#include "base/time.h"
#include "pgoutput/stream_frame.h"
#include "postgres/connection.h"

namespace walpost {

// START_REPLICATION from `start` (0/0: the slot's position), pgoutput protocol
// 1, with logical messages if `messages`.
std::string StartReplicationCommand(Connection& connection,
                                    std::string_view slot, Lsn start,
                                    std::string_view publication,
                                    bool messages);

class ReplicationStream {
 public:
  // `connection` has just entered COPY BOTH and outlives this object.
  explicit ReplicationStream(Connection& connection)
      : connection_(connection), frame_(nullptr, PQfreemem) {}

  enum class Read {
    kFrame,  // `frame()` holds the next frame
    kEmpty,  // nothing more has been received
    kEnded,  // the server ended the stream; see status()
  };

  // Takes the next frame from libpq's buffer. Does not read the socket.
  Read NextFrame();

  // The frame that NextFrame took; valid until the next NextFrame.
  std::string_view frame() const { return {frame_.get(), frame_bytes_}; }

  // Reads from the socket into libpq's buffer, at most 16 KB. False if the
  // connection is lost; see status().
  bool Receive();
  // True if Receive has something to read.
  bool HasInput() const;

  // Queues a status update and sends as much as possible.
  absl::Status SendStatus(const pgoutput::StandbyStatus& status);

  // True if queued bytes wait for the socket to become writable.
  bool has_unsent() const { return unsent_; }
  absl::Status Flush();

  // Sends CopyDone, discards further data, and waits for the server's end of
  // the copy, until `deadline`. Everything queued before is sent first, so a
  // last confirmation is not lost.
  boost::asio::awaitable<absl::Status> Finish(MonotonicTime deadline);

  // Why the stream ended; kOk: the server ended it in order.
  const absl::Status& status() const { return status_; }

 private:
  // Takes the results after the copy, as far as they were received.
  Read End();

  Connection& connection_;
  std::unique_ptr<char, decltype(&PQfreemem)> frame_;
  size_t frame_bytes_ = 0;
  bool unsent_ = false;
  bool copy_is_over_ = false;
  absl::Status status_;
};

}  // namespace walpost
