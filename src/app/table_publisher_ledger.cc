// TablePublisher, with a ledger: rows in Kafka transactions.
#include <utility>

#include "app/table_publisher.h"
#include "base/status_macros.h"

namespace walpost {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

// What the ledger says goes before what this process remembers: another one may
// have continued meanwhile.
asio::awaitable<absl::Status> TablePublisher::OpenLedger() {
  if (options_.ledger == nullptr) co_return absl::OkStatus();
  if (!ledger_is_open_) {
    absl::StatusOr<SnapshotProgress> opened =
        co_await options_.ledger->Open(run_);
    if (!opened.ok()) co_return opened.status();
    progress_ = *std::move(opened);
    ledger_is_open_ = true;
    source_ = 0;
    counted_ = false;
    place_ = ScanPlace();
    all_ = progress_.rows_done + progress_.place.done;
  }
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

// Also what stands before a row that stops the flow.
asio::awaitable<absl::Status> TablePublisher::Settle() {
  if (options_.ledger == nullptr) co_return co_await WaitForAcknowledgements();
  const auto may_wait = [this]() -> absl::StatusOr<bool> {
    if (stopped_) return absl::CancelledError("told to end");
    WALPOST_RETURN_IF_ERROR(run_.SinkTrouble(Clock::now()));
    return true;
  };
  const absl::Status waited = co_await run_.WaitForAcknowledgements(may_wait);
  if (!waited.ok()) co_return waited;
  ScanPlace place = place_;
  place.OnAcknowledged(ordinal_);
  const bool is_done = source_ == config_.outbox.tables.size() ||
                       progress_.IsDone(config_.outbox.tables[source_].name);
  if (is_done) {
    progress_.table.clear();
  } else {
    progress_.table = config_.outbox.tables[source_].name;
  }
  progress_.place = place.state();
  progress_.order_columns = order_columns_;
  const absl::Status committed =
      co_await options_.ledger->Commit(run_, progress_);
  if (committed.ok()) place_ = std::move(place);
  progress_.table.clear();
  co_return committed;
}

}  // namespace walpost
