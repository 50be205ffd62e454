// ReplicationStream: the bytes of one START_REPLICATION, both ways.
//
// A thin layer over a Connection in COPY BOTH mode: it takes out frames,
// puts in standby status updates, and ends the copy. It decides nothing.
//
// Owned by the WalSource; one per connection. Not blocking.
#pragma once

#include <memory>
#include <string_view>

#include "absl/status/status.h"
#include "base/time.h"
#include "pgoutput/stream_frame.h"
#include "postgres/connection.h"

namespace walpost {

// START_REPLICATION from `start` (0/0: where the slot stands), pgoutput
// protocol 1, with logical messages when `messages`.
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
    kFrame,  // `frame()` holds the next one
    kEmpty,  // nothing more has been received
    kEnded,  // the server ended the stream; status() says how
  };

  // Takes the next frame that libpq has buffered. Does not touch the socket.
  Read NextFrame();

  // The frame that NextFrame took; valid until the next NextFrame.
  std::string_view frame() const { return {frame_.get(), frame_bytes_}; }

  // Reads what the socket holds into libpq's buffer, 16 KB at most. False
  // when the connection is lost; status() says how.
  bool Receive();
  // Whether there is something for it to read.
  bool HasInput() const;

  // Queues a status update and sends what can be sent.
  absl::Status SendStatus(const pgoutput::StandbyStatus& status);

  // Whether queued bytes wait for the socket to become writable.
  bool has_unsent() const { return unsent_; }
  absl::Status Flush();

  // Sends CopyDone, discards what still arrives, and waits for the server's
  // end of the copy, until `deadline`. Everything queued before is sent
  // first, so a last confirmation is not lost.
  boost::asio::awaitable<absl::Status> Finish(MonotonicTime deadline);

  // Why the stream ended: kOk when the server ended it in order.
  const absl::Status& status() const { return status_; }

 private:
  // Takes the results that follow the copy, as far as they were received.
  Read End();

  Connection& connection_;
  std::unique_ptr<char, decltype(&PQfreemem)> frame_;
  size_t frame_bytes_ = 0;
  bool unsent_ = false;
  bool copy_is_over_ = false;
  absl::Status status_;
};

}  // namespace walpost
