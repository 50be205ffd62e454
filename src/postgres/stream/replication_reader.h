// ReplicationReader: carries out the decisions of a WalStream on a connection.
//
//   Connection ── frames ──▶ WalStream ──▶ EventConsumer
//        ▲                       │
//        └──── status updates ───┘
//
// The one reader of run, replay and tail. Owned by the object that opens the
// connection; runs on the loop.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "postgres/connect/connection.h"
#include "postgres/stream/replication_stream.h"
#include "session/wal_stream.h"

namespace walpost {

class ReplicationReader {
 public:
  // `stream` outlives this object.
  ReplicationReader(boost::asio::any_io_executor executor, WalStream& stream)
      : executor_(executor), stream_(stream) {}
  ~ReplicationReader() { Close(); }
  ReplicationReader(const ReplicationReader&) = delete;
  ReplicationReader& operator=(const ReplicationReader&) = delete;

  // `connection` has just entered COPY BOTH.
  void Begin(std::unique_ptr<Connection> connection, WalStream::Start start);

  // Reads until the end that the WalStream was given, or an error; then closes
  // the connection. kOk: the end was reached, a drain is over, or the stream
  // was abandoned. Errors: WalStream::Check, TakeFrames.
  boost::asio::awaitable<absl::Status> Run();

  // Gives the stream up before Run.
  void Close();

  // The consumer may have room, a new LSN, or an end.
  void OnProgress();

  bool is_open() const { return frames_.has_value(); }

 private:
  boost::asio::awaitable<absl::Status> ReadToEnd();
  boost::asio::awaitable<void> WaitFor(WalStream::Next next);
  boost::asio::awaitable<absl::Status> FinishInOrder();

  boost::asio::any_io_executor executor_;
  WalStream& stream_;
  std::unique_ptr<Connection> connection_;
  std::optional<ReplicationStream> frames_;
};

}  // namespace walpost
