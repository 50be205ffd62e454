// ServerConnector: finds a server of rabbitmq.nodes that takes messages,
// tries them in turn until one does, and says why none did.
//
// Owned by a sink. Once a connection is ready it tries no other: a connection
// that fails then ends the sink. Runs on the loop.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/backoff.h"
#include "base/sha256.h"
#include "rabbitmq/address_list.h"
#include "rabbitmq/connection.h"
#include "rabbitmq/options.h"

namespace walpost::rabbitmq {

// The server that the next connection goes to first: a number that counts on.
// Shared by the sinks of one configuration, because each begins where the last
// one left off.
using ServerTurn = std::shared_ptr<size_t>;

class ServerConnector {
 public:
  ServerConnector(boost::asio::any_io_executor executor,
                  RabbitmqOptions options, std::vector<ServerPlace> addresses,
                  std::vector<AmqpCall> calls, ServerTurn turn,
                  Connection::Handlers handlers);
  ~ServerConnector();
  ServerConnector(const ServerConnector&) = delete;
  ServerConnector& operator=(const ServerConnector&) = delete;

  // Begins; the handlers are not called from within.
  void Start();
  // Ends everything.
  void Stop();

  // nullptr: none is ready.
  Connection* ready() const;
  // Why none is; or empty.
  const std::string& trouble() const { return trouble_; }
  bool rejects_credentials() const { return rejects_credentials_; }
  // True if user, password or a file of TLS is not what it was at the last
  // connection.
  bool credentials_have_changed() const;
  const RabbitmqLogin& login() const { return login_; }

 private:
  void Try();
  void OnFailed(const absl::Status& error);
  void TryAgain();
  absl::Status ReadLogin();
  absl::StatusOr<Sha256Digest> Digest() const;

  boost::asio::any_io_executor executor_;
  RabbitmqOptions options_;
  std::vector<ServerPlace> addresses_;
  std::vector<AmqpCall> calls_;
  ServerTurn turn_;
  Connection::Handlers handlers_;
  boost::asio::steady_timer timer_;
  Backoff backoff_;
  size_t failures_ = 0;                     // since the last pause
  std::shared_ptr<Connection> connection_;  // shared with its coroutines
  bool is_stopped_ = false;
  RabbitmqLogin login_;
  std::string password_;
  Sha256Digest digest_{};
  std::string trouble_;
  bool rejects_credentials_ = false;
  // Shared only to be watched: expires with this object.
  std::shared_ptr<const bool> lifetime_ = std::make_shared<const bool>(true);
};

}  // namespace walpost::rabbitmq
