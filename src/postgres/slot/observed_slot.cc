#include "postgres/slot/observed_slot.h"

#include <utility>

#include "base/status_macros.h"
#include "postgres/connect/connection.h"
#include "postgres/connect/session_name.h"
#include "postgres/connect/system_identity.h"
#include "postgres/slot/birth_record.h"

namespace walpost {

namespace asio = boost::asio;

asio::awaitable<absl::StatusOr<ObservedSlot>> LookAtSlot(
    Connection& connection, const WalSourceOptions& postgres) {
  WALPOST_CO_ASSIGN_OR_RETURN(SystemIdentity server,
                              co_await IdentifySystem(connection));
  WALPOST_CO_ASSIGN_OR_RETURN(std::optional<SlotState> slot,
                              co_await FindSlot(connection, postgres.slot));
  WALPOST_CO_ASSIGN_OR_RETURN(
      std::optional<BirthRecord> birth,
      co_await ReadBirthRecord(connection, postgres.publication,
                               postgres.slot));
  ObservedSlot sight;
  sight.system_identifier = std::move(server.system_identifier);
  sight.timeline = server.timeline;
  sight.slot = std::move(slot);
  sight.birth = std::move(birth);
  co_return sight;
}

SlotHistory HistoryOf(const std::optional<SlotState>& slot,
                      const std::optional<BirthRecord>& birth,
                      std::string_view system_identifier,
                      HasCheckpoint has_checkpoint) {
  const bool was_used = has_checkpoint == HasCheckpoint::kYes;
  if (!slot) {
    return birth || was_used ? SlotHistory::kMissing : SlotHistory::kNone;
  }
  if (was_used) return SlotHistory::kUsed;
  if (!birth) return SlotHistory::kUnknown;
  const bool stands_at_birth =
      birth->system_identifier == system_identifier &&
      slot->confirmed_flush_lsn == birth->consistent_point &&
      slot->wal_status != "lost";
  return stands_at_birth && !AllWasPublished(*birth) ? SlotHistory::kUnused
                                                     : SlotHistory::kUsed;
}

namespace {

constexpr std::chrono::seconds kIdentityLimit{5};

}  // namespace

asio::awaitable<absl::StatusOr<SourceIdentity>> IdentifySource(
    asio::any_io_executor executor, ServerOptions server,
    std::string publication, std::string slot) {
  ConnectionOptions options;
  options.server = std::move(server);
  options.application_name = SessionName(slot, "identify");
  WALPOST_CO_ASSIGN_OR_RETURN(std::unique_ptr<Connection> connected,
                              co_await Connection::Connect(executor, options));
  Connection& connection = *connected;
  connection.set_deadline(std::chrono::steady_clock::now() + kIdentityLimit);
  const std::string sql =
      "SELECT system_identifier FROM pg_catalog.pg_control_system()";
  absl::StatusOr<QueryRows> rows = co_await connection.Execute(sql);
  if (absl::IsDeadlineExceeded(rows.status())) {
    co_return absl::UnavailableError(rows.status().message());
  }
  if (!rows.ok()) co_return rows.status();
  SourceIdentity identity;
  identity.system_identifier = rows->Text(0, 0);
  absl::StatusOr<std::optional<BirthRecord>> birth =
      co_await ReadBirthRecord(connection, publication, slot);
  if (absl::IsDeadlineExceeded(birth.status())) {
    co_return absl::UnavailableError(birth.status().message());
  }
  if (!birth.ok()) co_return birth.status();
  identity.has_birth_record =
      *birth && (*birth)->system_identifier == identity.system_identifier;
  co_return identity;
}

}  // namespace walpost
