// PublicationCheck: checks that the publication sends every row of the outbox,
// with the columns that the configuration maps.
//
//   auto findings = co_await PublicationCheck(connection, options, outbox,
//                                             routes).Run();
#pragma once

#include <boost/asio/awaitable.hpp>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/finding.h"
#include "outbox/options.h"
#include "outbox/route.h"
#include "postgres/catalog/table_facts.h"
#include "postgres/connect/connection.h"
#include "postgres/connect/source_options.h"

namespace walpost {

class PublicationCheck {
 public:
  // All arguments outlive the object.
  PublicationCheck(Connection& connection, const WalSourceOptions& options,
                   const OutboxOptions& outbox,
                   const std::vector<Route>& routes)
      : connection_(connection),
        options_(options),
        outbox_(outbox),
        routes_(routes) {}

  // Errors come from the connection or a query; they are not findings.
  boost::asio::awaitable<absl::StatusOr<Findings>> Run();

  // Checks only the tables, while there is no publication: as much as can be
  // checked before anything is created.
  boost::asio::awaitable<absl::StatusOr<Findings>> RunOnTables();

  // Other tables whose rows are sent and ignored. Usually not a problem, so it
  // is not part of Run.
  boost::asio::awaitable<absl::StatusOr<Findings>> FindOtherTables();

 private:
  boost::asio::awaitable<absl::Status> CheckPublication();
  boost::asio::awaitable<absl::Status> CheckTables();
  boost::asio::awaitable<absl::StatusOr<bool>> IsUnsortable(
      size_t index, const TableFacts& facts);
  // Name for a publication that only walpost uses.
  std::string OwnPublication() const;
  void Add(Severity severity, FindingId id, std::string subject,
           std::string text, std::string remedy = "");

  Connection& connection_;
  const WalSourceOptions& options_;
  const OutboxOptions& outbox_;
  const std::vector<Route>& routes_;
  bool publication_exists_ = false;
  bool published_via_root_ = false;
  std::map<std::string, bool> sortable_;  // by type
  Findings findings_;
};

}  // namespace walpost
