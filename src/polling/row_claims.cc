#include "polling/row_claims.h"

#include <unistd.h>

#include <boost/asio/ip/host_name.hpp>
#include <chrono>
#include <random>
#include <utility>

#include "base/sqlstate.h"
#include "base/utf8.h"
#include "fmt/format.h"
#include "log/log.h"

namespace walpost {

namespace asio = boost::asio;

namespace {

constexpr size_t kMaxErrorLength = 1'000;  // bytes
constexpr size_t kFarthest = 256;  // in batches, of a look past locked rows
// Each attempt that another session disturbs is an error in the server's log.
constexpr std::chrono::seconds kDisturbed{30};

// The process, for people, and a number that no other one has.
std::string MakeHolder() {
  std::random_device random;
  return fmt::format("{}/{}/{:08x}{:08x}", boost::asio::ip::host_name(),
                     getpid(), random(), random());
}

bool IsDisturbed(const absl::Status& status) {
  const std::string sqlstate = SqlstateOf(status);
  return sqlstate == kSqlstateLockNotAvailable ||
         sqlstate == kSqlstateSerializationFailure;
}

}  // namespace

RowClaims::RowClaims(PollingContext context)
    : context_(context),
      holder_(MakeHolder()),
      schedule_(context.options, std::random_device()()) {}

void RowClaims::Begin() {
  const PollingOptions& options = context_.options;
  std::optional<LeaseTableOptions> lease_table;
  if (options.has_lease_table()) lease_table = {options.lease_table, holder_};
  sql_.emplace(
      context_.rows.table(), options.lease,
      [&connection = context_.connection](std::string_view text) {
        return connection.Literal(text);
      },
      lease_table);
}

LeaseMark RowClaims::MarkOf(const RowBatch& batch) const {
  if (context_.options.has_lease_table()) return holder_;
  const pgoutput::RelationSchema& schema = context_.rows.table().schema;
  return batch.rows[0].Text(0, *schema.FindColumn(sql_->lease_column()));
}

std::string RowClaims::Finish(const std::vector<std::string>& ids) const {
  return context_.options.strategy == PollingOptions::Strategy::kDelete
             ? sql_->Delete(ids)
             : sql_->MarkPublished(ids);
}

asio::awaitable<absl::StatusOr<RowBatch>> RowClaims::Look(Hold hold) {
  std::vector<std::string> waiting =
      retry_state_.Waiting(std::chrono::steady_clock::now());
  if (hold == Hold::kLease) co_return co_await Claim(std::move(waiting));
  const std::string lock = sql_->Lock(context_.rows.limit(), waiting, far_);
  co_return co_await Read(lock);
}

asio::awaitable<absl::StatusOr<RowBatch>> RowClaims::Claim(
    std::vector<std::string> waiting) {
  const size_t limit = context_.rows.limit();
  const MonotonicTime now = std::chrono::steady_clock::now();
  if (far_ == 0 && now >= disturbed_until_ &&
      !context_.rows.table().aggregate.empty()) {
    const std::string claim = sql_->ClaimUndisturbed(limit, waiting);
    absl::StatusOr<RowBatch> batch = co_await Read(claim);
    if (!IsDisturbed(batch.status())) co_return batch;
    disturbed_until_ = now + kDisturbed;
  }
  const std::string claim = sql_->Claim(limit, waiting, far_);
  co_return co_await Read(claim);
}

asio::awaitable<absl::StatusOr<RowBatch>> RowClaims::Read(std::string look) {
  absl::StatusOr<RowBatch> batch = co_await context_.connection.QueryBatch(
      std::move(look), context_.rows.id_column());
  if (batch.ok()) NoteLook(batch->rows.size());
  co_return batch;
}

void RowClaims::NoteLook(size_t rows) {
  if (rows > 0) return;
  const size_t batch = context_.options.batch_size;
  far_ = far_ == 0 ? batch : 4 * far_;
  if (far_ > kFarthest * batch || context_.gauge.report().pending == 0) {
    far_ = 0;
  }
}

void RowClaims::OnPublished(const std::vector<RowsInFlight::Row>& rows) {
  for (const RowsInFlight::Row& row : rows) retry_state_.Forget(row.id);
}

std::vector<std::string> RowClaims::Done(
    const RowsInFlight::Finished& finished) const {
  std::vector<std::string> ids = IdsOf(finished.acknowledged);
  if (!MarksFailed()) AddIds(finished.set_aside, ids);
  return ids;
}

void RowClaims::AddSetAside(const RowsInFlight::Finished& finished,
                            std::vector<std::string>& statements,
                            const LeaseMark& mark) {
  if (!MarksFailed()) return;
  for (const RowsInFlight::RejectedRow& refusal : finished.set_aside) {
    RefusedRow row;
    row.id = refusal.row.id;
    row.error =
        ValidUtf8(std::string(refusal.reason.message()), kMaxErrorLength);
    row.give_up = true;
    retry_state_.Forget(row.id);
    statements.push_back(sql_->Refuse(row, mark));
  }
}

std::string RowClaims::OnRefused(const RowsInFlight::RejectedRow& refusal,
                                 MonotonicTime now, const LeaseMark& mark) {
  const RowStateOptions& state = context_.rows.table().state;
  const std::string& id = refusal.row.id;
  const uint64_t attempts =
      1 + (state.attempts.empty() ? retry_state_.attempts(id)
                                  : refusal.row.attempts);
  const RetrySchedule::Decision decision =
      schedule_.AfterRefusal(attempts, MarksFailed());
  RefusedRow row;
  row.id = id;
  row.error = ValidUtf8(std::string(refusal.reason.message()), kMaxErrorLength);
  row.retry_in = decision.retry_in;
  row.give_up = decision.give_up;
  LogWarn({{"table", context_.gauge.report().table}, {"event_id", id}},
          "table {}: row {} was rejected (attempt {}): {}; {}",
          context_.gauge.report().table, id, attempts, row.error,
          row.give_up ? std::string("marked as failed")
                      : fmt::format("again in {} ms", row.retry_in.count()));
  if (row.give_up) {
    retry_state_.Forget(id);
  } else if (!sql_->keeps_retry_time() || state.attempts.empty()) {
    retry_state_.OnRefused(id, now + row.retry_in);
  }
  return sql_->Refuse(row, mark);
}

}  // namespace walpost
