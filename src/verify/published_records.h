// PublishedRecords: every record that the brokers have of some topics, from the
// beginning to their present end. One class per kind of brokers, in its own
// file beside this one. Blocks.
//
//   FindTopics ──▶ Read ──▶ AddDeletedRecords
//
// Where a record is not in a partition, its topic counts as one.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "verify/audit_database.h"

namespace walpost {

// Records that the brokers may have deleted from topics that were read.
struct DeletedRecords {
  bool may_be_some = false;
  // A topic whose cleanup.policy cannot be seen; empty: none.
  std::string unseen_topic;
};

class PublishedRecords {
 public:
  virtual ~PublishedRecords() = default;

  // "Kafka", as people say it.
  virtual std::string_view name() const = 0;

  // Existing topics that are in `names` or begin with one of `prefixes`.
  // kPermissionDenied: the user may not see one of `names`. kUnavailable: no
  // server answers.
  virtual absl::StatusOr<std::set<std::string>> FindTopics(
      const std::set<std::string>& names,
      const std::set<std::string>& prefixes) = 0;

  // True if topics that begin with one of `prefixes` may exist, although they
  // are not listed: the user may not see such topics.
  virtual absl::StatusOr<bool> MayHide(
      const std::set<std::string>& /*prefixes*/) {
    return false;
  }

  // `take` gets every record of topics that FindTopics has found, each
  // partition in order; its views are valid during the call. `total` is known
  // before the first one. kUnavailable: the servers do not answer, or a
  // transaction stays open. kFailedPrecondition: the records that are left tell
  // nothing about those that were sent.
  virtual absl::Status Read(
      const std::set<std::string>& topics,
      const std::function<absl::Status(FoundRecord&)>& take) = 0;

  // Roughly how many records there are to read.
  virtual int64_t total() const = 0;

  // Adds where the topics begin now, and which are compacted.
  virtual absl::StatusOr<DeletedRecords> AddDeletedRecords(
      const std::set<std::string>& topics, AuditDatabase& audit) = 0;
};

// Connects. kUnavailable: no server answers.
using ConnectToRecords =
    std::function<absl::StatusOr<std::unique_ptr<PublishedRecords>>()>;

}  // namespace walpost
