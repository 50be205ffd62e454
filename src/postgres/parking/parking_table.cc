#include "postgres/parking/parking_table.h"

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <map>
#include <set>
#include <utility>

#include "base/reason_code.h"
#include "base/sqlstate.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "log/log.h"
#include "loop/as_tuple.h"
#include "outbox/event_digest.h"
#include "parking/parked_codec.h"
#include "postgres/connect/quote.h"
#include "postgres/connect/session_name.h"
#include "postgres/parking/parked_rows.h"
#include "postgres/parking/parked_table_record.h"

namespace walpost {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

namespace {

// Includes a synchronous standby that does not answer.
constexpr std::chrono::seconds kParkingLimit{10};
// How long another session may take to end.
constexpr std::chrono::seconds kLockLimit{5};
constexpr milliseconds kLockPause{100};
// Settled events that a stream may show again; others would be sent again.
constexpr size_t kMaxSettled = 200'000;
// Rows that get their digests in one statement.
constexpr size_t kMaxDigests = 500;

absl::Status LacksDelete() {
  return WithSqlstate(
      absl::FailedPreconditionError("the right DELETE is missing"),
      kSqlstateInsufficientPrivilege);
}

}  // namespace

ParkingTable::ParkingTable(asio::any_io_executor executor,
                           const WalSourceOptions& postgres, std::string table,
                           uint64_t numbering)
    : executor_(executor),
      names_{std::move(table), postgres.slot, "", numbering},
      publication_(postgres.publication) {
  options_.server = postgres.server;
  options_.application_name = SessionName(postgres.slot, "parked");
  options_.settings.emplace_back("synchronous_commit=on");
  options_.statement_limit = kParkingLimit;
}

ParkingSql ParkingTable::Sql() {
  return {names_,
          [this](std::string_view text) { return connection_->Literal(text); }};
}

void ParkingTable::Interrupt() {
  if (connection_ != nullptr) connection_->Interrupt();
}

// A server that is frozen is found by the stream, and a lost connection by TCP.
void ParkingTable::WaitAsLongAsItTakes() {
  connection_->set_deadline(MonotonicTime::max());
}

std::optional<ParkingTable::Wait> ParkingTable::wait() const {
  if (connection_ == nullptr || !busy_since_) return std::nullopt;
  return Wait{PQbackendPID(connection_->raw()), *busy_since_};
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

asio::awaitable<absl::StatusOr<bool>> ParkingTable::Open(Target target) {
  const absl::Status connected = co_await Connect(target.system_identifier);
  if (!connected.ok()) co_return connected;
  absl::StatusOr<bool> opened = co_await OpenSession(std::move(target));
  if (!opened.ok() || !*opened) Close();
  co_return opened;
}

asio::awaitable<absl::StatusOr<bool>> ParkingTable::OpenSession(Target target) {
  absl::StatusOr<ParkingTableFacts> facts = co_await ReadParkingTableFacts(
      *connection_, names_, publication_, target.on_record, target.from);
  if (!facts.ok()) co_return Explain(facts.status());
  facts->is_wanted = target.is_wanted;
  const absl::Status judged = JudgeParkingTable(*facts);
  if (!target.is_wanted && (judged.ok() || target.on_record.name.empty())) {
    // A role without rights cannot have used it.
    if (!facts->exists() || !facts->missing_rights.empty()) co_return false;
    WALPOST_CO_ASSIGN_OR_RETURN(const QueryRows in_use,
                                co_await Execute(Sql().IsInUse(target.from)));
    if (!in_use.Bool(0, 0)) co_return false;
  }
  if (!judged.ok()) co_return judged;
  if (MustMakeTable(*facts)) {
    WALPOST_CO_RETURN_IF_ERROR(co_await Make(facts->exists()));
  }
  WALPOST_CO_RETURN_IF_ERROR(co_await Lock());
  WALPOST_CO_RETURN_IF_ERROR(co_await PutOnRecord(*facts));
  WALPOST_CO_RETURN_IF_ERROR(co_await MarkSent());
  co_return true;
}

// CREATE TABLE IF NOT EXISTS needs the right to create even if it exists.
asio::awaitable<absl::Status> ParkingTable::Make(bool exists) {
  WALPOST_CO_RETURN_IF_ERROR(co_await Run(ParkingSql::Create(names_.table)));
  if (exists) {
    LogInfo({{"table", names_.table}},
            "table {} has the columns of this release now", names_.table);
  } else {
    LogWarn({{"table", names_.table}},
            "table {} of parked events was missing: made", names_.table);
  }
  co_return absl::OkStatus();
}

// If the role may not, the table can still be used (CheckParkingTable warns).
asio::awaitable<absl::Status> ParkingTable::PutOnRecord(
    const ParkingTableFacts& facts) {
  WALPOST_CO_ASSIGN_OR_RETURN(const QueryRows rows,
                              co_await Execute(Sql().Oid()));
  oid_ = static_cast<uint32_t>(rows.Unsigned(0, 0));
  const ParkedTable now{names_.table, oid_};
  if (facts.on_record == now || !facts.may_record) co_return absl::OkStatus();
  const absl::Status noted =
      co_await RecordParkedTable(*connection_, publication_, names_.slot, now);
  if (!noted.ok()) co_return Explain(noted);
  co_return absl::OkStatus();
}

asio::awaitable<absl::Status> ParkingTable::Lock() {
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
  WALPOST_CO_RETURN_IF_ERROR(co_await AddDigests(from));
  const ParkingSql sql = Sql();
  WALPOST_CO_ASSIGN_OR_RETURN(const QueryRows lanes,
                              co_await Execute(sql.LoadLanes(from)));
  absl::StatusOr<ParkedSoFar> so_far = ParseParkedSoFar(lanes);
  if (!so_far.ok()) co_return Explain(so_far.status());
  WALPOST_CO_ASSIGN_OR_RETURN(const QueryRows topics,
                              co_await Execute(sql.LoadTopics(from)));
  const absl::Status has_topics = ParseIsolatedSpans(topics, *so_far);
  if (!has_topics.ok()) co_return Explain(has_topics);
  has_earlier_cluster_ =
      std::ranges::any_of(so_far->lanes,
                          [](const ParkedSoFar::OrderingKey& lane) {
                            return lane.first.position == Position();
                          }) ||
      std::ranges::any_of(so_far->topics, [](const auto& topic) {
        return topic.second.first.position == Position();
      });
  WALPOST_CO_ASSIGN_OR_RETURN(const QueryRows others,
                              co_await Execute(sql.HasOtherNumbering(from)));
  has_other_numbering_ = others.Bool(0, 0);
  WALPOST_CO_ASSIGN_OR_RETURN(
      const QueryRows settled,
      co_await Execute(sql.LoadSettled(from, kMaxSettled)));
  const absl::Status parsed = ParseSettledEvents(settled, *so_far);
  if (!parsed.ok()) co_return Explain(parsed);
  co_return so_far;
}

// To rows of earlier releases.
asio::awaitable<absl::Status> ParkingTable::AddDigests(Lsn from) {
  for (;;) {
    WALPOST_CO_ASSIGN_OR_RETURN(
        const QueryRows rows,
        co_await Execute(Sql().ReadWithoutDigest(from, kMaxDigests)));
    if (rows.size() == 0) co_return absl::OkStatus();
    std::vector<std::pair<ParkedNumber, std::string>> digests;
    for (size_t i = 0; i < rows.size(); ++i) {
      DeadLetter content;
      const auto event = rows.Bytea(i, 1);
      if (!event.ok()) co_return Explain(event.status());
      const absl::Status decoded = DecodeParked(event->value_or(""), content);
      if (!decoded.ok()) co_return Explain(decoded);
      const auto payload = rows.Bytea(i, 2);
      if (!payload.ok()) co_return Explain(payload.status());
      content.payload = *payload;
      digests.emplace_back(rows.Unsigned(i, 0), DigestOf(content));
    }
    WALPOST_CO_RETURN_IF_ERROR(co_await Run(Sql().SetDigests(digests)));
  }
}

asio::awaitable<absl::Status> ParkingTable::Insert(
    std::vector<const ParkedEvent*> events) {
  if (has_other_numbering_) {
    WALPOST_CO_RETURN_IF_ERROR(co_await Run(Sql().Renumber(events)));
  }
  std::string sql = Sql().Insert(events);
  std::vector<std::optional<std::string_view>> payloads;
  for (const ParkedEvent* event : events) {
    payloads.emplace_back(event->content.payload);
  }
  const absl::StatusOr<QueryRows> rows =
      co_await ExecuteBinary(std::move(sql), std::move(payloads));
  if (!rows.ok()) co_return rows.status();
  co_return co_await CheckStored(events);
}

// What is stored is read back: a row may have been there already, and triggers
// and rules may have taken one away.
asio::awaitable<absl::Status> ParkingTable::CheckStored(
    const std::vector<const ParkedEvent*>& events) {
  WALPOST_CO_ASSIGN_OR_RETURN(const QueryRows rows,
                              co_await Execute(Sql().ReadBack(events)));
  std::map<std::string, size_t> row_at;
  for (size_t i = 0; i < rows.size(); ++i) row_at[rows.Text(i, 0)] = i;
  for (const ParkedEvent* event : events) {
    const auto found = row_at.find(SortableText(event->position));
    if (found != row_at.end() && rows.Unsigned(found->second, 3) != oid_) {
      co_return IsAnotherTable();
    }
    if (found == row_at.end()) {
      co_return absl::FailedPreconditionError(fmt::format(
          "table {} of parked events has not kept the event at {}: does a "
          "trigger or a rule remove rows? SELECT tgname FROM pg_trigger WHERE "
          "tgrelid = '{}'::regclass AND NOT tgisinternal;",
          names_.table, ToString(event->position),
          QuoteQualifiedName(names_.table)));
    }
    if (AreOfDifferentEvents(rows.Text(found->second, 1), event->digest)) {
      co_return AnotherEventIsParked(names_.table, event->position,
                                     rows.Unsigned(found->second, 2));
    }
  }
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
  auto lanes = ParseParkedLanes(rows);
  if (!lanes.ok()) co_return Explain(lanes.status());
  // Behind the reading: keys must not be thought free because another table has
  // none.
  const absl::Status is_same = co_await CheckIdentity();
  if (!is_same.ok()) co_return is_same;
  co_return lanes;
}

asio::awaitable<absl::Status> ParkingTable::CheckIdentity() {
  WALPOST_CO_ASSIGN_OR_RETURN(const QueryRows rows,
                              co_await Execute(Sql().Oid()));
  if (rows.Unsigned(0, 0) == oid_) co_return absl::OkStatus();
  co_return IsAnotherTable();
}

absl::Status ParkingTable::IsAnotherTable() const {
  return WithReasonCode(
      absl::FailedPreconditionError(
          fmt::format("table {} of parked events was replaced by another one",
                      names_.table)),
      kReasonParkedTableMissing);
}

asio::awaitable<absl::StatusOr<std::vector<ParkedRow>>>
ParkingTable::ReadSendable(ParkingSql::Sendable wanted) {
  wanted.has_earlier_cluster = has_earlier_cluster_;
  std::string sql = Sql().ReadSendable(wanted);
  co_return co_await ReadToSend(std::move(sql), false);
}

asio::awaitable<absl::StatusOr<std::vector<ParkedRow>>>
ParkingTable::ReadRetries(size_t max_events, size_t max_bytes) {
  std::string sql = Sql().ReadRetries(max_events, max_bytes);
  co_return co_await ReadToSend(std::move(sql), true);
}

asio::awaitable<absl::StatusOr<std::vector<ParkedRow>>>
ParkingTable::ReadToSend(std::string sql, bool has_class) {
  std::vector<std::optional<std::string_view>> none;
  const absl::StatusOr<QueryRows> rows =
      co_await ExecuteBinary(std::move(sql), std::move(none));
  if (!rows.ok()) co_return rows.status();
  absl::StatusOr<std::vector<ParkedRow>> parsed =
      ParseParkedRows(*rows, has_class);
  if (!parsed.ok()) co_return Explain(parsed.status());
  const absl::Status noted = co_await NoteSending(*parsed);
  if (!noted.ok()) co_return noted;
  co_return parsed;
}

// Leaves out what an operator has discarded since it was read.
asio::awaitable<absl::Status> ParkingTable::NoteSending(
    std::vector<ParkedRow>& rows) {
  if (rows.empty()) co_return absl::OkStatus();
  std::vector<ParkedNumber> numbers;
  for (const ParkedRow& row : rows) numbers.push_back(row.number);
  WALPOST_CO_ASSIGN_OR_RETURN(const QueryRows noted,
                              co_await Execute(Sql().NoteSending(numbers)));
  std::set<ParkedNumber> sending;
  for (size_t i = 0; i < noted.size(); ++i) {
    if (!noted.Bool(i, 1)) co_return Explain(LacksDelete());
    sending.insert(noted.Unsigned(i, 0));
  }
  std::erase_if(rows, [&sending](const ParkedRow& row) {
    return !sending.contains(row.number);
  });
  co_return absl::OkStatus();
}

asio::awaitable<absl::Status> ParkingTable::SettleRetries(
    std::vector<ParkedNumber> rows) {
  retried_.insert(retried_.end(), rows.begin(), rows.end());
  co_return co_await MarkSent();
}

asio::awaitable<absl::Status> ParkingTable::FailRetry(ParkedNumber row,
                                                      std::string error_class,
                                                      std::string reason) {
  co_return co_await Run(Sql().FailRetry(row, error_class, reason));
}

asio::awaitable<absl::Status> ParkingTable::Release(
    std::vector<ParkedNumber> rows) {
  released_.insert(released_.end(), rows.begin(), rows.end());
  co_return co_await MarkSent();
}

asio::awaitable<absl::Status> ParkingTable::MarkSent() {
  if (!released_.empty()) {
    WALPOST_CO_RETURN_IF_ERROR(co_await Run(Sql().Release(released_)));
    released_.clear();
  }
  if (!retried_.empty()) {
    WALPOST_CO_RETURN_IF_ERROR(co_await Run(Sql().SettleRetries(retried_)));
    retried_.clear();
  }
  co_return absl::OkStatus();
}

asio::awaitable<absl::Status> ParkingTable::Fail(ParkedNumber row,
                                                 std::string error_class,
                                                 std::string reason) {
  co_return co_await Run(Sql().Fail(row, error_class, reason));
}

asio::awaitable<absl::StatusOr<QueryRows>> ParkingTable::Execute(
    std::string sql) {
  busy_since_ = Clock::now();
  absl::StatusOr<QueryRows> rows = co_await connection_->Execute(sql);
  busy_since_.reset();
  if (rows.ok()) co_return rows;
  co_return Explain(rows.status());
}

asio::awaitable<absl::StatusOr<QueryRows>> ParkingTable::ExecuteBinary(
    std::string sql, std::vector<std::optional<std::string_view>> parameters) {
  busy_since_ = Clock::now();
  absl::StatusOr<QueryRows> rows = co_await connection_->ExecuteBinary(
      std::move(sql), std::move(parameters));
  busy_since_.reset();
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
  co_return ParseIsolatedTopics(rows);
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
