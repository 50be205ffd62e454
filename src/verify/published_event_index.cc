#include "verify/published_event_index.h"

#include <sqlite3.h>

#include <set>
#include <tuple>
#include <utility>

#include "absl/hash/hash.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "outbox/topic_template.h"
#include "verify/audit_database.h"
#include "verify/envelope_payload.h"
#include "verify/id_uniqueness.h"
#include "verify/table_reader.h"
#include "verify/topic_prefixes.h"
#include "verify/value_hash.h"

namespace walpost {
namespace {

constexpr uint64_t kRecordsPerReport = 1'000;

// A database without a name is a temporary file that SQLite removes. `place` is
// topic and id, in two hashes, because a 64-bit hash repeats among billions.
constexpr char kIndexSchema[] = R"(
  PRAGMA temp_store = FILE;
  PRAGMA cache_size = -32768;  -- KiB
  CREATE TABLE known (place INTEGER, place_2 INTEGER, content INTEGER,
    is_claimed INTEGER, PRIMARY KEY (place, place_2, content)) WITHOUT ROWID;
  CREATE TABLE expired (place INTEGER, place_2 INTEGER, content INTEGER,
    PRIMARY KEY (place, place_2, content)) WITHOUT ROWID;
  BEGIN;
)";

absl::Status DiskError(const SqliteDatabase& database) {
  return absl::ResourceExhaustedError(
      fmt::format("keeping the events that were published: {}; "
                  "--work-directory names another "
                  "place",
                  database.message()));
}

template <typename... Parts>
int64_t HashOf(const Parts&... parts) {
  return static_cast<int64_t>(absl::HashOf(std::make_tuple(parts...)));
}

int64_t ContentOf(const std::optional<std::string_view>& key,
                  const std::optional<int64_t>& value_hash) {
  return HashOf(key, value_hash);
}

}  // namespace

absl::StatusOr<std::unique_ptr<PublishedEventIndex>>
PublishedEventIndex::CreateEmpty(const std::string& directory) {
  sqlite3_free(std::exchange(sqlite3_temp_directory,
                             sqlite3_mprintf("%s", directory.c_str())));
  std::unique_ptr<PublishedEventIndex> known(new PublishedEventIndex());
  WALPOST_RETURN_IF_ERROR(known->Prepare());
  return known;
}

// Brokers do not list topics that the user may not see; only a request by name
// shows that. The names come from the rows.
absl::StatusOr<std::set<std::string>> PublishedEventIndex::FindTopics(
    const Options& options) {
  std::set<std::string> topics;
  for (const TableOptions& table : options.outbox.tables) {
    const RouteOptions& route = options.outbox.route;
    WALPOST_ASSIGN_OR_RETURN(
        const TopicTemplate topic,
        TopicTemplate::Parse(TopicTemplateOf(table, route), route.names));
    if (topic.references().empty()) {
      topics.insert(topic.prefix());
      continue;
    }
    WALPOST_ASSIGN_OR_RETURN(const std::unique_ptr<TableReader> reader,
                             TableReader::Connect(options.conninfo));
    WALPOST_ASSIGN_OR_RETURN(std::set<std::string> found,
                             reader->FindTopics(table, route));
    topics.merge(found);
  }
  return topics;
}

absl::StatusOr<std::unique_ptr<PublishedEventIndex>> PublishedEventIndex::Read(
    const Options& options, const std::set<std::string>& names,
    const Progress& progress) {
  WALPOST_ASSIGN_OR_RETURN(std::unique_ptr<PublishedEventIndex> known,
                           CreateEmpty(options.directory));
  WALPOST_ASSIGN_OR_RETURN(const std::unique_ptr<PublishedRecords> reader,
                           options.connect());
  WALPOST_ASSIGN_OR_RETURN(
      const std::set<std::string> topics,
      reader->FindTopics(names, TopicPrefixes(options.outbox)));
  uint64_t read = 0;
  WALPOST_RETURN_IF_ERROR(
      reader->Read(topics, [&](FoundRecord& record) -> absl::Status {
        if (++read % kRecordsPerReport == 0) {
          progress(fmt::format("reading {}", reader->name()), read,
                   static_cast<uint64_t>(reader->total()));
        }
        if (!record.id) return absl::OkStatus();
        EnvelopePayload payload(options.outbox.value_format, record.value);
        return known->Add({record.topic, *record.id, record.key,
                           payload.value(), record.claimed});
      }));
  progress(fmt::format("looking for what {} has deleted", reader->name()), 0,
           0);
  WALPOST_RETURN_IF_ERROR(known->FindExpired(options, topics, *reader));
  return known;
}

absl::Status PublishedEventIndex::FindExpired(
    const Options& options, const std::set<std::string>& topics,
    PublishedRecords& reader) {
  WALPOST_ASSIGN_OR_RETURN(const std::unique_ptr<AuditDatabase> audit,
                           AuditDatabase::Create(options.directory));
  WALPOST_ASSIGN_OR_RETURN(const DeletedRecords deleted,
                           reader.AddDeletedRecords(topics, *audit));
  if (!deleted.may_be_some) return absl::OkStatus();
  WALPOST_RETURN_IF_ERROR(reader.Read(topics, [&](FoundRecord& record) {
    const EnvelopePayload payload(options.outbox.value_format, record.value);
    record.value = payload.value();
    return audit->Add(record);
  }));
  WALPOST_ASSIGN_OR_RETURN(const std::unique_ptr<TableReader> rows,
                           TableReader::Connect(options.conninfo));
  for (const TableOptions& table : options.outbox.tables) {
    const auto add = [&](const ExpectedRecord& row) { return audit->Add(row); };
    WALPOST_RETURN_IF_ERROR(rows->Read(table, options.outbox, "",
                                       options.confirmed_by, ComparedAs::kBytes,
                                       add));
  }
  WALPOST_RETURN_IF_ERROR(audit->Sort(SentBy::kLaterRecord));
  absl::Status added;
  WALPOST_RETURN_IF_ERROR(audit->Select(
      "SELECT topic, id, key IS NULL, key, value_hash IS NULL, value_hash "
      "FROM expected WHERE is_expired",
      [&](const AuditDatabase::Row& row) {
        const std::string key = row.Text(3);
        const auto content = ContentOf(
            row.Number(2) != 0 ? std::nullopt
                               : std::optional<std::string_view>(key),
            row.Number(4) != 0 ? std::nullopt : std::optional(row.Number(5)));
        added.Update(
            Run(add_expired_, row.Text(0), row.Text(1), content).status());
      }));
  return added;
}

absl::Status PublishedEventIndex::Prepare() {
  const auto prepare = [this](const char* sql, SqliteStatement& statement) {
    return database_.Prepare(sql, statement) == SQLITE_OK;
  };
  const bool prepared =
      database_.Open("") == SQLITE_OK &&
      database_.Execute(kIndexSchema) == SQLITE_OK &&
      prepare("INSERT OR IGNORE INTO known VALUES (?, ?, ?, 0)", add_) &&
      prepare(
          "SELECT is_claimed FROM known WHERE place = ? AND place_2 = ? AND "
          "content = ?",
          find_) &&
      prepare("SELECT 1 FROM known WHERE place = ? AND place_2 = ?",
              find_id_) &&
      prepare(
          "UPDATE known SET is_claimed = 1 WHERE place = ? AND place_2 = ? AND "
          "content = ?",
          mark_) &&
      prepare("INSERT OR IGNORE INTO expired VALUES (?, ?, ?)", add_expired_) &&
      prepare(
          "SELECT 0 FROM expired WHERE place = ? AND place_2 = ? AND "
          "content = ?",
          find_expired_);
  return prepared ? absl::OkStatus() : DiskError(database_);
}

absl::StatusOr<bool> PublishedEventIndex::Run(SqliteStatement& statement,
                                              const Candidate& event) {
  return Run(statement, event.topic, event.id,
             ContentOf(event.key, HashOfValue(event.value, event.claimed)));
}

absl::StatusOr<bool> PublishedEventIndex::Run(SqliteStatement& statement,
                                              std::string_view topic,
                                              std::string_view id,
                                              std::optional<int64_t> content) {
  const int64_t place = HashOf(topic, id);
  const int64_t place_2 = HashOf(id, topic, 2);
  if (content) {
    statement.Bind(place, place_2, *content);
  } else {
    statement.Bind(place, place_2);
  }
  const int result = statement.Step();
  is_claimed_ = result == SQLITE_ROW && statement.Number(0) != 0;
  statement.Reset();
  if (result == SQLITE_ROW) return true;
  if (result == SQLITE_DONE) return false;
  return DiskError(database_);
}

absl::Status PublishedEventIndex::Add(const Candidate& record) {
  return Run(add_, record).status();
}

absl::StatusOr<PublishedEventIndex::Answer> PublishedEventIndex::Ask(
    const Candidate& row) {
  WALPOST_ASSIGN_OR_RETURN(const bool is_known, Run(find_, row));
  if (is_known) {
    if (!CanRepeat(row.id)) return Answer::kKnown;
    if (is_claimed_) return Answer::kTwin;
    WALPOST_RETURN_IF_ERROR(Run(mark_, row).status());
    return Answer::kKnown;
  }
  WALPOST_ASSIGN_OR_RETURN(const bool is_expired, Run(find_expired_, row));
  if (is_expired) return Answer::kExpired;
  WALPOST_ASSIGN_OR_RETURN(const bool has_id,
                           Run(find_id_, row.topic, row.id, std::nullopt));
  if (!has_id) return Answer::kUnknown;
  return CanRepeat(row.id) ? Answer::kSameId : Answer::kAltered;
}

}  // namespace walpost
