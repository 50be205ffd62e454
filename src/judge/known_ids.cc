#include "judge/known_ids.h"

#include <sqlite3.h>

#include <set>

#include "base/status_macros.h"
#include "fmt/format.h"
#include "judge/table_reader.h"
#include "judge/topic_prefixes.h"
#include "judge/topic_reader.h"

namespace walpost {
namespace {

constexpr uint64_t kProgressEvery = 1'000;

// A database without a name is a temporary file that SQLite removes.
constexpr char kSchema[] = R"(
  PRAGMA temp_store = FILE;
  PRAGMA cache_size = -32768;  -- KiB
  CREATE TABLE known (id TEXT PRIMARY KEY) WITHOUT ROWID;
  BEGIN;
)";

// Where the configuration does not tell topics, the rows do.
absl::StatusOr<std::set<std::string>> TopicsOfRows(
    const KnownIds::Options& options) {
  std::set<std::string> topics;
  for (const TableOptions& table : options.outbox.tables) {
    const RouteOptions& route = options.outbox.route;
    if (!TopicTemplateOf(table, route).starts_with('{')) continue;
    WALPOST_ASSIGN_OR_RETURN(const std::unique_ptr<TableReader> reader,
                             TableReader::Connect(options.conninfo));
    WALPOST_ASSIGN_OR_RETURN(std::set<std::string> found,
                             reader->FindTopics(table, route));
    topics.merge(found);
  }
  return topics;
}

absl::Status DiskError(sqlite3* database) {
  return absl::ResourceExhaustedError(fmt::format(
      "keeping the ids that Kafka has: {}; --work-directory names another "
      "place",
      sqlite3_errmsg(database)));
}

}  // namespace

absl::StatusOr<std::unique_ptr<KnownIds>> KnownIds::Read(
    const Options& options, const Progress& progress) {
  sqlite3_temp_directory = sqlite3_mprintf("%s", options.directory.c_str());
  sqlite3* database = nullptr;
  if (sqlite3_open("", &database) != SQLITE_OK) return DiskError(database);
  std::unique_ptr<KnownIds> known(new KnownIds(database));
  WALPOST_RETURN_IF_ERROR(known->Prepare());
  WALPOST_ASSIGN_OR_RETURN(const std::set<std::string> names,
                           TopicsOfRows(options));
  WALPOST_ASSIGN_OR_RETURN(
      const std::unique_ptr<TopicReader> reader,
      TopicReader::Connect(options.brokers, options.kafka_properties));
  WALPOST_ASSIGN_OR_RETURN(
      const std::set<std::string> topics,
      reader->FindTopics(names, TopicPrefixes(options.outbox)));
  uint64_t read = 0;
  WALPOST_RETURN_IF_ERROR(
      reader->Read(topics, [&](FoundRecord& record) -> absl::Status {
        if (++read % kProgressEvery == 0) {
          progress("reading Kafka", read,
                   static_cast<uint64_t>(reader->total()));
        }
        return record.id ? known->Add(*record.id) : absl::OkStatus();
      }));
  return known;
}

KnownIds::~KnownIds() {
  sqlite3_finalize(add_);
  sqlite3_finalize(find_);
  sqlite3_close(database_);
}

absl::Status KnownIds::Prepare() {
  const auto prepare = [this](const char* sql, sqlite3_stmt*& statement) {
    return sqlite3_prepare_v2(database_, sql, -1, &statement, nullptr) ==
           SQLITE_OK;
  };
  const bool prepared =
      sqlite3_exec(database_, kSchema, nullptr, nullptr, nullptr) ==
          SQLITE_OK &&
      prepare("INSERT OR IGNORE INTO known VALUES (?)", add_) &&
      prepare("SELECT 1 FROM known WHERE id = ?", find_);
  return prepared ? absl::OkStatus() : DiskError(database_);
}

absl::Status KnownIds::Add(const std::string& id) {
  sqlite3_bind_text(add_, 1, id.data(), static_cast<int>(id.size()),
                    SQLITE_STATIC);
  const int result = sqlite3_step(add_);
  sqlite3_reset(add_);
  return result == SQLITE_DONE ? absl::OkStatus() : DiskError(database_);
}

absl::StatusOr<bool> KnownIds::Has(std::string_view id) const {
  sqlite3_bind_text(find_, 1, id.data(), static_cast<int>(id.size()),
                    SQLITE_STATIC);
  const int result = sqlite3_step(find_);
  sqlite3_reset(find_);
  if (result == SQLITE_ROW) return true;
  if (result == SQLITE_DONE) return false;
  return DiskError(database_);
}

}  // namespace walpost
