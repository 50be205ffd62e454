// ReplicationStream: the bytes of one START_REPLICATION, in both directions.
//
// A thin layer over a Connection in COPY BOTH mode: it reads frames, writes
// standby status updates, logs warnings, and ends the copy. It decides nothing.
//
// Owned by the ReplicationReader; one per connection. Non-blocking.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "base/lsn.h"
#include "base/time.h"
#include "postgres/connect/connection.h"
#include "session/frame_source.h"

namespace walpost {

struct StreamRequest {
  std::string slot;
  Lsn start;  // 0/0: the slot's position
  std::string publication;
  bool messages = false;  // also logical messages
};

// START_REPLICATION with pgoutput, protocol 1.
std::string StartReplicationCommand(const StreamRequest& request);

// Runs it, on a connection that has run other statements before.
boost::asio::awaitable<absl::Status> StartReplication(Connection& connection,
                                                      StreamRequest request);

class ReplicationStream final : public FrameSource {
 public:
  // `connection` has just entered COPY BOTH and outlives this object.
  explicit ReplicationStream(Connection& connection)
      : connection_(connection), frame_(nullptr, PQfreemem) {}

  Read NextFrame() override;
  std::string_view frame() const override {
    return {frame_.get(), frame_bytes_};
  }
  bool Receive() override;
  bool HasInput() const override;
  std::vector<ServerWarning> TakeWarnings() override;
  const absl::Status& status() const override { return status_; }
  absl::Status SendStatus(const StatusUpdate& update) override;
  bool has_unsent() const override { return unsent_; }
  absl::Status Flush() override;
  MonotonicTime Now() const override {
    return std::chrono::steady_clock::now();
  }

  // Sends CopyDone, discards further data, and waits for the server's end of
  // the copy, until `deadline`. Everything queued before is sent first, so a
  // last confirmation is not lost.
  boost::asio::awaitable<absl::Status> Finish(MonotonicTime deadline);

 private:
  // Takes the results after the copy, as far as they were received.
  Read End();

  Connection& connection_;
  std::unique_ptr<char, decltype(&PQfreemem)> frame_;
  size_t frame_bytes_ = 0;
  bool unsent_ = false;
  bool copy_is_over_ = false;
  std::string standby_warning_;  // the last, which the server repeats
  std::string missing_rows_;     // the error that says so; empty: none
  absl::Status status_;
};

}  // namespace walpost
