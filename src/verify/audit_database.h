// AuditDatabase: the table's rows and Kafka's records, side by side on disk.
//
// A temporary SQLite database, so that millions of rows need no memory: both
// sides are stored as they are read, then judged by queries (judgement.cc).
// Values are stored as a hash, which is sufficient to compare them. The file is
// deleted with the object.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/sha256.h"
#include "outbox/events_on_record.h"
#include "verify/expired_rows.h"
#include "verify/json_form.h"
#include "verify/sqlite.h"

namespace walpost {

// A row of the outbox, as the record that it should have become. nullopt: do
// not compare (except for the key, which may be NULL itself).
struct ExpectedRecord {
  std::string id;
  std::optional<std::string> topic;
  bool key_is_known = false;
  std::optional<std::string> key;
  // False if the record's key has other bytes, so that its partition is not
  // known.
  bool has_bytes_of_key = true;
  bool value_is_known = false;
  std::optional<std::string_view> value;
  std::optional<int64_t> sequence;
  // Place in the order of recover and the snapshot (outbox/row_order.h).
  std::optional<int64_t> row_order;
  // False if its transaction may be after the slot's confirmed LSN.
  bool must_be_there = true;
  // The transaction that inserted it, as a number that only grows.
  std::optional<int64_t> written;
  // It is known that its event was to be sent: it is not from before the slot.
  bool came_through = false;
  // With postgres.origin: none: it was replicated, so it was not to be sent.
  // nullopt: that is not known.
  std::optional<bool> is_of_other_origin = false;
};

struct FoundRecord {
  std::optional<std::string> id;  // header `id`
  std::string topic;
  int32_t partition = 0;
  int64_t offset = 0;
  std::optional<std::string_view> key;
  std::optional<std::string_view> value;
  std::optional<std::string> position;  // header `walpost-position`
  bool is_replayed = false;             // marked by walpost
  // Header walpost-recovered or walpost-snapshot, name and value; empty: none.
  std::string repair;
  // The payload's digest, if there is a claim check in its place.
  std::optional<Sha256Digest> claimed;
  // It is the dead letter of an event (header walpost-dead-letter).
  bool is_dead_letter = false;
  // It is a decision about one (header walpost-decision).
  std::optional<std::string> decision;
};

// Forms in which keys and values are compared.
struct JsonForms {
  JsonForm key;
  JsonForm value;
};

class AuditDatabase {
 public:
  // `directory`: place of the temporary file. `forms`: nullopt compares bytes.
  // kFailedPrecondition: the file cannot be written there.
  static absl::StatusOr<std::unique_ptr<AuditDatabase>> Create(
      const std::string& directory,
      std::optional<JsonForms> forms = std::nullopt);
  ~AuditDatabase();

  // kResourceExhausted: the disk is full.
  absl::Status Add(const ExpectedRecord& row);
  absl::Status Add(const FoundRecord& record);
  // The event has this fate, unless it has a record.
  absl::Status AddDisposition(const std::optional<std::string>& id,
                              const std::optional<std::string_view>& key,
                              Disposition fate);
  // The row of this id was committed while the table was read; with its topic.
  absl::Status AddNewer(const std::string& id,
                        const std::optional<std::string>& topic);

  // A partition of a topic that was read, also without a record.
  absl::Status AddPartition(const PartitionStart& start);
  // A topic that keeps the last record of a key alone.
  absl::Status AddCompacted(const std::string& topic);

  // The slot has confirmed all rows of the table: none may be missing.
  absl::Status ExpectAll();

  // Call it once, after all rows and records were added and before Select.
  // Creates the tables `expected`, `found` and `fates`, and `unlike` (records
  // that differ from their row).
  //
  // A record belongs to a row if topic, id, key and value agree: both are
  // `is_matched`. Otherwise the id decides if it cannot repeat
  // (id_uniqueness.h), or the position, which two events never share. Rows
  // whose records Kafka has deleted are `is_expired` (expired_rows.h).
  absl::Status Sort(SentBy sent_by = SentBy::kConfirmation);

  // A row of a result.
  using Row = SqliteStatement;
  absl::Status Select(const std::string& sql,
                      const std::function<void(const Row&)>& take) const;

 private:
  explicit AuditDatabase(std::string path) : path_(std::move(path)) {}

  absl::Status Run(const std::string& sql);
  absl::Status Prepare(const std::string& sql,
                       SqliteStatement& statement) const;
  template <typename... Values>
  absl::Status Insert(SqliteStatement& statement, const Values&... values);
  absl::Status Error(const std::string& attempted) const;

  std::string path_;
  SqliteDatabase database_;
  std::optional<JsonForms> forms_;
  SqliteStatement add_row_;
  SqliteStatement add_record_;
  SqliteStatement add_newer_;
  SqliteStatement add_disposition_;
  SqliteStatement add_partition_;
  SqliteStatement add_compacted_;
  bool may_lack_records_ = false;  // Kafka has deleted some, or may have
};

}  // namespace walpost
