// BirthCheck: is the birth of the slot recorded, and does the record match?
//
//   auto findings = co_await BirthCheck(connection, options).Run();
//
// For `check`. `run` judges by itself (checkpoint/continuity.h), and writes a
// missing record if its role may.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

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
  BirthCheck(Connection& connection, const WalSourceOptions& options,
             std::span<const TableOptions> tables)
      : connection_(connection), options_(options), tables_(tables) {}

  // No findings without a publication. Errors come from the connection or a
  // query; they are not findings.
  boost::asio::awaitable<absl::StatusOr<Findings>> Run();

 private:
  boost::asio::awaitable<absl::Status> Observe();
  boost::asio::awaitable<absl::Status> CheckMissing();
  void CheckRecord();
  void Add(Severity severity, std::string text, std::string remedy = "");

  Connection& connection_;
  const WalSourceOptions& options_;
  std::span<const TableOptions> tables_;
  PublicationRights rights_;
  ObservedSlot sight_;
  Findings findings_;
};

}  // namespace walpost
