// LockStrategy: rows are held by the locks of a transaction.
//
//   BEGIN ─▶ lock ─▶ send ─▶ wait for the brokers ─▶ delete or mark ─▶ COMMIT
//                              └ transaction_timeout: call back the rest
//
// COMMIT comes after the brokers' acknowledgement, so a poller that dies loses
// nothing: its locks end with its connection. The price is an open transaction
// while it waits for Kafka, which holds back vacuum in the whole database;
// hence the deadline. Rows acknowledged by then are settled, the rest is
// unchanged, and each next try waits longer.
#include <algorithm>
#include <random>
#include <utility>

#include "base/backoff.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "polling/polling_strategy.h"
#include "polling/row_claims.h"

namespace walpost {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

namespace {

class LockStrategy final : public PollingStrategy {
 public:
  explicit LockStrategy(PollingContext context)
      : options_(context.options),
        connection_(context.connection),
        rows_(context.rows),
        claims_(context),
        kafka_backoff_({options_.retry_backoff, options_.retry_backoff_max},
                       std::random_device()()) {}

  asio::awaitable<absl::Status> Begin() override;
  asio::awaitable<absl::Status> Take() override;
  asio::awaitable<absl::Status> Settle() override;
  void OnNotified() override { next_at_ = std::min(next_at_, Clock::now()); }
  void OnConnectionLost() override { deadline_.reset(); }

  MonotonicTime take_at() const override {
    return deadline_ ? MonotonicTime::max()
                     : std::max(next_at_, kafka_again_at_);
  }
  MonotonicTime settle_at() const override {
    return IsReported() ? MonotonicTime() : MonotonicTime::max();
  }
  // Without a transaction nothing holds the rows.
  MonotonicTime hold_ends_at() const override {
    return deadline_.value_or(MonotonicTime());
  }
  std::string hold_ends_because() const override {
    if (!deadline_) return PollingStrategy::hold_ends_because();
    return fmt::format(
        "Kafka did not acknowledge within the transaction's {} ms",
        options_.transaction_timeout.count());
  }
  std::string GaugesSql() const override { return claims_.sql().Gauges(); }
  bool may_report() const override { return !deadline_; }

 private:
  // True if all rows of the open transaction have their result.
  bool IsReported() const {
    return deadline_ && rows_.flight().in_flight() == 0;
  }
  // Takes the results; the last statement ends the transaction.
  std::vector<std::string> Results();

  const PollingOptions& options_;
  TableConnection& connection_;
  RowSender& rows_;
  RowClaims claims_;
  // Ids of rows that are in Kafka but could not be marked.
  RowSender::Ids unmarked_;
  std::optional<MonotonicTime> deadline_;  // of the open transaction
  MonotonicTime next_at_{};
  MonotonicTime kafka_again_at_{};  // after it did not answer in time
  Backoff kafka_backoff_;
};

asio::awaitable<absl::Status> LockStrategy::Begin() {
  // From an ended transaction; its rows may be anybody's.
  rows_.flight().TakeFinished();
  next_at_ = MonotonicTime();
  claims_.Begin();
  co_return absl::OkStatus();
}

asio::awaitable<absl::Status> LockStrategy::Take() {
  deadline_ = Clock::now() + options_.transaction_timeout;
  const std::string begin = "BEGIN";
  WALPOST_CO_RETURN_IF_ERROR(co_await connection_.Execute(begin));
  WALPOST_CO_ASSIGN_OR_RETURN(const RowBatch batch,
                              co_await claims_.Look(RowClaims::Hold::kLock));
  const MonotonicTime now = Clock::now();
  next_at_ = batch.empty() ? now + options_.interval : now;
  rows_.Send(batch, now, RowSender::HoldUp::kAggregate, unmarked_);
  co_return absl::OkStatus();
}

asio::awaitable<absl::Status> LockStrategy::Settle() {
  if (!IsReported()) co_return absl::OkStatus();
  if (Clock::now() >= *deadline_) {
    kafka_again_at_ = Clock::now() + kafka_backoff_.Next();
  }
  std::vector<std::string> results = Results();
  WALPOST_CO_RETURN_IF_ERROR(co_await connection_.Store(std::move(results)));
  unmarked_.clear();
  deadline_.reset();
  co_return absl::OkStatus();
}

std::vector<std::string> LockStrategy::Results() {
  const MonotonicTime now = Clock::now();
  const RowsInFlight::Finished finished = rows_.flight().TakeFinished();
  std::vector<std::string> statements;
  const std::vector<std::string> ids = claims_.Done(finished);
  if (!ids.empty()) {
    kafka_backoff_.Reset();
    claims_.OnPublished(finished.acknowledged);
    statements.push_back(claims_.Finish(ids));
    // The next transaction with them marks them, without sending them again.
    unmarked_.insert(ids.begin(), ids.end());
  } else if (!finished.refused.empty()) {
    next_at_ = std::max(next_at_, now + options_.interval);
  }
  claims_.AddSetAside(finished, statements);
  for (const RowsInFlight::RejectedRow& refusal : finished.refused) {
    statements.push_back(claims_.OnRefused(refusal, now));
  }
  statements.push_back(statements.empty() ? "ROLLBACK" : "COMMIT");
  return statements;
}

}  // namespace

std::unique_ptr<PollingStrategy> MakeLockStrategy(PollingContext context) {
  return std::make_unique<LockStrategy>(context);
}

}  // namespace walpost
