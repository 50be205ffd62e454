#include "postgres/connect/connection.h"

#include <algorithm>

#include "base/check.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "postgres/connect/sqlstate.h"

namespace walpost {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

namespace {

// Limit for warnings that nobody takes.
constexpr size_t kMaxWarnings = 16;
// Statements sent before their answers are read: so few that both ends can
// write all they have.
constexpr size_t kMaxPipelined = 100;

// First words of a command, for messages: without literals and secrets.
std::string Abbreviate(std::string_view sql) {
  constexpr size_t kMaxLength = 60;
  const std::string_view line = sql.substr(0, sql.find('\n'));
  if (line.size() <= kMaxLength) return std::string(line);
  return fmt::format("{}{}", line.substr(0, kMaxLength), kCutMark);
}

// Literal for text that libpq rejects as invalid UTF-8. A database of encoding
// SQL_ASCII may have such text; any other one rejects it.
std::string EscapedBytes(std::string_view text) {
  std::string literal = "E'";
  for (const char c : text) {
    literal += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  }
  return literal + "'";
}

}  // namespace

Connection::Connection(asio::any_io_executor executor,
                       SharedConnection connection,
                       std::chrono::milliseconds statement_limit,
                       bool is_replication)
    : connection_(std::move(connection)),
      waiter_(executor),
      statement_limit_(statement_limit),
      is_replication_(is_replication) {}

Connection::~Connection() { waiter_.Release(); }

std::string Connection::server_encoding() const {
  const char* encoding =
      PQparameterStatus(connection_.get(), "server_encoding");
  return encoding == nullptr ? "" : encoding;
}

absl::Status Connection::Queue(const std::string& sql,
                               const std::string& attempted) {
  PGconn* raw = connection_.get();
  statement_begin_ = Clock::now();
  if (PQsendQuery(raw, sql.c_str()) == 1) return absl::OkStatus();
  return StatusFromConnection(raw, attempted);
}

asio::awaitable<absl::Status> Connection::Send(std::string sql,
                                               std::string attempted) {
  const absl::Status queued = Queue(sql, attempted);
  if (!queued.ok()) co_return queued;
  co_return co_await Flush(std::move(attempted));
}

asio::awaitable<absl::Status> Connection::Flush(std::string attempted) {
  PGconn* raw = connection_.get();
  for (;;) {
    const int pending = PQflush(raw);
    if (pending == 0) co_return absl::OkStatus();
    if (pending < 0) co_return StatusFromConnection(raw, attempted);
    const absl::Status in_time = CheckInTime(attempted);
    if (!in_time.ok()) co_return in_time;
    const MonotonicTime until = Clock::now() + std::chrono::seconds(1);
    co_await waiter_.Wait(SocketWaiter::Interest::kWrite, until);
  }
}

asio::awaitable<absl::StatusOr<PGresult*>> Connection::NextResult(
    std::string attempted) {
  PGconn* raw = connection_.get();
  while (PQisBusy(raw)) {
    const absl::Status in_time = CheckInTime(attempted);
    if (!in_time.ok()) co_return in_time;
    // Once a second even without input: see SocketWaiter about TLS.
    const MonotonicTime until = Clock::now() + std::chrono::seconds(1);
    co_await waiter_.Wait(SocketWaiter::Interest::kRead, until);
    if (PQconsumeInput(raw) == 0) {
      co_return StatusFromConnection(raw, attempted);
    }
  }
  co_return PQgetResult(raw);
}

absl::Status Connection::CheckInTime(const std::string& attempted) const {
  const MonotonicTime now = Clock::now();
  if (deadline_ && now >= *deadline_) {
    return absl::DeadlineExceededError(
        fmt::format("{}: no answer in time", attempted));
  }
  if (!deadline_ && now >= statement_begin_ + statement_limit_) {
    const auto limit =
        std::chrono::ceil<std::chrono::seconds>(statement_limit_);
    return absl::UnavailableError(fmt::format(
        "{}: Postgres gave no answer within {} s: it is frozen or overloaded, "
        "or waits for a lock: SELECT pg_blocking_pids({})",
        attempted, limit.count(), PQbackendPID(connection_.get())));
  }
  return absl::OkStatus();
}

asio::awaitable<absl::StatusOr<QueryRows>> Connection::Execute(
    std::string sql) {
  std::string attempted = Abbreviate(sql);
  co_return co_await Execute(std::move(sql), std::move(attempted));
}

asio::awaitable<absl::StatusOr<QueryRows>> Connection::Execute(
    std::string sql, std::string attempted) {
  const absl::Status sent = co_await Send(std::move(sql), attempted);
  if (!sent.ok()) co_return sent;
  co_return co_await TakeRows(std::move(attempted));
}

asio::awaitable<absl::StatusOr<std::vector<absl::StatusOr<QueryRows>>>>
Connection::ExecuteEach(std::vector<std::string> statements) {
  std::vector<absl::StatusOr<QueryRows>> results;
  for (size_t begin = 0; begin < statements.size(); begin += kMaxPipelined) {
    const size_t end = std::min(begin + kMaxPipelined, statements.size());
    if (!is_replication_) {
      const auto some = std::span(statements).subspan(begin, end - begin);
      WALPOST_CO_RETURN_IF_ERROR(co_await SendPipelined(some));
    }
    for (size_t i = begin; i < end; ++i) {
      std::string attempted = Abbreviate(statements[i]);
      if (is_replication_) {
        std::string sql = statements[i];
        WALPOST_CO_RETURN_IF_ERROR(co_await Send(std::move(sql), attempted));
      }
      statement_begin_ = Clock::now();
      absl::StatusOr<QueryRows> rows = co_await TakeRows(attempted);
      results.push_back(std::move(rows));
      const absl::Status& status = results.back().status();
      // Not one of the server: the connection is unusable.
      if (!status.ok() && SqlstateOf(status).empty()) co_return status;
      if (PQstatus(connection_.get()) == CONNECTION_BAD) co_return status;
      if (!is_replication_) {
        WALPOST_CO_RETURN_IF_ERROR(co_await ReadToSync(std::move(attempted)));
      }
    }
    if (!is_replication_) PQexitPipelineMode(connection_.get());
  }
  co_return results;
}

// Each in a transaction of its own, unless one is open.
asio::awaitable<absl::Status> Connection::SendPipelined(
    std::span<const std::string> statements) {
  PGconn* raw = connection_.get();
  std::string attempted = Abbreviate(statements.front());
  statement_begin_ = Clock::now();
  bool is_queued = PQenterPipelineMode(raw) == 1;
  for (const std::string& sql : statements) {
    is_queued = is_queued &&
                PQsendQueryParams(raw, sql.c_str(), 0, nullptr, nullptr,
                                  nullptr, nullptr, 0) == 1 &&
                PQpipelineSync(raw) == 1;
  }
  if (!is_queued) co_return StatusFromConnection(raw, attempted);
  co_return co_await Flush(std::move(attempted));
}

asio::awaitable<absl::Status> Connection::ReadToSync(std::string attempted) {
  WALPOST_CO_ASSIGN_OR_RETURN(PGresult * next, co_await NextResult(attempted));
  const QueryRows result(next);
  if (PQresultStatus(next) == PGRES_PIPELINE_SYNC) co_return absl::OkStatus();
  co_return StatusFromConnection(connection_.get(), attempted);
}

asio::awaitable<absl::Status> Connection::StartRows(std::string sql) {
  rows_attempted_ = Abbreviate(sql);
  const absl::Status queued = Queue(sql, rows_attempted_);
  if (!queued.ok()) co_return queued;
  WALPOST_CHECK(PQsetSingleRowMode(connection_.get()) == 1);
  co_return co_await Flush(rows_attempted_);
}

asio::awaitable<absl::StatusOr<std::optional<QueryRows>>>
Connection::NextRow() {
  statement_begin_ = Clock::now();
  absl::Status status;
  for (;;) {
    WALPOST_CO_ASSIGN_OR_RETURN(PGresult * next,
                                co_await NextResult(rows_attempted_));
    if (next == nullptr) break;
    QueryRows result(next);
    const ExecStatusType kind = PQresultStatus(next);
    if (kind == PGRES_SINGLE_TUPLE) co_return std::move(result);
    if (kind == PGRES_TUPLES_OK || kind == PGRES_COMMAND_OK) continue;
    if (status.ok()) status = StatusFromResult(next, rows_attempted_);
    if (PQstatus(connection_.get()) == CONNECTION_BAD) break;
  }
  if (!status.ok()) co_return status;
  co_return std::nullopt;
}

asio::awaitable<absl::StatusOr<QueryRows>> Connection::ExecuteBinary(
    std::string sql, std::vector<std::optional<std::string_view>> parameters) {
  constexpr Oid kBytea = 17;
  constexpr int kBinary = 1;
  const size_t count = parameters.size();
  const std::vector<Oid> types(count, kBytea);
  const std::vector<int> formats(count, kBinary);
  std::vector<const char*> values;
  std::vector<int> lengths;
  for (const auto& parameter : parameters) {
    values.push_back(parameter ? parameter->data() : nullptr);
    lengths.push_back(static_cast<int>(parameter.value_or("").size()));
  }
  std::string attempted = Abbreviate(sql);
  statement_begin_ = Clock::now();
  if (PQsendQueryParams(connection_.get(), sql.c_str(), static_cast<int>(count),
                        types.data(), values.data(), lengths.data(),
                        formats.data(), kBinary) == 0) {
    co_return StatusFromConnection(connection_.get(), attempted);
  }
  const absl::Status sent = co_await Flush(attempted);
  if (!sent.ok()) co_return sent;
  co_return co_await TakeRows(std::move(attempted));
}

asio::awaitable<absl::StatusOr<QueryRows>> Connection::TakeRows(
    std::string attempted) {
  absl::Status status;
  std::optional<QueryRows> rows;
  for (;;) {
    WALPOST_CO_ASSIGN_OR_RETURN(PGresult * next,
                                co_await NextResult(attempted));
    if (next == nullptr) break;
    QueryRows result(next);
    const ExecStatusType kind = PQresultStatus(next);
    if (kind != PGRES_TUPLES_OK && kind != PGRES_COMMAND_OK) {
      if (status.ok()) status = StatusFromResult(next, attempted);
      if (PQstatus(connection_.get()) == CONNECTION_BAD) break;
    }
    rows = std::move(result);
  }
  if (!status.ok()) co_return status;
  if (!rows) co_return StatusFromConnection(connection_.get(), attempted);
  co_return *std::move(rows);
}

asio::awaitable<absl::Status> Connection::StartCopyBoth(std::string command) {
  const std::string attempted = Abbreviate(command);
  absl::Status status = co_await Send(command, attempted);
  if (!status.ok()) co_return status;
  absl::StatusOr<PGresult*> next = co_await NextResult(attempted);
  if (!next.ok()) co_return next.status();
  if (*next == nullptr) {
    co_return StatusFromConnection(connection_.get(), attempted);
  }
  const QueryRows result(*next);
  if (PQresultStatus(*next) == PGRES_COPY_BOTH) co_return absl::OkStatus();
  status = StatusFromResult(*next, attempted);
  // Reads to the end of the command, so that another may follow.
  while (next.ok() && *next != nullptr) {
    next = co_await NextResult(attempted);
    if (next.ok()) const QueryRows rest(*next);
  }
  co_return status;
}

void Connection::OnNotice(void* self, const PGresult* notice) {
  const auto field = [notice](int code) -> std::string {
    const char* text = PQresultErrorField(notice, code);
    return text == nullptr ? "" : text;
  };
  if (field(PG_DIAG_SEVERITY_NONLOCALIZED) != "WARNING") return;
  auto& warnings = static_cast<Connection*>(self)->warnings_;
  if (warnings.size() == kMaxWarnings) warnings.erase(warnings.begin());
  warnings.push_back({field(PG_DIAG_SQLSTATE), field(PG_DIAG_MESSAGE_PRIMARY)});
}

std::string Connection::Literal(std::string_view text) {
  char* quoted = PQescapeLiteral(connection_.get(), text.data(), text.size());
  if (quoted == nullptr) return EscapedBytes(text);
  std::string result(quoted);
  PQfreemem(quoted);
  return result;
}

}  // namespace walpost
