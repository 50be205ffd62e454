// RedisWriter: the work of a RedisSink on the loop: connects, sends the rounds
// of EntryQueues, and acknowledges what is durable.
//
//   connect ──▶ compare streams ──▶ round ──▶ durable? ──▶ acknowledge ──┐
//      ▲ retry                        ▲                                  │
//                                     └──────────────────────────────────┘
//
// A round is one write: a call of the script for each stream, then WAIT and
// WAITAOF, as the configuration wants them. All replies are read before the
// next round, so the order needs no assumption about pipelining.
//
// Errors that pass (memory, disk) are retried on the same connection; after
// others, and after a lost connection, it has failed: OnSinkFailed, and nothing
// is sent any more.
//
// Owned by the sink, and by its own coroutine, which may still wait when the
// sink is destroyed.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/time.h"
#include "delivery/record_sink.h"
#include "log/cause_log.h"
#include "redis/entry_queues.h"
#include "redis/options.h"
#include "redis/redis_session.h"
#include "redis/script_calls.h"
#include "redis/stream_tops.h"

namespace walpost {

class RedisWriter : public std::enable_shared_from_this<RedisWriter> {
 public:
  // What a writer of a cluster is for.
  struct Part {
    // The hash slot of all its streams; nullopt: it has none, and only keeps a
    // connection to some master.
    std::optional<uint16_t> slot;
    // The writers of a sink share them (EntryQueues).
    std::shared_ptr<NamedCounter> acknowledged;
    std::shared_ptr<CauseLog> causes;
  };

  // `tops`, if any, outlives its owner, and has the knowledge of earlier ones.
  RedisWriter(boost::asio::any_io_executor executor, RedisOptions options,
              RecordReports& reports, std::function<void()> on_drained,
              StreamTops* tops, std::optional<Part> part = {});

  void Start();
  // Its owner is destroyed: no reports any more.
  void Abandon();

  // Sink, RecordSink.
  absl::Status Add(const Record& record, Sequence sequence);
  void Close(MonotonicTime deadline, std::function<void()> closed);
  SinkHealth Health() const;
  NamedCounts Acknowledged() const { return queues_.Acknowledged(); }
  void ExpectCluster(std::string cluster) {
    expected_cluster_ = std::move(cluster);
  }
  // The stream of a record that waits for a connection; or empty.
  const std::string& awaiting_stream() const;
  // Nothing waits, and nothing is compared.
  bool is_idle() const { return queues_.empty() && !is_comparing_; }
  // "Redis at 127.0.0.1:6379": the server that it writes to.
  const std::string& server() const { return session_.name(); }
  // Compares the streams that are known from earlier before the next record.
  void CompareStreams();

 private:
  using Replies = std::vector<Reply>;

  // Those that are known from earlier, and are its own.
  std::vector<std::string> KnownStreams() const;

  boost::asio::awaitable<void> Run();
  boost::asio::awaitable<absl::Status> Connect();
  boost::asio::awaitable<absl::Status> Compare();
  boost::asio::awaitable<absl::Status> SendRound(
      const std::vector<EntryQueues::Batch>& round);
  boost::asio::awaitable<absl::Status> AwaitDurability(Replies waits);
  boost::asio::awaitable<absl::Status> Probe();
  boost::asio::awaitable<void> Sleep(MonotonicTime until);
  // Ok: the batch is written, or it is tried again.
  absl::Status HandleResult(const EntryQueues::Batch& batch,
                            const BatchResult& result);
  size_t AddWaits(std::string& bytes) const;
  void Acknowledge();
  void Fail(absl::Status status);
  // Reports what is left, and that it is closed.
  void Finish();
  MonotonicTime AnswerLimit() const;
  // True if what counts as durable is a setting of the server.
  bool depends_on_config() const {
    return options_.durability == RedisDurability::kFsync &&
           !session_.facts().has_wait_aof();
  }
  MonotonicTime probe_at() const;
  bool is_over() const { return is_finished_ || failure_.has_value(); }

  const RedisOptions options_;
  RecordReports* reports_;  // nullptr: abandoned
  std::function<void()> on_drained_;
  StreamTops own_tops_;
  StreamTops& tops_;
  const std::optional<Part> part_;
  const std::shared_ptr<CauseLog> causes_;
  RedisSession session_;
  EntryQueues queues_;
  ScriptCalls script_;
  boost::asio::steady_timer timer_;
  boost::asio::steady_timer close_timer_;
  std::function<void()> closed_;
  std::optional<absl::Status> failure_;
  std::string trouble_;
  std::string missing_stream_;
  std::string refused_stream_;  // for want of a connection
  std::string expected_cluster_;
  MonotonicTime probed_at_{};  // since the connection was made
  bool is_ready_ = false;
  bool is_comparing_ = false;
  bool is_sleeping_ = false;
  bool is_closing_ = false;
  bool is_finished_ = false;
  bool has_ended_ = false;  // the coroutine
};

}  // namespace walpost
