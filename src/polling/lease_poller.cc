#include "polling/lease_poller.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "spdlog/spdlog.h"

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

}  // namespace

LeasePoller::LeasePoller(asio::any_io_executor executor, Options options,
                         Outbound& outbound)
    : TablePoller(executor, std::move(options), outbound),
      lease_(options_.polling.lease) {}

MonotonicTime LeasePoller::purge_at() const {
  return flight_.in_flight() == 0 ? MonotonicTime::max() : lease_.purge_at();
}

asio::awaitable<absl::Status> LeasePoller::BeginSession() {
  const ClaimSql sql = MakeClaimSql();
  return_expired_ = sql.ReturnExpired();
  return_expired_at_ = MonotonicTime();
  claim_at_ = MonotonicTime();
  co_return absl::OkStatus();
}

asio::awaitable<absl::Status> LeasePoller::Serve() {
  for (;;) {
    co_await CallBackIfDue();
    absl::Status status = co_await Settle();
    if (status.ok()) status = co_await RenewIfDue();
    if (status.ok()) status = co_await ReturnExpiredIfDue();
    if (status.ok()) status = co_await ClaimIfDue();
    if (status.ok()) status = co_await ReportIfDue();
    if (!status.ok()) co_return status;
    if (stopping() && flight_.empty()) co_return absl::OkStatus();
    const MonotonicTime until = NextTurn(Clock::now());
    status = co_await Pause(until);
    if (!status.ok()) co_return status;
    if (TakeNotified()) claim_at_ = MonotonicTime();
    if (flight_.finished() > 0 && settle_at_ == MonotonicTime::max()) {
      settle_at_ = Clock::now() + kSettleDelay;
    }
  }
}

bool LeasePoller::MaySettle(MonotonicTime now) const {
  if (flight_.finished() == 0) return false;
  return flight_.in_flight() == 0 || now >= settle_at_ ||
         flight_.finished() >= options_.polling.batch_size / 2;
}

asio::awaitable<absl::Status> LeasePoller::Settle() {
  const MonotonicTime now = Clock::now();
  if (!MaySettle(now)) co_return absl::OkStatus();
  settle_at_ = MonotonicTime::max();
  const auto finished =
      std::make_unique<RowFlight::Finished>(flight_.TakeFinished());
  const ClaimSql sql = MakeClaimSql();
  std::vector<std::string> statements;
  if (!finished->acknowledged.empty()) {
    statements.push_back(sql.MarkPublished(IdsOf(finished->acknowledged)));
    for (const auto& row : finished->acknowledged) memory_.Forget(row.id);
  }
  // After its end another poller has the rows, whatever their result is here.
  if (!lease_.has_ended(now)) {
    for (const RowFlight::Refusal& refusal : finished->refused) {
      statements.push_back(NoteRefusal(refusal, now, mark_));
    }
    if (!finished->returned.empty()) {
      statements.push_back(sql.Release(IdsOf(finished->returned), mark_));
    }
  }
  for (std::string& statement : statements) {
    if (statement.empty()) continue;
    const absl::Status status = co_await Execute(std::move(statement));
    NoteSettled(status);
    if (status.ok()) continue;
    // Durable rows are remembered, and marked next time.
    for (RowFlight::Row& row : finished->acknowledged) {
      flight_.AddAcknowledged(std::move(row));
    }
    co_return status;
  }
  // They may have unblocked rows behind them; rejections alone have not.
  if (!finished->acknowledged.empty() || !finished->returned.empty()) {
    claim_at_ = MonotonicTime();
  }
  co_return absl::OkStatus();
}

asio::awaitable<absl::Status> LeasePoller::RenewIfDue() {
  const MonotonicTime now = Clock::now();
  if (flight_.in_flight() == 0 || now < lease_.renew_at()) {
    co_return absl::OkStatus();
  }
  const ClaimSql sql = MakeClaimSql();
  const std::string renew = sql.Renew(flight_.Ids(), mark_);
  absl::StatusOr<QueryRows> rows = co_await Query(renew);
  if (!rows.ok()) co_return rows.status();
  absl::flat_hash_set<std::string> renewed;
  for (size_t i = 0; i < rows->size(); ++i) renewed.insert(rows->Text(i, 0));
  if (rows->size() > 0) mark_ = rows->Text(0, 1);
  if (flight_.IsInFlightWithin(renewed)) {
    lease_.OnRenewed(now);
    co_return absl::OkStatus();
  }
  const std::string reason = "the lease of some of their rows is another's";
  co_await CallBack(reason);
  co_return absl::OkStatus();
}

asio::awaitable<absl::Status> LeasePoller::ReturnExpiredIfDue() {
  const MonotonicTime now = Clock::now();
  if (return_expired_.empty() || now < return_expired_at_) {
    co_return absl::OkStatus();
  }
  return_expired_at_ = now + std::min<milliseconds>(options_.polling.lease / 4,
                                                    milliseconds(5'000));
  co_return co_await Execute(return_expired_);
}

bool LeasePoller::MayClaim(MonotonicTime now) const {
  const size_t held = flight_.in_flight() + flight_.finished();
  return !stopping() && now >= claim_at_ && outbound_.WantsRows(now) &&
         held < kMaxBatches * options_.polling.batch_size &&
         flight_.SentAfter(now - kSlow) == 0;
}

asio::awaitable<absl::Status> LeasePoller::ClaimIfDue() {
  const MonotonicTime sent = Clock::now();
  if (!MayClaim(sent)) co_return absl::OkStatus();
  const ClaimSql sql = MakeClaimSql();
  const std::vector<std::string> waiting = memory_.Waiting(sent);
  const std::string claim =
      sql.Claim(outbound_.MostRows(portion_), waiting, far());
  absl::StatusOr<QueryRows> rows = co_await Query(claim);
  if (!rows.ok()) co_return rows.status();
  NoteLook(rows->size());
  const MonotonicTime now = Clock::now();
  claim_at_ = now + options_.polling.interval;
  if (rows->size() == 0) co_return absl::OkStatus();
  // Too late to use them: they come back when the lease expires.
  Lease lease = lease_;
  lease.OnClaimed(sent, flight_.empty());
  if (now >= lease.purge_at()) {
    spdlog::warn("table {}: a claim took longer than its lease allows",
                 table_->name());
    co_return absl::OkStatus();
  }
  lease_ = lease;
  mark_ = rows->Text(0, *table_->schema.FindColumn(sql.lease_column()));
  portion_.OnRead(rows->size(), BytesOf(*rows, table_->schema.columns.size()));
  SendRows(*rows, now);
  settle_at_ =
      flight_.finished() > 0 ? now + kSettleDelay : MonotonicTime::max();
  co_return absl::OkStatus();
}

MonotonicTime LeasePoller::NextTurn(MonotonicTime now) const {
  MonotonicTime next = report_at();
  if (!return_expired_.empty()) next = std::min(next, return_expired_at_);
  if (flight_.in_flight() > 0) {
    next = std::min({next, lease_.renew_at(), lease_.purge_at()});
  }
  if (flight_.finished() > 0) next = std::min(next, settle_at_);
  if (stopping()) return next;
  if (!outbound_.WantsRows(now)) {
    return std::min(next, now + kNotReadyPause);
  }
  if (flight_.in_flight() > 0) return std::min(next, now + kSlow);
  return std::min(next, std::max(claim_at_, now + milliseconds(1)));
}

}  // namespace walpost
