#include "postgres/stream/replication_stream.h"

#include <sys/ioctl.h>

#include <utility>

#include "base/sql_name.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "log/log.h"
#include "pgoutput/stream_frame.h"
#include "postgres/catalog/publication.h"
#include "postgres/connect/sqlstate.h"
#include "session/standby_wait.h"

namespace walpost {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

namespace {
constexpr std::string_view kAttempted = "replication stream";

// Replication commands have no backslash escapes, so their literals are not
// those of SQL.
std::string CommandLiteral(std::string_view text) {
  std::string literal = "'";
  for (const char c : text) {
    if (c == '\'') literal += '\'';
    literal += c;
  }
  return literal + "'";
}
}  // namespace

std::string StartReplicationCommand(const StreamRequest& request) {
  return fmt::format(
      "START_REPLICATION SLOT {} LOGICAL {} (proto_version '1', "
      "publication_names {}, messages '{}')",
      QuoteName(request.slot), request.start.ToString(),
      CommandLiteral(QuoteName(request.publication)), request.messages);
}

namespace {

// Has the session forget what it has looked up in the catalogs. Decoding reads
// the catalogs as they were when a row was committed, but START_REPLICATION
// keeps entries of the session from before it (as of 18): a publication that
// was younger than a row was found there, and the row was left out without an
// error. A peek begins by dropping them; it reads one record.
asio::awaitable<absl::Status> ForgetCatalogs(Connection& connection,
                                             const StreamRequest& request) {
  const std::string sql = fmt::format(
      "SELECT FROM pg_catalog.pg_logical_slot_peek_binary_changes({}, '0/1', "
      "NULL, 'proto_version', '1', 'publication_names', {})",
      connection.Literal(request.slot),
      PublicationList(connection, request.publication));
  const std::string attempted = fmt::format("looking at slot {}", request.slot);
  co_return (co_await connection.Execute(sql, attempted)).status();
}

}  // namespace

asio::awaitable<absl::Status> StartReplication(Connection& connection,
                                               StreamRequest request) {
  WALPOST_CO_RETURN_IF_ERROR(co_await ForgetCatalogs(connection, request));
  const std::string command = StartReplicationCommand(request);
  co_return co_await connection.StartCopyBoth(command);
}

FrameSource::Read ReplicationStream::NextFrame() {
  if (copy_is_over_) return End();
  char* buffer = nullptr;
  const int size = PQgetCopyData(connection_.raw(), &buffer, /*async=*/1);
  frame_.reset(buffer);
  frame_bytes_ = size > 0 ? static_cast<size_t>(size) : 0;
  if (size > 0) return Read::kFrame;
  if (size == 0) return Read::kEmpty;
  copy_is_over_ = true;
  return End();
}

// The server's last message is the reason. PQgetResult would block while more
// is to come.
FrameSource::Read ReplicationStream::End() {
  PGconn* raw = connection_.raw();
  const auto is_lost = [raw] { return PQstatus(raw) == CONNECTION_BAD; };
  do {
    if (!is_lost() && PQisBusy(raw)) return Read::kEmpty;
    PGresult* result = PQgetResult(raw);
    if (result == nullptr) break;
    const QueryRows owned(result);
    const ExecStatusType kind = PQresultStatus(result);
    if (kind == PGRES_COPY_IN || kind == PGRES_COPY_BOTH) {
      PQputCopyEnd(raw, nullptr);
      unsent_ = PQflush(raw) > 0;
    } else if (kind == PGRES_FATAL_ERROR) {
      status_ = StatusFromResult(result, kAttempted);
      // Before 18 the server ends the stream where later ones only warn.
      if (SqlstateOf(status_) == kSqlstateUndefinedObject) {
        const char* text = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
        missing_rows_ = text == nullptr ? std::string(kAttempted) : text;
      }
    }
  } while (!is_lost());
  if (status_.ok() && is_lost()) {
    status_ = StatusFromConnection(raw, kAttempted);
  }
  return Read::kEnded;
}

bool ReplicationStream::HasInput() const {
  int waiting = 0;
  ioctl(PQsocket(connection_.raw()), FIONREAD, &waiting);
  return waiting > 0;
}

bool ReplicationStream::Receive() {
  if (PQconsumeInput(connection_.raw()) != 0) return true;
  status_ = StatusFromConnection(connection_.raw(), kAttempted);
  return false;
}

std::vector<ServerWarning> ReplicationStream::TakeWarnings() {
  std::vector<ServerWarning> warnings;
  if (!missing_rows_.empty()) {
    warnings.push_back({std::exchange(missing_rows_, ""), true});
  }
  for (Connection::Warning& warning : connection_.TakeWarnings()) {
    const bool is_repeated =
        StandbyWait::IsMeant(warning.text) &&
        std::exchange(standby_warning_, warning.text) == warning.text;
    if (!is_repeated) LogWarn("Postgres: {}", warning.text);
    const bool rows_are_missing =
        warning.sqlstate == kSqlstateNotInPrerequisiteState;
    warnings.push_back({std::move(warning.text), rows_are_missing});
  }
  return warnings;
}

absl::Status ReplicationStream::SendStatus(const StatusUpdate& update) {
  pgoutput::StandbyStatus status;
  status.received = update.received;
  status.confirmed = update.confirmed;
  status.time = WallNow();
  status.reply_requested = update.reply_requested;
  const auto bytes = pgoutput::EncodeStandbyStatus(status);
  const int queued = PQputCopyData(connection_.raw(), bytes.data(),
                                   static_cast<int>(bytes.size()));
  if (queued < 0) return StatusFromConnection(connection_.raw(), kAttempted);
  return Flush();
}

absl::Status ReplicationStream::Flush() {
  const int pending = PQflush(connection_.raw());
  unsent_ = pending > 0;
  if (pending >= 0) return absl::OkStatus();
  return StatusFromConnection(connection_.raw(), kAttempted);
}

asio::awaitable<absl::Status> ReplicationStream::Finish(
    MonotonicTime deadline) {
  if (PQputCopyEnd(connection_.raw(), nullptr) < 0) {
    co_return StatusFromConnection(connection_.raw(), kAttempted);
  }
  absl::Status flushed = Flush();
  while (flushed.ok()) {
    Read read = NextFrame();
    while (read == Read::kFrame) read = NextFrame();
    if (read == Read::kEnded) co_return status_;
    if (Clock::now() >= deadline) {
      co_return absl::DeadlineExceededError(
          "replication stream: the server did not end it in time");
    }
    const auto interest = unsent_ ? SocketWaiter::Interest::kWrite
                                  : SocketWaiter::Interest::kRead;
    co_await connection_.waiter().Wait(interest, deadline);
    if (!Receive()) co_return status_;
    flushed = Flush();
  }
  co_return flushed;
}

}  // namespace walpost
