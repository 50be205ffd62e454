// TablePublisher, with a ledger: rows in Kafka transactions.
#include <utility>

#include "app/backfill/table_publisher.h"
#include "base/status_macros.h"
#include "spdlog/spdlog.h"

namespace walpost {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

// The ledger counts, and not the memory of this process: another one may have
// continued meanwhile.
asio::awaitable<absl::Status> TablePublisher::OpenLedger() {
  if (options_.ledger == nullptr || ledger_is_open_) co_return absl::OkStatus();
  const absl::Status started = run_.Start();
  if (!started.ok()) co_return started;
  absl::StatusOr<SnapshotProgress> opened =
      co_await options_.ledger->Open(run_);
  if (!opened.ok()) co_return opened.status();
  progress_ = *std::move(opened);
  ledger_is_open_ = true;
  source_ = 0;
  counted_ = false;
  place_ = ScanCursor();
  all_ = progress_.rows_done + progress_.place.done;
  if (all_ > 0)
    spdlog::info("initial snapshot: continuing behind {} rows", all_);
  co_return absl::OkStatus();
}

// Continues the table that an earlier publisher has begun.
void TablePublisher::RecallPlace() {
  if (progress_.table != config_.outbox.tables[source_].name) return;
  place_.Restore(std::exchange(progress_.place, {}));
  order_columns_ = progress_.order_columns;
  progress_.table.clear();
}

void TablePublisher::NoteForLedger(const Event& row) {
  if (options_.ledger == nullptr) return;
  const size_t bytes = row.payload ? row.payload->size() : 0;
  options_.ledger->OnRow(bytes, Clock::now());
}

bool TablePublisher::IsCommitDue() const {
  return options_.ledger != nullptr && options_.ledger->IsDue(Clock::now());
}

// Commits the rows before one that stops the flow, too.
asio::awaitable<absl::Status> TablePublisher::Settle() {
  if (options_.ledger == nullptr) co_return co_await WaitForAcknowledgements();
  const auto may_wait = [this]() -> absl::StatusOr<bool> {
    if (stopped_) return absl::CancelledError("told to end");
    WALPOST_RETURN_IF_ERROR(run_.SinkTrouble(Clock::now()));
    return true;
  };
  const absl::Status waited = co_await run_.WaitForAcknowledgements(may_wait);
  if (!waited.ok()) co_return waited;
  ScanCursor place = place_;
  place.OnAcknowledged(ordinal_);
  const std::string& table = config_.outbox.tables[source_].name;
  if (!progress_.IsDone(table)) progress_.table = table;
  progress_.place = place.state();
  progress_.order_columns = order_columns_;
  const absl::Status committed =
      co_await options_.ledger->Commit(run_, progress_);
  if (committed.ok()) place_ = std::move(place);
  progress_.table.clear();
  co_return committed;
}

}  // namespace walpost
