// BirthCheck: checks that the slot has a birth record, that the record matches,
// and that it has the tables.
//
//   auto findings =
//       co_await BirthCheck(connection, options, outbox, has_store).Run();
//
// For `check`. `run` judges by itself (checkpoint/continuity.h), and writes a
// missing record if its role may.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <string>

#include "absl/status/statusor.h"
#include "base/finding.h"
#include "postgres/catalog/publication.h"
#include "postgres/connect/connection.h"
#include "postgres/connect/source_options.h"
#include "postgres/slot/observed_slot.h"

namespace walpost {

class BirthCheck {
 public:
  // All arguments outlive the object. Needs a replication connection.
  // `has_store`: the tables are also on record in the checkpoint.
  // `has_other_user`: the slot is not yet walpost's own, so that a record of
  // today would say a false beginning.
  BirthCheck(Connection& connection, const WalSourceOptions& options,
             const OutboxOptions& outbox, bool has_store,
             bool has_other_user = false)
      : connection_(connection),
        options_(options),
        outbox_(outbox),
        has_store_(has_store),
        has_other_user_(has_other_user) {}

  // No findings without a publication. Errors come from the connection or a
  // query; they are not findings.
  boost::asio::awaitable<absl::StatusOr<Findings>> Run();

 private:
  boost::asio::awaitable<absl::Status> Observe();
  boost::asio::awaitable<absl::Status> CheckMissing();
  void CheckRecord();
  boost::asio::awaitable<absl::Status> CheckTables();
  void Add(Severity severity, FindingId id, std::string text,
           std::string remedy = "");

  Connection& connection_;
  const WalSourceOptions& options_;
  const OutboxOptions& outbox_;
  bool has_store_;
  bool has_other_user_;
  PublicationRights rights_;
  ObservedSlot sight_;
  Findings findings_;
};

}  // namespace walpost
