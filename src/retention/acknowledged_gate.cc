#include "retention/acknowledged_gate.h"

#include <algorithm>
#include <optional>

#include "base/status_macros.h"
#include "fmt/format.h"
#include "loop/as_tuple.h"
#include "postgres/connect/session_name.h"
#include "postgres/slot/slot.h"

namespace walpost {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

namespace {

constexpr std::chrono::seconds kGateLimit{30};
// For the last answer.
constexpr std::chrono::seconds kGrace{1};
constexpr std::chrono::milliseconds kLookInterval{50};

}  // namespace

asio::awaitable<absl::Status> AcknowledgedGate::Connect(ServerOptions server) {
  ConnectionOptions options;
  options.server = std::move(server);
  options.application_name = SessionName(slot_, task_);
  WALPOST_CO_ASSIGN_OR_RETURN(connection_, co_await Connection::Connect(
                                               timer_.get_executor(), options));
  co_return absl::OkStatus();
}

asio::awaitable<absl::StatusOr<AcknowledgedGate::Mark>>
AcknowledgedGate::TakeMark() {
  // The statement takes its snapshot before it calls a function.
  const std::string look =
      "SELECT pg_snapshot_xmin(pg_current_snapshot()), "
      "pg_current_wal_insert_lsn()";
  // The walsender sends only flushed WAL. A commit flushes everything before
  // it, so that an idle database does not keep us waiting for its last bytes.
  const std::string flush = fmt::format(
      "SELECT pg_logical_emit_message(true, 'walpost.{}', '')", task_);
  connection_->set_deadline(Clock::now() + kGateLimit);
  WALPOST_CO_ASSIGN_OR_RETURN(QueryRows rows,
                              co_await connection_->Execute(look));
  Mark mark;
  mark.oldest_running = rows.Text(0, 0);
  const absl::StatusOr<Lsn> lsn = Lsn::Parse(rows.Text(0, 1));
  if (!lsn.ok()) co_return lsn.status();
  mark.lsn = *lsn;
  WALPOST_CO_ASSIGN_OR_RETURN(QueryRows flushed,
                              co_await connection_->Execute(flush));
  co_return mark;
}

asio::awaitable<absl::StatusOr<Lsn>> AcknowledgedGate::Confirmed(
    MonotonicTime answer_by) {
  connection_->set_deadline(answer_by);
  absl::StatusOr<std::optional<SlotState>> slot =
      co_await FindSlot(*connection_, slot_);
  if (!slot.ok()) co_return slot.status();
  if (!slot->has_value()) {
    co_return absl::FailedPreconditionError(
        fmt::format("slot {} does not exist, so nothing is known to be "
                    "acknowledged: walpost check -c FILE says what to do",
                    slot_));
  }
  if ((*slot)->wal_status == "lost") {
    co_return absl::FailedPreconditionError(
        fmt::format("slot {} is lost, so what came after {} may not be in "
                    "Kafka: run walpost recover -c FILE first",
                    slot_, (*slot)->confirmed_flush_lsn.ToString()));
  }
  co_return (*slot)->confirmed_flush_lsn;
}

asio::awaitable<absl::Status> AcknowledgedGate::WaitUntilPassed(
    Mark mark, MonotonicTime deadline) {
  for (;;) {
    absl::StatusOr<Lsn> confirmed = co_await Confirmed(
        std::min(Clock::now() + kGateLimit, deadline + kGrace));
    if (!confirmed.ok()) co_return confirmed.status();
    if (*confirmed >= mark.lsn) co_return absl::OkStatus();
    if (stopped_) co_return absl::CancelledError("told to end");
    if (Clock::now() >= deadline) {
      co_return absl::DeadlineExceededError(
          fmt::format("slot {} has confirmed {}, and what is committed reaches "
                      "{}: walpost status -c FILE says what it waits for",
                      slot_, confirmed->ToString(), mark.lsn.ToString()));
    }
    timer_.expires_after(kLookInterval);
    co_await timer_.async_wait(kAsTuple);
  }
}

}  // namespace walpost
