// KnownIds: which events Kafka has already, by id.
//
// Read from the topics once and kept on disk, so that it does not matter how
// many there are. Blocking.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "outbox/options.h"

struct sqlite3;
struct sqlite3_stmt;

namespace walpost {

class KnownIds {
 public:
  using Progress =
      std::function<void(std::string_view what, uint64_t done, uint64_t all)>;

  struct Options {
    std::string conninfo;
    OutboxOptions outbox;
    std::string brokers;
    std::vector<std::pair<std::string, std::string>> kafka_properties;
    std::string directory = "/tmp";  // for the temporary file
  };

  // Reads every topic that the templates may lead to: those that begin with
  // the text before their first column, or, without such text, those that the
  // rows in the table lead to. kUnavailable: no broker answers, or no server.
  static absl::StatusOr<std::unique_ptr<KnownIds>> Read(
      const Options& options, const Progress& progress);
  ~KnownIds();

  absl::StatusOr<bool> Has(std::string_view id) const;

 private:
  explicit KnownIds(sqlite3* database) : database_(database) {}

  absl::Status Prepare();
  absl::Status Add(const std::string& id);

  sqlite3* database_;
  sqlite3_stmt* add_ = nullptr;
  sqlite3_stmt* find_ = nullptr;
};

}  // namespace walpost
