#include "postgres/slot/identify_source.h"

#include "base/status_macros.h"
#include "postgres/connect/connection.h"
#include "postgres/connect/session_name.h"
#include "postgres/slot/birth_record.h"

namespace walpost {

namespace asio = boost::asio;

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
