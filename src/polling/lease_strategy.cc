// LeaseStrategy: rows are held by a lease: a time in their table, or a line of
// a lease table.
//
//   claim ─▶ send ─▶ wait for the brokers ─▶ mark ─▶ claim ...
//                        │ renew at a third of the lease
//                        └ cannot be renewed: call back before it ends
//
// No transaction is open while it waits for Kafka. If a poller dies, the lease
// of its rows expires; then another poller publishes them again.
#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "log/log.h"
#include "polling/lease.h"
#include "polling/polling_strategy.h"
#include "polling/row_claims.h"

namespace walpost {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

namespace {

// Time for the rest of a batch, before acknowledged rows are marked.
constexpr milliseconds kSettleDelay{5};
// A record that Kafka does not acknowledge in this time no longer delays the
// next claim: other topics may work.
constexpr milliseconds kSlow{200};
// Limit for slow records, in batches.
constexpr size_t kMaxBatches = 4;
constexpr milliseconds kMaxReturnInterval{5'000};

class LeaseStrategy final : public PollingStrategy {
 public:
  explicit LeaseStrategy(PollingContext context)
      : options_(context.options),
        connection_(context.connection),
        rows_(context.rows),
        flight_(rows_.flight()),
        claims_(context),
        lease_(options_.lease) {}

  asio::awaitable<absl::Status> Begin() override;
  asio::awaitable<absl::Status> Take() override;
  asio::awaitable<absl::Status> Settle() override;
  void OnNotified() override { claim_at_ = MonotonicTime(); }

  MonotonicTime take_at() const override;
  MonotonicTime settle_at() const override;
  MonotonicTime hold_ends_at() const override {
    return is_lost_ ? MonotonicTime() : lease_.purge_at();
  }
  std::string hold_ends_because() const override {
    if (!is_lost_) return PollingStrategy::hold_ends_because();
    return "the lease of some of their rows is another's";
  }
  std::string GaugesSql() const override { return claims_.sql().Gauges(); }

 private:
  asio::awaitable<absl::Status> StoreIfDue();
  asio::awaitable<absl::Status> RenewIfDue();
  asio::awaitable<absl::Status> Renew();
  asio::awaitable<absl::Status> ReturnExpiredIfDue();
  std::vector<std::string> StatementsFor(const RowsInFlight::Finished& finished,
                                         MonotonicTime now);

  const PollingOptions& options_;
  TableConnection& connection_;
  RowSender& rows_;
  RowsInFlight& flight_;
  RowClaims claims_;
  Lease lease_;
  bool is_lost_ = false;  // another poller has rows in flight
  // Mark of the last claim or renewal; the latest one of our rows.
  LeaseMark mark_;
  std::string return_expired_;
  MonotonicTime return_expired_at_{};
  MonotonicTime claim_at_{};
  MonotonicTime store_at_{};
};

asio::awaitable<absl::Status> LeaseStrategy::Begin() {
  claims_.Begin();
  return_expired_ = claims_.sql().ReturnExpired();
  return_expired_at_ = MonotonicTime();
  claim_at_ = MonotonicTime();
  co_return absl::OkStatus();
}

asio::awaitable<absl::Status> LeaseStrategy::Settle() {
  absl::Status status = co_await StoreIfDue();
  if (status.ok()) status = co_await RenewIfDue();
  if (status.ok() && !is_lost_) status = co_await ReturnExpiredIfDue();
  co_return status;
}

asio::awaitable<absl::Status> LeaseStrategy::StoreIfDue() {
  const MonotonicTime now = Clock::now();
  if (flight_.finished() == 0) co_return absl::OkStatus();
  if (store_at_ == MonotonicTime::max()) store_at_ = now + kSettleDelay;
  if (flight_.in_flight() > 0 && now < store_at_ &&
      flight_.finished() < options_.batch_size / 2) {
    co_return absl::OkStatus();
  }
  store_at_ = MonotonicTime::max();
  const auto finished =
      std::make_unique<RowsInFlight::Finished>(flight_.TakeFinished());
  std::vector<std::string> statements = StatementsFor(*finished, now);
  const absl::Status status = co_await connection_.Store(std::move(statements));
  if (!status.ok()) {
    // Durable rows are remembered, and marked next time.
    for (RowsInFlight::Row& row : finished->acknowledged) {
      flight_.AddAcknowledged(std::move(row));
    }
    co_return status;
  }
  // They may have unblocked rows behind them; rejections alone have not.
  if (!finished->acknowledged.empty() || !finished->set_aside.empty() ||
      !finished->returned.empty()) {
    claim_at_ = MonotonicTime();
  }
  co_return absl::OkStatus();
}

std::vector<std::string> LeaseStrategy::StatementsFor(
    const RowsInFlight::Finished& finished, MonotonicTime now) {
  const ClaimSql& sql = claims_.sql();
  std::vector<std::string> statements;
  const std::vector<std::string> done = claims_.Done(finished);
  if (!done.empty()) statements.push_back(claims_.Finish(done));
  claims_.OnPublished(finished.acknowledged);
  // After its end another poller has the rows, whatever their result is here.
  if (lease_.has_ended(now)) return statements;
  claims_.AddSetAside(finished, statements, mark_);
  for (const RowsInFlight::RejectedRow& refusal : finished.refused) {
    statements.push_back(claims_.OnRefused(refusal, now, mark_));
  }
  if (!finished.returned.empty()) {
    statements.push_back(sql.Release(IdsOf(finished.returned), mark_));
  }
  // Last, and in one transaction with what is before it: until that is stored,
  // the rows are held.
  const std::string keep = sql.KeepOnly(flight_.Ids());
  if (keep.empty()) return statements;
  if (statements.empty()) statements.emplace_back();
  std::string& last = statements.back();
  last = last.empty() ? keep : fmt::format("{}; {}", last, keep);
  return statements;
}

asio::awaitable<absl::Status> LeaseStrategy::RenewIfDue() {
  const MonotonicTime now = Clock::now();
  is_lost_ &= flight_.in_flight() > 0;
  if (flight_.in_flight() == 0 || now < lease_.renew_at()) {
    co_return absl::OkStatus();
  }
  co_return co_await Renew();
}

asio::awaitable<absl::Status> LeaseStrategy::Renew() {
  const MonotonicTime now = Clock::now();
  const std::string renew = claims_.sql().Renew(flight_.Ids(), mark_);
  WALPOST_CO_ASSIGN_OR_RETURN(QueryRows rows,
                              co_await connection_.Query(renew));
  absl::flat_hash_set<std::string> renewed;
  for (size_t i = 0; i < rows.size(); ++i) renewed.insert(rows.Text(i, 0));
  if (rows.size() > 0) mark_ = rows.Text(0, 1);
  is_lost_ = !flight_.IsInFlightWithin(renewed);
  if (!is_lost_) lease_.OnRenewed(now);
  co_return absl::OkStatus();
}

asio::awaitable<absl::Status> LeaseStrategy::ReturnExpiredIfDue() {
  const MonotonicTime now = Clock::now();
  if (return_expired_.empty() || now < return_expired_at_) {
    co_return absl::OkStatus();
  }
  return_expired_at_ =
      now + std::min<milliseconds>(options_.lease / 4, kMaxReturnInterval);
  co_return co_await connection_.Execute(return_expired_);
}

asio::awaitable<absl::Status> LeaseStrategy::Take() {
  // If somebody has deleted our lease, a claim would take the same rows again.
  if (options_.has_lease_table() && flight_.in_flight() > 0) {
    WALPOST_CO_RETURN_IF_ERROR(co_await Renew());
    if (is_lost_) co_return absl::OkStatus();
  }
  const MonotonicTime sent = Clock::now();
  WALPOST_CO_ASSIGN_OR_RETURN(const RowBatch batch,
                              co_await claims_.Look(RowClaims::Hold::kLease));
  const MonotonicTime now = Clock::now();
  claim_at_ = now + options_.interval;
  if (batch.empty()) co_return absl::OkStatus();
  // Too late to use them: they come back when the lease expires.
  Lease lease = lease_;
  lease.OnClaimed(sent, flight_.empty());
  if (now >= lease.purge_at()) {
    const std::string table = rows_.table().name();
    LogWarn({{"table", table}},
            "table {}: a claim took longer than its lease allows", table);
    co_return absl::OkStatus();
  }
  lease_ = lease;
  mark_ = claims_.MarkOf(batch);
  rows_.Send(batch, now, RowSender::HoldUp::kAggregate);
  store_at_ =
      flight_.finished() > 0 ? now + kSettleDelay : MonotonicTime::max();
  co_return absl::OkStatus();
}

MonotonicTime LeaseStrategy::take_at() const {
  const size_t held = flight_.in_flight() + flight_.finished();
  if (held >= kMaxBatches * options_.batch_size) return MonotonicTime::max();
  if (flight_.in_flight() == 0) {
    // A claim before they are stored would find their aggregates held.
    return flight_.finished() == 0 ? claim_at_ : MonotonicTime::max();
  }
  return std::max(claim_at_, flight_.last_sent() + kSlow);
}

MonotonicTime LeaseStrategy::settle_at() const {
  MonotonicTime next = MonotonicTime::max();
  if (!return_expired_.empty()) next = return_expired_at_;
  if (flight_.in_flight() > 0) next = std::min(next, lease_.renew_at());
  if (flight_.finished() == 0) return next;
  // All, or a first one that has just come.
  if (flight_.in_flight() == 0 || store_at_ == MonotonicTime::max()) {
    return MonotonicTime();
  }
  return std::min(next, store_at_);
}

}  // namespace

std::unique_ptr<PollingStrategy> MakeLeaseStrategy(PollingContext context) {
  return std::make_unique<LeaseStrategy>(context);
}

}  // namespace walpost
