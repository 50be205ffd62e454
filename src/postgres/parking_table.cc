#include "postgres/parking_table.h"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "base/status_macros.h"
#include "fmt/format.h"
#include "parking/parked_codec.h"
#include "postgres/sqlstate.h"

namespace walpost {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

namespace {

constexpr std::chrono::seconds kConnectLimit{5};
// Includes a synchronous standby that does not answer.
constexpr std::chrono::seconds kStatementLimit{10};
// How long another session may take to end.
constexpr std::chrono::seconds kLockLimit{5};
constexpr milliseconds kLockPause{100};
// Settled events that a stream may show again; others would be sent again.
constexpr size_t kMaxSettled = 200'000;

absl::StatusOr<std::string> ReadKey(const QueryRows& rows, size_t row,
                                    size_t column) {
  WALPOST_ASSIGN_OR_RETURN(OwnValue key, rows.Bytea(row, column));
  return std::move(key).value_or("");
}

// Empty: of an earlier cluster.
absl::StatusOr<Position> ParseFirst(const std::string& text) {
  if (text.empty()) return Position();
  return ParseSortableText(text);
}

absl::StatusOr<ParkedSoFar> ParseLanes(const QueryRows& rows) {
  ParkedSoFar so_far;
  for (size_t i = 0; i < rows.size(); ++i) {
    ParkedSoFar::Lane& lane = so_far.lanes.emplace_back();
    WALPOST_ASSIGN_OR_RETURN(lane.aggregate_type, rows.Bytea(i, 0));
    WALPOST_ASSIGN_OR_RETURN(lane.key, ReadKey(rows, i, 1));
    WALPOST_ASSIGN_OR_RETURN(lane.first, ParseFirst(rows.Text(i, 2)));
  }
  return so_far;
}

absl::Status ParseTopics(const QueryRows& rows, ParkedSoFar& so_far) {
  for (size_t i = 0; i < rows.size(); ++i) {
    ParkedSoFar::Span& span = so_far.topics[rows.Text(i, 0)];
    WALPOST_ASSIGN_OR_RETURN(span.first, ParseFirst(rows.Text(i, 1)));
    WALPOST_ASSIGN_OR_RETURN(span.last, ParseFirst(rows.Text(i, 2)));
  }
  return absl::OkStatus();
}

absl::Status ParseSettled(const QueryRows& rows, ParkedSoFar& so_far) {
  for (size_t i = 0; i < rows.size(); ++i) {
    WALPOST_ASSIGN_OR_RETURN(const Position position,
                             ParseSortableText(rows.Text(i, 0)));
    WALPOST_ASSIGN_OR_RETURN(const ParkedState state,
                             ParseParkedState(rows.Text(i, 1)));
    if (state == ParkedState::kReleased) {
      so_far.released.insert(position);
    } else if (state == ParkedState::kDiscarded) {
      so_far.discarded.insert(position);
    } else {
      so_far.letters.insert(position);
    }
  }
  return absl::OkStatus();
}

// A binary result: its texts are the same.
absl::StatusOr<std::vector<ParkedRow>> ParseRows(const QueryRows& rows,
                                                 bool has_class) {
  std::vector<ParkedRow> parsed;
  for (size_t i = 0; i < rows.size(); ++i) {
    ParkedRow& row = parsed.emplace_back();
    row.place = {rows.Text(i, 0), rows.Text(i, 1)};
    WALPOST_RETURN_IF_ERROR(
        DecodeParked(rows.Get(i, 2).value_or(""), row.content));
    const std::optional<std::string_view> payload = rows.Get(i, 3);
    if (payload) row.content.payload.emplace(*payload);
    if (has_class) row.content.error_class = rows.Text(i, 4);
  }
  return parsed;
}

}  // namespace

ParkingTable::ParkingTable(asio::any_io_executor executor, ServerOptions server,
                           std::string slot, std::string table)
    : executor_(executor), names_{std::move(table), slot, ""} {
  options_.server = std::move(server);
  options_.application_name = fmt::format("walpost:{}:parked", slot);
  options_.settings.emplace_back("synchronous_commit=on");
  options_.connect_timeout = kConnectLimit;
  options_.statement_limit = kStatementLimit;
}

ParkingSql ParkingTable::Sql() {
  return {names_,
          [this](std::string_view text) { return connection_->Literal(text); }};
}

void ParkingTable::Interrupt() {
  if (connection_ != nullptr) connection_->Interrupt();
}

asio::awaitable<absl::Status> ParkingTable::Connect(
    std::string system_identifier) {
  names_.system_identifier = std::move(system_identifier);
  absl::StatusOr<std::unique_ptr<Connection>> connected =
      co_await Connection::Connect(executor_, options_);
  if (!connected.ok()) co_return Explain(connected.status());
  connection_ = *std::move(connected);
  names_.ascii_only = connection_->server_encoding() != "UTF8";
  co_return absl::OkStatus();
}

asio::awaitable<absl::StatusOr<bool>> ParkingTable::IsInUse(
    std::string system_identifier, Lsn from) {
  WALPOST_CO_RETURN_IF_ERROR(co_await Connect(std::move(system_identifier)));
  absl::StatusOr<bool> is_in_use = co_await Exists();
  if (is_in_use.ok() && *is_in_use) {
    const absl::StatusOr<QueryRows> rows =
        co_await Execute(Sql().IsInUse(from));
    if (rows.ok()) {
      is_in_use = rows->Bool(0, 0);
    } else {
      is_in_use = rows.status();
    }
  }
  Close();
  co_return is_in_use;
}

asio::awaitable<absl::Status> ParkingTable::Open(std::string system_identifier,
                                                 Letters letters) {
  absl::Status status = co_await Connect(std::move(system_identifier));
  if (status.ok()) status = co_await Make(letters);
  if (status.ok()) status = co_await Lock();
  if (!status.ok()) Close();
  co_return status;
}

asio::awaitable<absl::StatusOr<bool>> ParkingTable::Exists() {
  WALPOST_CO_ASSIGN_OR_RETURN(const QueryRows rows,
                              co_await Execute(Sql().Exists()));
  co_return rows.Bool(0, 0);
}

// CREATE TABLE IF NOT EXISTS needs the right to create even if it exists.
asio::awaitable<absl::Status> ParkingTable::Make(Letters letters) {
  WALPOST_CO_ASSIGN_OR_RETURN(const bool exists, co_await Exists());
  if (!exists && was_there_) {
    co_return absl::FailedPreconditionError(fmt::format(
        "table {} of parked events is missing, and existed before: which keys "
        "are parked, and which events have dead letters, is not known. Put it "
        "back; or, to give up what was in it, restart walpost, which makes an "
        "empty one",
        names_.table));
  }
  was_there_ = true;
  if (exists && letters == Letters::kForKafka) co_return absl::OkStatus();
  WALPOST_CO_ASSIGN_OR_RETURN(const QueryRows columns,
                              co_await Execute(Sql().HasLetterColumns()));
  if (exists && columns.Bool(0, 0)) co_return absl::OkStatus();
  co_return co_await Run(ParkingSql::Create(names_.table));
}

asio::awaitable<absl::Status> ParkingTable::Lock() {
  constexpr auto kAsTuple = asio::as_tuple(asio::use_awaitable);
  const MonotonicTime until = Clock::now() + kLockLimit;
  asio::steady_timer timer(executor_);
  const ParkingSql sql = Sql();
  while (Clock::now() < until) {
    WALPOST_CO_ASSIGN_OR_RETURN(const QueryRows locked,
                                co_await Execute(sql.TryLock()));
    if (locked.Bool(0, 0)) co_return absl::OkStatus();
    WALPOST_CO_RETURN_IF_ERROR(co_await Run(sql.EndHolder()));
    timer.expires_after(kLockPause);
    co_await timer.async_wait(kAsTuple);
  }
  co_return absl::UnavailableError(fmt::format(
      "table {}: the session of another instance does not end", names_.table));
}

asio::awaitable<absl::StatusOr<ParkedSoFar>> ParkingTable::Load(Lsn from) {
  const ParkingSql sql = Sql();
  WALPOST_CO_ASSIGN_OR_RETURN(const QueryRows lanes,
                              co_await Execute(sql.LoadLanes()));
  absl::StatusOr<ParkedSoFar> so_far = ParseLanes(lanes);
  if (!so_far.ok()) co_return Explain(so_far.status());
  WALPOST_CO_ASSIGN_OR_RETURN(const QueryRows topics,
                              co_await Execute(sql.LoadTopics()));
  const absl::Status has_topics = ParseTopics(topics, *so_far);
  if (!has_topics.ok()) co_return Explain(has_topics);
  has_earlier_cluster_ =
      std::ranges::any_of(so_far->lanes,
                          [](const ParkedSoFar::Lane& lane) {
                            return lane.first == Position();
                          }) ||
      std::ranges::any_of(so_far->topics, [](const auto& topic) {
        return topic.second.first == Position();
      });
  WALPOST_CO_ASSIGN_OR_RETURN(
      const QueryRows settled,
      co_await Execute(sql.LoadSettled(from, kMaxSettled)));
  const absl::Status parsed = ParseSettled(settled, *so_far);
  if (!parsed.ok()) co_return Explain(parsed);
  co_return so_far;
}

asio::awaitable<absl::Status> ParkingTable::Insert(
    std::vector<const ParkedEvent*> events) {
  std::string sql = Sql().Insert(events);
  std::vector<std::optional<std::string_view>> payloads;
  for (const ParkedEvent* event : events) {
    payloads.emplace_back(event->content.payload);
  }
  const absl::StatusOr<QueryRows> rows =
      co_await connection_->ExecuteBinary(std::move(sql), std::move(payloads));
  if (!rows.ok()) co_return Explain(rows.status());
  co_return absl::OkStatus();
}

asio::awaitable<absl::StatusOr<std::string>> ParkingTable::ReadDead() {
  WALPOST_CO_ASSIGN_OR_RETURN(const QueryRows rows,
                              co_await Execute(Sql().ReadDead()));
  co_return rows.Text(0, 0);
}

asio::awaitable<absl::StatusOr<std::vector<ParkedLane>>>
ParkingTable::ReadLanes() {
  WALPOST_CO_ASSIGN_OR_RETURN(const QueryRows rows,
                              co_await Execute(Sql().ReadLanes()));
  std::vector<ParkedLane> lanes;
  for (size_t i = 0; i < rows.size(); ++i) {
    ParkedLane& lane = lanes.emplace_back();
    auto type = rows.Bytea(i, 0);
    auto key = ReadKey(rows, i, 1);
    if (!type.ok()) co_return Explain(type.status());
    if (!key.ok()) co_return Explain(key.status());
    lane.aggregate_type = *std::move(type);
    lane.key = *std::move(key);
    lane.events = rows.Unsigned(i, 2);
    lane.dead = rows.Unsigned(i, 3);
    lane.age = std::chrono::seconds(rows.Integer(i, 4));
  }
  co_return lanes;
}

asio::awaitable<absl::StatusOr<std::vector<ParkedRow>>>
ParkingTable::ReadSendable(ParkingSql::Sendable wanted) {
  wanted.has_earlier_cluster = has_earlier_cluster_;
  std::string sql = Sql().ReadSendable(wanted);
  std::vector<std::optional<std::string_view>> none;
  const absl::StatusOr<QueryRows> rows =
      co_await connection_->ExecuteBinary(std::move(sql), std::move(none));
  if (!rows.ok()) co_return Explain(rows.status());
  absl::StatusOr<std::vector<ParkedRow>> parsed = ParseRows(*rows, false);
  if (!parsed.ok()) co_return Explain(parsed.status());
  co_return parsed;
}

asio::awaitable<absl::StatusOr<std::vector<ParkedRow>>>
ParkingTable::ReadRetries(size_t max_events, size_t max_bytes) {
  std::string sql = Sql().ReadRetries(max_events, max_bytes);
  std::vector<std::optional<std::string_view>> none;
  const absl::StatusOr<QueryRows> rows =
      co_await connection_->ExecuteBinary(std::move(sql), std::move(none));
  if (!rows.ok()) co_return Explain(rows.status());
  absl::StatusOr<std::vector<ParkedRow>> parsed = ParseRows(*rows, true);
  if (!parsed.ok()) co_return Explain(parsed.status());
  co_return parsed;
}

asio::awaitable<absl::Status> ParkingTable::SettleRetries(
    std::vector<ParkedPlace> places) {
  co_return co_await Run(Sql().SettleRetries(places));
}

asio::awaitable<absl::Status> ParkingTable::FailRetry(ParkedPlace place,
                                                      std::string error_class,
                                                      std::string reason) {
  co_return co_await Run(Sql().FailRetry(place, error_class, reason));
}

asio::awaitable<absl::Status> ParkingTable::Release(
    std::vector<ParkedPlace> places) {
  co_return co_await Run(Sql().Release(places));
}

asio::awaitable<absl::Status> ParkingTable::Fail(ParkedPlace place,
                                                 std::string error_class,
                                                 std::string reason) {
  co_return co_await Run(Sql().Fail(place, error_class, reason));
}

asio::awaitable<absl::StatusOr<QueryRows>> ParkingTable::Execute(
    std::string sql) {
  absl::StatusOr<QueryRows> rows = co_await connection_->Execute(sql);
  if (rows.ok()) co_return rows;
  co_return Explain(rows.status());
}

asio::awaitable<absl::Status> ParkingTable::Run(std::string sql) {
  const absl::StatusOr<QueryRows> rows = co_await Execute(std::move(sql));
  co_return rows.status();
}

asio::awaitable<absl::StatusOr<std::vector<IsolatedTopic>>>
ParkingTable::ReadTopics(LaneScope scope) {
  std::string sql = Sql().ReadTopics(scope, has_earlier_cluster_);
  WALPOST_CO_ASSIGN_OR_RETURN(const QueryRows rows,
                              co_await Execute(std::move(sql)));
  std::vector<IsolatedTopic> topics;
  for (size_t i = 0; i < rows.size(); ++i) {
    topics.push_back({rows.Text(i, 0), rows.Unsigned(i, 1), rows.Unsigned(i, 2),
                      rows.Unsigned(i, 3),
                      std::chrono::seconds(rows.Integer(i, 4))});
  }
  co_return topics;
}

absl::Status ParkingTable::Explain(const absl::Status& error) const {
  const bool lacks_right =
      SqlstateOf(error) == kSqlstateInsufficientPrivilege &&
      connection_ != nullptr;
  if (lacks_right) {
    const std::string user = PQuser(connection_->raw());
    return absl::FailedPreconditionError(fmt::format(
        "table {} of parked events: user {} may not make, read or write it; "
        "run as the owner of the schema (sql/parked.sql): {}",
        names_.table, user, ParkingSql::Grant(names_.table, user)));
  }
  const absl::StatusCode code = absl::IsDeadlineExceeded(error)
                                    ? absl::StatusCode::kUnavailable
                                    : error.code();
  return {code, fmt::format("table {} of parked events: {}", names_.table,
                            std::string(error.message()))};
}

}  // namespace walpost
