#include "cli/events/temporary_stream.h"

#include <unistd.h>

#include <chrono>
#include <memory>
#include <utility>

#include "base/status_macros.h"
#include "fmt/format.h"
#include "postgres/catalog/publication.h"
#include "postgres/catalog/read_base_types.h"
#include "postgres/slot/slot.h"

namespace walpost {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

namespace {

constexpr std::chrono::seconds kAskInterval{1};
constexpr std::chrono::seconds kSlotCreationLimit{60};

WalStream::Options StreamOptionsOf(const Config& config,
                                   const std::string& slot,
                                   const std::string& application_name) {
  WalStream::Options stream;
  stream.slot = slot;
  stream.publication = config.postgres.publication;
  stream.application_name = application_name;
  stream.remedy = "Make the publication, and begin again";
  stream.wal_sender_timeout = config.postgres.wal_sender_timeout;
  stream.ask_interval = kAskInterval;
  return stream;
}

}  // namespace

TemporaryStream::TemporaryStream(asio::any_io_executor executor,
                                 const Config& config,
                                 std::span<const Route> routes,
                                 const std::string& name, Take take,
                                 std::function<bool()> may_take)
    : executor_(executor),
      config_(config),
      application_name_("walpost:" + name),
      slot_(fmt::format("walpost_{}_{}", name, getpid())),
      take_(std::move(take)),
      may_take_(std::move(may_take)),
      stream_(StreamOptionsOf(config, slot_, application_name_), config.outbox,
              ReferencesOf(routes), *this),
      reader_(executor, stream_) {}

asio::awaitable<absl::Status> TemporaryStream::Start() {
  ConnectionOptions options;
  options.server = config_.postgres.server;
  options.application_name = application_name_;
  options.replication = true;
  WALPOST_CO_ASSIGN_OR_RETURN(auto connected,
                              co_await Connection::Connect(executor_, options));
  std::unique_ptr<Connection> connection = std::move(connected);
  absl::Status status = co_await RequirePublication(*connection);
  if (!status.ok()) co_return status;
  const MonotonicTime deadline = Clock::now() + kSlotCreationLimit;
  WALPOST_CO_ASSIGN_OR_RETURN(
      auto created,
      co_await CreateSlot(*connection, slot_, SlotKind::kTemporary,
                          SlotSnapshot::kNone, SlotFailover::kNo, deadline));
  StreamRequest stream;
  stream.slot = slot_;
  stream.publication = config_.postgres.publication;
  stream.messages = config_.outbox.messages.enabled();
  WALPOST_CO_ASSIGN_OR_RETURN(
      BaseTypes types, co_await ReadBaseTypes(*connection, config_.outbox));
  types.Complete();
  status = co_await StartReplication(*connection, std::move(stream));
  WalStream::Start start;
  start.slot = created;
  start.base_types = std::move(types);
  if (status.ok()) reader_.Begin(std::move(connection), std::move(start));
  co_return status;
}

asio::awaitable<absl::Status> TemporaryStream::StopAtNow() {
  ConnectionOptions options;
  options.server = config_.postgres.server;
  options.application_name = application_name_;
  WALPOST_CO_ASSIGN_OR_RETURN(auto connection,
                              co_await Connection::Connect(executor_, options));
  // Nothing beyond it has been sent to any reader.
  const std::string sql = "SELECT pg_catalog.pg_current_wal_flush_lsn()";
  WALPOST_CO_ASSIGN_OR_RETURN(auto rows, co_await connection->Execute(sql));
  WALPOST_CO_ASSIGN_OR_RETURN(auto end, Lsn::Parse(rows.Text(0, 0)));
  end_ = end;
  OnTransactionEnd(taken_);
  co_return absl::OkStatus();
}

asio::awaitable<absl::Status> TemporaryStream::RequirePublication(
    Connection& connection) {
  const std::string& publication = config_.postgres.publication;
  WALPOST_CO_ASSIGN_OR_RETURN(
      auto exists, co_await PublicationExists(connection, publication));
  absl::Status status;
  if (!exists && config_.postgres.create) {
    status = co_await CreatePublication(connection, publication,
                                        config_.outbox.tables);
  } else if (!exists) {
    status = absl::FailedPreconditionError(fmt::format(
        "publication {} does not exist: run walpost init -c FILE --admin "
        "CONNINFO, or {}",
        publication,
        CreatePublicationSql(publication, config_.outbox.tables,
                             connection.server_version())));
  }
  co_return status;
}

}  // namespace walpost
