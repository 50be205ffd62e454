// ReplaySource before its stream: reads what the range depends on, and copies
// the guard slot to read it from.
#include <boost/asio/use_awaitable.hpp>
#include <cstdlib>
#include <utility>

#include "base/status_macros.h"
#include "fmt/format.h"
#include "postgres/catalog/read_base_types.h"
#include "postgres/connect/system_identity.h"
#include "postgres/slot/replay_window_slot.h"
#include "postgres/stream/replay_source.h"
#include "postgres/tables/since.h"

namespace walpost {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

namespace {

// Limit for the statements before the stream.
constexpr milliseconds kRangeSetupLimit{20'000};

}  // namespace

asio::awaitable<absl::Status> ReplaySource::Open(ReplayRequest request) {
  const absl::Status status = co_await Prepare(std::move(request));
  if (!absl::IsDeadlineExceeded(status)) co_return status;
  const std::string text = fmt::format(
      "Postgres did not answer the statements before the replay within {} s: "
      "{}; is it frozen or overloaded?",
      kRangeSetupLimit.count() / 1000, std::string(status.message()));
  co_return absl::UnavailableError(text);
}

asio::awaitable<absl::Status> ReplaySource::Prepare(ReplayRequest request) {
  absl::Status status = co_await Connect();
  if (status.ok()) status = co_await FindRange(std::move(request));
  if (!status.ok()) co_return status;
  if (range_.is_empty()) co_return absl::OkStatus();
  StreamRequest stream;
  stream.slot = copy_;
  stream.start = range_.from;
  stream.publication = options_.publication;
  stream.messages = outbox_.messages.enabled();
  WALPOST_CO_ASSIGN_OR_RETURN(BaseTypes types,
                              co_await ReadBaseTypes(*connection_, outbox_));
  types.Complete();
  status = co_await StartReplication(*connection_, std::move(stream));
  if (!status.ok()) co_return status;
  connection_->set_deadline(std::nullopt);
  WalStream::Start start;
  start.slot = range_.from;
  start.end = range_.to;
  start.base_types = std::move(types);
  reader_.Begin(std::move(connection_), std::move(start));
  co_return absl::OkStatus();
}

asio::awaitable<absl::Status> ReplaySource::Connect() {
  ConnectionOptions options;
  options.server = options_.server;
  options.application_name = kApplicationName;
  options.replication = true;
  WALPOST_CO_ASSIGN_OR_RETURN(connection_,
                              co_await Connection::Connect(executor_, options));
  connection_->set_deadline(Clock::now() + kRangeSetupLimit);
  WALPOST_CO_ASSIGN_OR_RETURN(const SystemIdentity server,
                              co_await IdentifySystem(*connection_));
  server_.system_identifier = server.system_identifier;
  server_.timeline = server.timeline;
  co_return absl::OkStatus();
}

asio::awaitable<absl::Status> ReplaySource::FindRange(ReplayRequest request) {
  absl::StatusOr<std::optional<SlotState>> live =
      co_await FindSlot(*connection_, options_.slot);
  if (!live.ok()) co_return live.status();
  if (!*live) {
    co_return absl::FailedPreconditionError(fmt::format(
        "slot {} does not exist, so nothing is confirmed", options_.slot));
  }
  // After reading the live slot, because that only moves forward.
  WALPOST_CO_ASSIGN_OR_RETURN(SlotState copy, co_await CopyGuardSlot());
  if (!request.since.empty()) {
    WALPOST_CO_ASSIGN_OR_RETURN(server_.since,
                                co_await FindSince(request.since));
  }
  server_.slot = options_.slot;
  server_.oldest = copy.confirmed_flush_lsn;
  server_.confirmed = (*live)->confirmed_flush_lsn;
  WALPOST_CO_ASSIGN_OR_RETURN(range_, ChooseReplayRange(request, server_));
  co_return absl::OkStatus();
}

// The guard slot may move at any time; its copy is ours.
asio::awaitable<absl::StatusOr<SlotState>> ReplaySource::CopyGuardSlot() {
  const std::string guard = ReplayWindowSlotName(options_.slot);
  WALPOST_CO_ASSIGN_OR_RETURN(std::optional<SlotState> found,
                              co_await FindSlot(*connection_, guard));
  if (!found) {
    co_return absl::FailedPreconditionError(fmt::format(
        "guard slot {} does not exist: set replay.window, and events that are "
        "published from then on can be replayed; {}",
        guard, kReplayFromTable));
  }
  if (found->wal_status == "lost") {
    co_return absl::FailedPreconditionError(
        fmt::format("guard slot {} is lost: the server kept no more WAL for it "
                    "(max_slot_wal_keep_size); {}",
                    guard, kReplayFromTable));
  }
  const std::string sql =
      fmt::format("SELECT pg_copy_logical_replication_slot({}, {}, true)",
                  connection_->Literal(guard), connection_->Literal(copy_));
  WALPOST_CO_ASSIGN_OR_RETURN(QueryRows copied,
                              co_await connection_->Execute(sql));
  absl::StatusOr<std::optional<SlotState>> copy =
      co_await FindSlot(*connection_, copy_);
  if (!copy.ok()) co_return copy.status();
  if (!*copy) co_return absl::InternalError("the copy of the slot is missing");
  co_return **copy;
}

asio::awaitable<absl::StatusOr<WallTime>> ReplaySource::FindSince(
    std::string since) {
  const std::string sql = fmt::format(
      "SELECT (extract(epoch FROM {0}) * 1000000)::bigint, {0} > now()",
      SinceSql(*connection_, since));
  absl::StatusOr<QueryRows> rows = co_await connection_->Execute(sql);
  if (!rows.ok()) {
    co_return absl::InvalidArgumentError(fmt::format(
        "--since {}: a time like '2025-01-31 12:00+00', or 1h for an hour ago, "
        "is expected: {}",
        since, std::string(rows.status().message())));
  }
  if (rows->Bool(0, 1)) {
    co_return absl::InvalidArgumentError(
        fmt::format("--since {}: that is in the future", since));
  }
  const std::string micros = rows->Text(0, 0);
  co_return WallTime(
      std::chrono::microseconds(std::strtoll(micros.c_str(), nullptr, 10)));
}

}  // namespace walpost
