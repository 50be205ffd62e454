// TokenRefresher: gives a client of librdkafka its OAUTHBEARER tokens, from the
// program of kafka.token_command.
//
// librdkafka asks for a token when the client is created, when 80 % of the life
// of the present one has passed, and 10 s after a failure. Renew also asks. A
// failure leaves the present token, so connections stay as long as it lives.
//
// The program runs on a thread of RunOnThread: neither the loop nor a thread of
// librdkafka waits for it. Destroying the client kills it.
//
// Owned by the configuration of its client, and by that thread. Any thread may
// call it.
#pragma once

#include <librdkafka/rdkafka.h>

#include <boost/asio/io_context.hpp>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/time.h"

namespace walpost {

class TokenRefresher : public std::enable_shared_from_this<TokenRefresher> {
 public:
  // For the client that is created with `conf`. `command` is not empty.
  static void Install(rd_kafka_conf_t* conf, std::vector<std::string> command);
  // Right after the client was created; nothing without a refresher.
  static void Start(rd_kafka_t* client);
  // nullptr: the client has none. Valid as long as the client.
  static TokenRefresher* Of(rd_kafka_t* client);

  explicit TokenRefresher(std::vector<std::string> command)
      : command_(std::move(command)) {}

  // The brokers reject the token: runs the program, but not within 10 s of the
  // last time.
  void Renew();

  // The error of the last run; OK: it gave a token, or has not ended.
  absl::Status status() const;

  // The error of the last run, if the client has no valid token: brokers then
  // close connections without a reason. Empty: it has one, or waits for it.
  std::string WhyNoToken() const;

  // Waits until the first run has ended. Blocks, at most as long as a run.
  void AwaitFirst() const;

 private:
  static void OnRefresh(rd_kafka_t* client, const char* config, void* self);
  static rd_kafka_resp_err_t OnNew(rd_kafka_t* client,
                                   const rd_kafka_conf_t* conf, void* owner,
                                   char* reason, size_t reason_size);
  static rd_kafka_resp_err_t OnDestroy(rd_kafka_t* client, void* owner);

  // Runs the program on a thread, unless it runs.
  void Run();
  // Runs the program; called on that thread.
  void RunHere();
  absl::StatusOr<std::string> Output(boost::asio::io_context& io) const;
  // `printed`: the output of the program.
  void Take(const absl::StatusOr<std::string>& printed);
  absl::Status SetToken(const std::string& printed);

  const std::vector<std::string> command_;

  mutable std::mutex mutex_;  // of all below
  mutable std::condition_variable has_ended_;
  rd_kafka_t* client_ = nullptr;  // until it is destroyed
  bool is_running_ = false;
  boost::asio::io_context* io_ = nullptr;  // of the running program
  MonotonicTime started_at_;
  absl::Status status_;
  WallTime expires_at_{};  // the present token; it need not be the last run's
  int runs_ = 0;           // that have ended
};

// Says what an error event of a client is about, if that is the token of its
// refresher; else returns `text`. If the brokers reject the token, it is
// renewed.
std::string ExplainTokenError(rd_kafka_t* client, std::string_view text);

}  // namespace walpost
