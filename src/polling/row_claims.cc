#include "polling/row_claims.h"

#include <random>

#include "base/utf8.h"
#include "fmt/format.h"
#include "log/log.h"

namespace walpost {

namespace asio = boost::asio;

namespace {

constexpr size_t kMaxErrorLength = 1'000;  // bytes
constexpr size_t kFarthest = 256;  // in batches, of a look past locked rows

}  // namespace

RowClaims::RowClaims(PollingContext context)
    : context_(context), schedule_(context.options, std::random_device()()) {}

void RowClaims::Begin() {
  sql_.emplace(context_.rows.table(), context_.options.lease,
               [&connection = context_.connection](std::string_view text) {
                 return connection.Literal(text);
               });
}

asio::awaitable<absl::StatusOr<RowBatch>> RowClaims::Look(Hold hold) {
  const std::vector<std::string> waiting =
      retry_state_.Waiting(std::chrono::steady_clock::now());
  const size_t limit = context_.rows.limit();
  const std::string look = hold == Hold::kLease
                               ? sql_->Claim(limit, waiting, far_)
                               : sql_->Lock(limit, waiting, far_);
  absl::StatusOr<RowBatch> batch =
      co_await context_.connection.QueryBatch(look, context_.rows.id_column());
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
