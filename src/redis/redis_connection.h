// RedisConnection: sends commands to one server and reads their replies, over
// TCP or TLS.
//
// Owned by a RedisSession; one coroutine uses it at a time, and keeps it alive
// while it waits. Runs on the loop. After an error it can be opened again.
#pragma once

#include <array>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/server_place.h"
#include "base/time.h"
#include "loop/transport.h"
#include "redis/options.h"
#include "redis/resp.h"

namespace walpost {

class RedisConnection {
 public:
  explicit RedisConnection(boost::asio::any_io_executor executor);

  // Connects; with options.tls, also verifies the server.
  //
  // kUnavailable: no connection until `deadline`. kFailedPrecondition: a
  // certificate, here or there, is not accepted; a file cannot be read.
  boost::asio::awaitable<absl::Status> Open(const ServerPlace& place,
                                            const RedisOptions& options,
                                            MonotonicTime deadline);

  // Sends `commands`, of which each has one reply. An error reply is a reply.
  // kUnavailable: the connection is lost, or there was no answer in time: the
  // server may have carried them out.
  boost::asio::awaitable<absl::StatusOr<std::vector<Reply>>> Ask(
      const std::string& commands, size_t replies, MonotonicTime deadline);

  // Ends what waits. Nothing is sent any more.
  void Close();

  // Time of the last bytes of the server.
  MonotonicTime heard_at() const { return heard_at_; }

 private:
  boost::asio::awaitable<absl::Status> Receive();
  void CloseAt(MonotonicTime deadline);
  // In the words of Redis: who failed, and whether it was us.
  absl::Status Lost(const absl::Status& error) const;

  // A server that speaks TLS, or does not, is silent to others.
  std::string_view TlsHint() const;

  boost::asio::any_io_executor executor_;
  std::optional<Transport> transport_;
  boost::asio::steady_timer timer_;
  std::optional<ReplyReader> replies_;
  std::array<char, 16384> received_;
  MonotonicTime heard_at_{};
  bool timed_out_ = false;
  bool is_tls_ = false;
  bool is_open_ = false;     // was
  bool has_spoken_ = false;  // the server, since Open
  bool is_closed_ = false;
  std::string place_;
  // Shared only to be watched: expires with this object.
  std::shared_ptr<const bool> lifetime_ = std::make_shared<const bool>(true);
};

}  // namespace walpost
