// TransactionClient: the transaction functions of librdkafka, which block, on a
// helper thread.
//
//   TakeOver ──▶ open ──▶ Commit ──▶ open ──▶ Commit ──▶ ... ──▶ Abandon
//                                └─▶ spent ──────────────────────────▲
//
// Each call also opens the next transaction. That is local: the brokers know of
// a transaction only from its first record on. Meanwhile the loop takes the
// reports, without which a call would not end.
//
// Owned by the Producer, on its loop. The thread uses nothing but the client;
// whoever destroys the client waits for it (Use).
#pragma once

#include <librdkafka/rdkafka.h>

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "delivery/record_sink.h"
#include "kafka/client/producer_options.h"
#include "kafka/client/response_observer.h"
#include "kafka/transactions/transaction_status.h"
#include "loop/blocking_call.h"

namespace walpost {

class TransactionClient final : public SinkTransactions {
 public:
  // How the helper thread uses the client.
  struct Use {
    std::atomic<bool> is_called = false;
    std::atomic<bool> must_return = false;  // soon

    // Waits until no call uses the client any more. Blocks.
    void AwaitEnd();
  };

  // `on_spent` is called after a Commit that has succeeded, if nothing more may
  // be produced: InDoubtRequests says why.
  TransactionClient(boost::asio::any_io_executor executor, rd_kafka_t* client,
                    const ProducerOptions& options,
                    std::shared_ptr<const InDoubtRequests> unanswered,
                    std::function<void()> on_spent);
  ~TransactionClient() override { use_->must_return = true; }

  void TakeOver(std::chrono::milliseconds limit, Done done) override;
  void Commit(Done done) override;
  void Interrupt() override { use_->must_return = true; }
  // Aborts what was produced since the last one, and opens another.
  void StartOver(Done done);

  // Aborts what was not committed, within `limit`, once the present call has
  // returned, which it does soon.
  void Abandon(std::chrono::milliseconds limit);

  bool is_open() const override { return is_open_; }
  bool is_busy() const { return is_busy_; }
  std::shared_ptr<Use> use() const { return use_; }

 private:
  using Call = std::function<absl::Status(rd_kafka_t* client, Use& use)>;

  void Start(Call call, Done done);
  static boost::asio::awaitable<void> Await(
      absl::StatusOr<std::unique_ptr<BlockingCall<absl::Status>>> started,
      std::function<void(absl::Status)> end);
  void OnEnd(const absl::Status& status);
  void Abort();

  boost::asio::any_io_executor executor_;
  rd_kafka_t* client_;
  TransactionNames names_;
  std::string checkpoint_topic_;
  std::shared_ptr<const InDoubtRequests> unanswered_;
  std::function<void()> on_spent_;
  bool is_open_ = false;
  bool is_busy_ = false;
  Done done_;
  std::chrono::milliseconds abort_limit_{0};
  bool must_abort_ = false;
  std::shared_ptr<Use> use_ = std::make_shared<Use>();
  // A call may end after this object: shared only for that.
  std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);
};

}  // namespace walpost
