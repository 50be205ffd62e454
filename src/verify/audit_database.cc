#include "verify/audit_database.h"

#include <unistd.h>

#include <cstdlib>

#include "base/status_macros.h"
#include "fmt/format.h"
#include "verify/id_uniqueness.h"
#include "verify/value_hash.h"

namespace walpost {
namespace {

constexpr char kSchema[] = R"(
  PRAGMA journal_mode = OFF;
  PRAGMA synchronous = OFF;
  PRAGMA temp_store = FILE;
  PRAGMA cache_size = -32768;  -- KiB
  PRAGMA locking_mode = EXCLUSIVE;
  CREATE TABLE read_rows (id TEXT, topic TEXT, key_is_known INTEGER, key BLOB,
    value_is_known INTEGER, value_hash INTEGER, sequence INTEGER,
    must_be_there INTEGER, row_order INTEGER, can_repeat INTEGER,
    written INTEGER, came_through INTEGER, key_hash INTEGER,
    other_origin INTEGER);
  CREATE TABLE read_records (id TEXT, topic TEXT, "partition" INTEGER,
    "offset" INTEGER, key BLOB, value_hash INTEGER, position TEXT,
    is_replayed INTEGER, repair TEXT, can_repeat INTEGER, key_hash INTEGER);
  CREATE TABLE partitions (topic TEXT, "partition" INTEGER, "begin" INTEGER);
  CREATE TABLE compacted (topic TEXT);
  CREATE TABLE newer (id TEXT, topic TEXT);
  CREATE INDEX newer_id ON newer (id);
  CREATE TABLE fates (id TEXT, key BLOB, fate INTEGER);
  CREATE INDEX fates_id ON fates (id);
  BEGIN;
)";

// Both sides sorted by id, so that rows to compare are close together: ids are
// random, and looking each up in a table in another order would read the file
// in random order. Records of an id stay in the order of reading.
constexpr char kSorted[] = R"(
  CREATE TABLE expected AS
    SELECT *, 0 AS is_matched, 0 AS is_expired FROM read_rows ORDER BY id;
  DROP TABLE read_rows;
  CREATE INDEX expected_id ON expected (id);
  CREATE TABLE found AS
    SELECT *, 0 AS is_matched, 0 AS is_unlike FROM read_records
    ORDER BY id, rowid;
  DROP TABLE read_records;
  CREATE INDEX found_id ON found (id);

  UPDATE found SET is_matched = 1 WHERE EXISTS (
    SELECT 1 FROM expected WHERE expected.id = found.id
      AND (expected.topic IS NULL OR found.topic = expected.topic)
      AND (NOT key_is_known OR found.key IS expected.key)
      AND (NOT value_is_known OR found.value_hash IS expected.value_hash));
  UPDATE expected SET is_matched = 1 WHERE EXISTS (
    SELECT 1 FROM found WHERE found.id = expected.id AND found.is_matched
      AND (expected.topic IS NULL OR found.topic = expected.topic)
      AND (NOT key_is_known OR found.key IS expected.key)
      AND (NOT value_is_known OR found.value_hash IS expected.value_hash));

  CREATE TABLE unlike AS
    SELECT found.rowid AS record, found.topic, "partition", "offset", found.id,
      found.key, expected.topic AS expected_topic, expected.key AS expected_key,
      value_is_known AND found.value_hash IS NOT expected.value_hash
        AS is_altered,
      expected.topic IS NOT NULL AND found.topic <> expected.topic
        AS is_on_wrong_topic,
      key_is_known AND found.key IS NOT expected.key AS has_wrong_key
    FROM found JOIN expected ON expected.id = found.id
    WHERE NOT found.is_matched
      AND (NOT found.can_repeat OR EXISTS (
        SELECT 1 FROM found AS right WHERE right.id = found.id
          AND right.is_matched AND right.position = found.position))
      AND (found.topic IS expected.topic OR NOT EXISTS (
        SELECT 1 FROM expected AS nearer
        WHERE nearer.id = found.id AND nearer.topic = found.topic));
  UPDATE found SET is_unlike = 1
    WHERE rowid IN (SELECT record FROM unlike);
)";

std::optional<int64_t> HashOfKey(const std::optional<std::string_view>& key) {
  if (!key) return std::nullopt;
  return PartitionHash(key->data(), key->size());
}

}  // namespace

absl::StatusOr<std::unique_ptr<AuditDatabase>> AuditDatabase::Create(
    const std::string& directory, std::optional<JsonForms> forms) {
  std::string path = directory + "/walpost-verify-XXXXXX";
  const int file = mkstemp(path.data());
  if (file < 0) {
    return absl::FailedPreconditionError(fmt::format(
        "{} cannot be written: choose another --work-directory", directory));
  }
  close(file);
  std::unique_ptr<AuditDatabase> evidence(new AuditDatabase(path));
  evidence->forms_ = forms;
  if (evidence->database_.Open(path) != SQLITE_OK) {
    return evidence->Error("opening");
  }
  WALPOST_RETURN_IF_ERROR(evidence->Run(kSchema));
  WALPOST_RETURN_IF_ERROR(evidence->Prepare(
      "INSERT INTO read_rows VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
      "?)",
      evidence->add_row_));
  WALPOST_RETURN_IF_ERROR(evidence->Prepare(
      "INSERT INTO read_records VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
      evidence->add_record_));
  WALPOST_RETURN_IF_ERROR(evidence->Prepare("INSERT INTO newer VALUES (?, ?)",
                                            evidence->add_newer_));
  WALPOST_RETURN_IF_ERROR(evidence->Prepare(
      "INSERT INTO fates VALUES (?, ?, ?)", evidence->add_disposition_));
  WALPOST_RETURN_IF_ERROR(evidence->Prepare(
      "INSERT INTO partitions VALUES (?, ?, ?)", evidence->add_partition_));
  WALPOST_RETURN_IF_ERROR(evidence->Prepare("INSERT INTO compacted VALUES (?)",
                                            evidence->add_compacted_));
  return evidence;
}

AuditDatabase::~AuditDatabase() { unlink(path_.c_str()); }

template <typename... Values>
absl::Status AuditDatabase::Insert(SqliteStatement& statement,
                                   const Values&... values) {
  statement.Bind(values...);
  const int code = statement.Step();
  statement.Reset();
  return code == SQLITE_DONE ? absl::OkStatus() : Error("writing");
}

absl::Status AuditDatabase::Add(const ExpectedRecord& row) {
  std::optional<std::string> key = row.key;
  std::optional<std::string> value_form;
  std::optional<std::string_view> value = row.value;
  if (forms_) {
    key = forms_->key.OfRow(row.key);
    value_form = forms_->value.OfRow(row.value);
    value = value_form;
  }
  return Insert(add_row_, row.id, row.topic, row.key_is_known, SqliteBytes{key},
                row.value_is_known, HashOfValue(value), row.sequence,
                row.must_be_there, row.row_order, CanRepeat(row.id),
                row.written, row.came_through,
                row.has_bytes_of_key ? HashOfKey(row.key) : std::nullopt,
                row.is_of_other_origin);
}

absl::Status AuditDatabase::Add(const FoundRecord& record) {
  if (record.is_dead_letter) {
    return AddDisposition(record.id, record.key, Disposition::kDeadLetter);
  }
  if (record.decision) {
    // What was retried has a record in its topic.
    if (*record.decision != "discarded") return absl::OkStatus();
    return AddDisposition(record.id, record.key, Disposition::kDiscarded);
  }
  std::optional<std::string> key_form;
  std::optional<std::string> value_form;
  std::optional<std::string_view> key = record.key;
  std::optional<std::string_view> value = record.value;
  if (forms_) {
    key_form = forms_->key.OfRecord(record.key);
    value_form = forms_->value.OfRecord(record.value);
    key = key_form;
    value = value_form;
  }
  return Insert(add_record_, record.id, record.topic, record.partition,
                record.offset, SqliteBytes{key},
                HashOfValue(value, record.claimed), record.position,
                record.is_replayed, record.repair,
                CanRepeat(record.id.value_or("")), HashOfKey(record.key));
}

absl::Status AuditDatabase::AddDisposition(
    const std::optional<std::string>& id,
    const std::optional<std::string_view>& key, Disposition fate) {
  std::optional<std::string> key_form;
  if (forms_) key_form = forms_->key.OfRecord(key);
  return Insert(add_disposition_, id, SqliteBytes{forms_ ? key_form : key},
                static_cast<int64_t>(fate));
}

absl::Status AuditDatabase::AddNewer(const std::string& id,
                                     const std::optional<std::string>& topic) {
  return Insert(add_newer_, id, topic);
}

absl::Status AuditDatabase::ExpectAll() {
  return Run("UPDATE read_rows SET must_be_there = 1");
}

absl::Status AuditDatabase::AddPartition(const PartitionStart& start) {
  may_lack_records_ |= start.begin > 0;
  return Insert(add_partition_, start.topic, start.partition, start.begin);
}

absl::Status AuditDatabase::AddCompacted(const std::string& topic) {
  may_lack_records_ = true;
  return Insert(add_compacted_, topic);
}

absl::Status AuditDatabase::Sort(SentBy sent_by) {
  WALPOST_RETURN_IF_ERROR(Run(kSorted));
  return may_lack_records_ ? Run(MarkExpiredSql(sent_by)) : absl::OkStatus();
}

absl::Status AuditDatabase::Select(
    const std::string& sql, const std::function<void(const Row&)>& take) const {
  SqliteStatement statement;
  WALPOST_RETURN_IF_ERROR(Prepare(sql, statement));
  int code = SQLITE_OK;
  while ((code = statement.Step()) == SQLITE_ROW) take(statement);
  return code == SQLITE_DONE ? absl::OkStatus() : Error("judging");
}

absl::Status AuditDatabase::Run(const std::string& sql) {
  return database_.Execute(sql) == SQLITE_OK ? absl::OkStatus()
                                             : Error("preparing");
}

absl::Status AuditDatabase::Prepare(const std::string& sql,
                                    SqliteStatement& statement) const {
  return database_.Prepare(sql, statement) == SQLITE_OK ? absl::OkStatus()
                                                        : Error(sql);
}

absl::Status AuditDatabase::Error(const std::string& attempted) const {
  const int code = database_.code();
  const std::string text = fmt::format("{} the temporary database {}: {}",
                                       attempted, path_, database_.message());
  if (code == SQLITE_FULL) return absl::ResourceExhaustedError(text);
  return absl::InternalError(text);
}

}  // namespace walpost
