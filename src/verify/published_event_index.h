// PublishedEventIndex: the events that the brokers already have.
//
// An event is identified by its topic, id, key and value, not by its id alone:
// two tables may count from 1, and a sequence that was restored with its
// database continues from its old value. Read from the topics once and kept on
// disk, as hashes of 24 bytes, so that any number is possible. Blocking.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "base/reloadable_text.h"
#include "base/sha256.h"
#include "outbox/options.h"
#include "verify/expectation_query.h"
#include "verify/published_records.h"
#include "verify/sqlite.h"

namespace walpost {

class PublishedEventIndex {
 public:
  using Progress =
      std::function<void(std::string_view what, uint64_t done, uint64_t all)>;

  struct Options {
    ReloadableText conninfo;  // with the password
    OutboxOptions outbox;
    ConnectToRecords connect;
    std::string directory = "/tmp";  // for the temporary file
    ConfirmedBy confirmed_by;
  };

  // A row, as the record that it becomes. nullopt: NULL.
  struct Candidate {
    std::string_view topic;
    std::string_view id;
    std::optional<std::string_view> key;
    std::optional<std::string_view> value;  // the payload
    // Its digest, if there is a claim check in its place.
    std::optional<Sha256Digest> claimed = std::nullopt;
  };
  enum class Answer {
    kUnknown,  // not there
    kKnown,
    // The id is on this topic, with another key or value. The id cannot
    // repeat (id_uniqueness.h): it is the same event, altered since.
    kAltered,
    // The same, but such an id can repeat: it is another event.
    kSameId,
    // Another identical row was asked for before: there may be only one record
    // for both.
    kTwin,
    // It was there, and has been deleted (expired_rows.h).
    kExpired,
  };

  // The topics of the tables' rows. Errors come from Postgres.
  static absl::StatusOr<std::set<std::string>> FindTopics(
      const Options& options);
  // Reads these topics, and all that begin with the text before the first
  // column of a template. kUnavailable: no broker answers.
  static absl::StatusOr<std::unique_ptr<PublishedEventIndex>> Read(
      const Options& options, const std::set<std::string>& topics,
      const Progress& progress);
  // Makes an empty object; the file is in `directory`.
  static absl::StatusOr<std::unique_ptr<PublishedEventIndex>> CreateEmpty(
      const std::string& directory);

  absl::Status Add(const Candidate& record);
  // Call it once for each row.
  absl::StatusOr<Answer> Ask(const Candidate& row);

 private:
  PublishedEventIndex() = default;

  absl::Status Prepare();
  // Reads everything a second time, if Kafka may have deleted records.
  absl::Status FindExpired(const Options& options,
                           const std::set<std::string>& topics,
                           PublishedRecords& reader);
  // Binds and runs a statement. True if it has found a row.
  absl::StatusOr<bool> Run(SqliteStatement& statement, std::string_view topic,
                           std::string_view id, std::optional<int64_t> content);
  absl::StatusOr<bool> Run(SqliteStatement& statement, const Candidate& event);

  SqliteDatabase database_;
  SqliteStatement add_;
  SqliteStatement find_;
  SqliteStatement find_id_;
  SqliteStatement mark_;
  SqliteStatement add_expired_;
  SqliteStatement find_expired_;
  bool is_claimed_ = false;
};

}  // namespace walpost
