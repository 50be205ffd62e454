// Connection: connecting.
#include <libpq-fe.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "base/finding_id.h"
#include "base/read_refusal.h"
#include "base/session_settings.h"
#include "base/sqlstate.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "log/log.h"
#include "loop/secret_command.h"
#include "postgres/connect/connect_steps.h"
#include "postgres/connect/connection.h"
#include "postgres/connect/host_lookup.h"
#include "postgres/connect/replication_right.h"
#include "postgres/connect/sqlstate.h"

namespace walpost {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

namespace {

// Names the user and the target; never contains the password.
std::string DescribeTarget(const PGconn* raw) {
  const auto text = [](const char* value) { return value ? value : "?"; };
  std::string place = text(PQhost(raw));
  // A name may have several addresses.
  const std::string address = text(PQhostaddr(raw));
  const bool is_socket = place.empty() || place.front() == '/';
  if (!is_socket && address.size() > 1 && address != place) {
    place += fmt::format(" ({})", address);
  }
  return fmt::format("connecting to Postgres at {}:{} (database {}, user {})",
                     place, text(PQport(raw)), text(PQdb(raw)),
                     text(PQuser(raw)));
}

// Error of libpq or the server for `raw`, which failed to connect, plus the
// remedy for causes that only show here. kFailedPrecondition: another attempt
// would also fail.
absl::Status ConnectFailure(const PGconn* raw) {
  absl::Status status = StatusFromConnection(raw, DescribeTarget(raw));
  const std::string text(status.message());
  const std::string_view libpq = PQerrorMessage(raw);
  const auto says = [&](std::string_view words) {
    return text.find(words) != std::string::npos;
  };
  // Before anything is sent: sslmode, port and the like.
  if (libpq.starts_with("invalid ")) {
    return WithFindingId(
        absl::FailedPreconditionError(fmt::format(
            "postgres.conninfo: {}", libpq.substr(0, libpq.find('\n')))),
        FindingId(kFindingConninfoInvalid));
  }
  if (says("\"idle_session_timeout\"")) {  // the newest of kPinnedSettings
    return WithFindingId(
        absl::FailedPreconditionError(fmt::format(
            "{}: the server is older than PostgreSQL 14, the oldest "
            "that walpost supports: upgrade it",
            DescribeTarget(raw))),
        FindingId("server_version_unsupported"));
  }
  std::string_view remedy;
  if (says("does not support SSL")) {
    remedy = "; set another sslmode in postgres.conninfo, or ssl = on";
  }
  if (remedy.empty()) return status;
  return WithSqlstate(
      absl::Status(status.code(), fmt::format("{}{}", text, remedy)),
      SqlstateOf(status));
}

// True if the role may not replicate.
bool LacksReplication(const absl::Status& status) {
  const std::string text(status.message());
  // Worded differently before 17.
  const bool is_about_it = text.find("WAL sender") != std::string::npos ||
                           text.find("replication") != std::string::npos;
  return SqlstateOf(status) == kSqlstatePrivilege && is_about_it;
}

// An answer that came late still gets this long in libpq: a step that takes
// longer is blocked, by a file or a name server.
constexpr std::chrono::seconds kStepLimit{1};

// For files and name servers.
constexpr std::chrono::seconds kReadLimit{5};

// The conninfo's own `options`, which go in front of ours.
absl::StatusOr<std::string> OptionsOf(const std::string& conninfo,
                                      bool may_change) {
  PQconninfoOption* parsed = PQconninfoParse(conninfo.c_str(), nullptr);
  if (parsed == nullptr) {
    // config/ reports the cause, without the password that may be in it.
    if (!may_change) {
      return WithFindingId(
          absl::InvalidArgumentError("postgres.conninfo does not parse"),
          FindingId(kFindingConninfoInvalid));
    }
    return WithFindingId(
        absl::UnavailableError(
            "postgres.conninfo does not parse with what its files hold now: "
            "quote "
            "values with spaces, quotes or backslashes as in a conninfo"),
        FindingId(kFindingConninfoInvalid));
  }
  std::string options;
  for (const PQconninfoOption* o = parsed; o->keyword != nullptr; ++o) {
    if (std::strcmp(o->keyword, "options") == 0 && o->val != nullptr) {
      options = o->val;
    }
  }
  PQconninfoFree(parsed);
  return options;
}

// One for the process: its sessions go to the same servers. For the loop alone.
SilentAddresses& Silent() {
  static SilentAddresses silent;
  return silent;
}

// Where to connect, with the names looked up. Of the caller's time, half is for
// the look-up.
asio::awaitable<absl::StatusOr<ConnectAttempts>> PlanAttempts(
    asio::any_io_executor executor, ConnectParameters parameters,
    std::optional<MonotonicTime> by) {
  MonotonicTime deadline = Clock::now() + kReadLimit;
  if (by)
    deadline = std::min(deadline, Clock::now() + (*by - Clock::now()) / 2);
  WALPOST_CO_ASSIGN_OR_RETURN(
      ConnectPlaces places,
      co_await FindPlaces(executor, std::move(parameters), deadline));
  WALPOST_CO_ASSIGN_OR_RETURN(
      std::vector<ServerAddress> addresses,
      co_await LookUpHosts(executor, places.hosts, deadline));
  if (places.in_random_order) {
    std::shuffle(addresses.begin(), addresses.end(), std::random_device());
  }
  addresses = Silent().Order(std::move(addresses), Clock::now());
  co_return ConnectAttempts(std::move(addresses), places, by);
}

absl::Status NoAnswer(const std::string& attempted,
                      std::chrono::milliseconds limit) {
  return absl::UnavailableError(fmt::format(
      "{}: no answer within the time limit of {} s (connect_timeout "
      "of postgres.conninfo)",
      attempted, static_cast<double>(limit.count()) / 1000));
}

absl::Status Failed(const std::string& attempted, const absl::Status& cause) {
  return absl::UnavailableError(
      fmt::format("{}: {}", attempted, std::string(cause.message())));
}

// A pooler rejects startup options that it does not know: PgBouncer with
// 08P01, the one of RDS with 0A000.
bool RejectsOptions(const absl::Status& status) {
  const std::string sqlstate = SqlstateOf(status);
  return (sqlstate == "08P01" || sqlstate == "0A000") &&
         status.message().find("options") != absl::string_view::npos;
}

absl::Status NotKept(const QueryRows& rows) {
  return WithFindingId(
      absl::FailedPreconditionError(fmt::format(
          "connecting to Postgres: the server does not keep the settings of a "
          "session: {} is {} after it was set. A pooler that shares "
          "connections "
          "between transactions is in between: let it pool sessions (pool_mode "
          "= "
          "session), or connect to Postgres directly",
          rows.Text(0, 0), rows.Text(0, 1))),
      FindingId("pooler_shares_connections"));
}

asio::awaitable<absl::Status> PinSettings(Connection& connection,
                                          std::vector<std::string> own) {
  const std::string pin = PinSettingsSql(connection.server_version(),
                                         connection.server_encoding(), own);
  const std::string attempted = "pinning the settings of the session";
  const absl::StatusOr<QueryRows> pinned =
      co_await connection.Execute(pin, attempted);
  if (!pinned.ok()) co_return pinned.status();
  // In a transaction of its own, which another backend may have.
  const std::string read = ReadSettingsSql(own);
  const absl::StatusOr<QueryRows> lost =
      co_await connection.Execute(read, attempted);
  if (!lost.ok()) co_return lost.status();
  co_return lost->size() == 0 ? absl::OkStatus() : NotKept(*lost);
}

}  // namespace

asio::awaitable<absl::StatusOr<std::unique_ptr<Connection>>>
Connection::Connect(asio::any_io_executor executor, ConnectionOptions options) {
  const ServerOptions& server = options.server;
  std::optional<MonotonicTime> by;
  if (options.connect_timeout) by = Clock::now() + *options.connect_timeout;
  const MonotonicTime read_by =
      Clock::now() + options.connect_timeout.value_or(kReadLimit);
  const absl::StatusOr<std::string> conninfo =
      co_await ReadConninfo(executor, server.conninfo, read_by);
  if (!conninfo.ok()) co_return conninfo.status();
  std::string password;
  if (!server.password_command.empty()) {
    WALPOST_CO_ASSIGN_OR_RETURN(
        std::string printed,
        co_await RunSecretCommand(executor, kPasswordCommand,
                                  server.password_command));
    password = std::move(printed);
  }
  absl::StatusOr<std::string> own_options =
      OptionsOf(*conninfo, server.conninfo.has_references());
  if (!own_options.ok()) co_return own_options.status();
  std::string settings = *own_options;
  for (const std::string_view setting : kPinnedSettings) {
    settings += fmt::format(" -c {}", setting);
  }
  // The role's setting may be too short for a busy session to answer.
  if (options.replication) {
    options.settings.insert(options.settings.begin(), "wal_sender_timeout=60s");
  }
  for (const std::string& setting : options.settings) {
    settings += fmt::format(" -c {}", setting);
  }
  // Keywords before dbname, which expands to the conninfo, are only defaults;
  // keywords after it override.
  ConnectParameters parameters;
  for (const auto& [keyword, value] : kConnectionDefaults) {
    parameters.Add(keyword, value);
  }
  parameters.Add("dbname", *conninfo);
  parameters.Add("client_encoding", "UTF8");
  parameters.Add("application_name", options.application_name);
  if (options.replication) parameters.Add("replication", "database");
  if (!password.empty()) parameters.Add("password", password);
  const ConnectParameters without_options = parameters;
  parameters.Add("options", settings);
  absl::StatusOr<ConnectAttempts> attempts =
      co_await PlanAttempts(executor, parameters, by);
  if (!attempts.ok()) co_return attempts.status();
  while (const auto attempt = attempts->Next(Clock::now())) {
    absl::StatusOr<std::unique_ptr<Connection>> connection =
        co_await TryAddress(executor, options, parameters, *attempt);
    if (own_options->empty() && RejectsOptions(connection.status())) {
      connection =
          co_await TryAddress(executor, options, without_options, *attempt);
    }
    const bool is_silent = Clock::now() >= attempt->deadline;
    if (!is_silent) Silent().OnAnswer(attempt->address);
    if (connection.ok()) co_return connection;
    const absl::Status& status = connection.status();
    if (is_silent) {
      Silent().OnSilence(attempt->address, Clock::now());
      attempts->OnSilence(status);
      if (!attempts->has_next()) break;
      LogWarn("{}; trying the next address", std::string(status.message()));
    } else if (!attempts->GoesOnAfter(status)) {
      break;
    }
  }
  const absl::Status failure = attempts->failure();
  if (options.replication && LacksReplication(failure)) {
    co_return co_await WithReplicationRemedy(executor, options, failure);
  }
  co_return failure;
}

asio::awaitable<absl::StatusOr<std::unique_ptr<Connection>>>
Connection::TryAddress(asio::any_io_executor executor,
                       const ConnectionOptions& options,
                       ConnectParameters parameters,
                       ConnectAttempts::Attempt attempt) {
  const auto replace = [&](std::string_view keyword, std::string_view value) {
    if (!value.empty()) parameters.Add(keyword, value);
  };
  replace("host", attempt.address.host);
  replace("hostaddr", attempt.address.hostaddr);
  replace("port", attempt.address.port);
  replace("target_session_attrs", attempt.target_session_attrs);
  WALPOST_CO_ASSIGN_OR_RETURN(
      SharedConnection begun,
      co_await BeginConnecting(executor, parameters, attempt.deadline));
  std::unique_ptr<Connection> connection(
      new Connection(executor, std::move(begun), options.statement_limit,
                     options.replication));
  absl::Status status =
      co_await connection->FinishConnecting(executor, attempt);
  if (!status.ok()) co_return status;
  connection->set_deadline(attempt.deadline);
  status = co_await PinSettings(*connection, options.settings);
  connection->set_deadline(std::nullopt);
  if (absl::IsDeadlineExceeded(status)) {
    co_return absl::UnavailableError(status.message());
  }
  if (!status.ok()) co_return status;
  co_return connection;
}

asio::awaitable<absl::Status> Connection::FinishConnecting(
    asio::any_io_executor executor, ConnectAttempts::Attempt attempt) {
  const MonotonicTime deadline = attempt.deadline;
  PGconn* raw = connection_.get();
  if (raw == nullptr) co_return absl::InternalError("libpq: out of memory");
  const std::string attempted = DescribeTarget(raw);
  PQsetErrorVerbosity(raw, PQERRORS_VERBOSE);  // with SQLSTATE: sqlstate.cc
  PostgresPollingStatusType next = PGRES_POLLING_WRITING;
  if (PQstatus(raw) == CONNECTION_BAD) next = PGRES_POLLING_FAILED;
  while (next != PGRES_POLLING_OK) {
    if (next == PGRES_POLLING_FAILED) co_return ConnectFailure(raw);
    const auto interest = next == PGRES_POLLING_READING
                              ? SocketWaiter::Interest::kRead
                              : SocketWaiter::Interest::kWrite;
    const absl::Status watched = waiter_.Watch(PQsocket(raw));
    if (!watched.ok()) co_return Failed(attempted, watched);
    co_await waiter_.Wait(interest, deadline);
    waiter_.Release();
    const MonotonicTime now = Clock::now();
    if (now >= deadline) {
      co_return NoAnswer(attempted, attempt.limit);
    }
    const MonotonicTime step_by = std::max(deadline, now + kStepLimit);
    WALPOST_CO_ASSIGN_OR_RETURN(
        const PostgresPollingStatusType polled,
        co_await ContinueConnecting(executor, connection_, step_by));
    next = polled;
  }
  const absl::Status watched = waiter_.Watch(PQsocket(raw));
  if (!watched.ok()) co_return Failed(attempted, watched);
  PQsetErrorVerbosity(raw, PQERRORS_DEFAULT);
  PQsetnonblocking(raw, 1);
  PQsetNoticeReceiver(raw, &Connection::OnNotice, this);
  co_return absl::OkStatus();
}

}  // namespace walpost
