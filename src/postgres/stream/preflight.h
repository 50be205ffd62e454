// Preflight: checks the server's requirements before replication starts, and
// reports facts that an operator should know.
//
//   auto findings = co_await Preflight(connection, options, outbox).Run();
//
// The same findings stop `run` (errors only) and are printed by `check`. Each
// reads only catalogs that every role may read.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/finding.h"
#include "outbox/options.h"
#include "outbox/route.h"
#include "postgres/connect/connection.h"
#include "postgres/connect/source_options.h"
#include "postgres/slot/slot.h"

namespace walpost {

class Preflight {
 public:
  // All arguments outlive the object.
  Preflight(Connection& connection, const WalSourceOptions& options,
            const OutboxOptions& outbox, const std::vector<Route>& routes)
      : connection_(connection),
        options_(options),
        outbox_(outbox),
        routes_(routes) {}

  // Errors come from the connection or a query; they are not findings.
  boost::asio::awaitable<absl::StatusOr<Findings>> Run();

 private:
  boost::asio::awaitable<absl::Status> CheckServer();
  boost::asio::awaitable<absl::Status> CheckSlot();
  boost::asio::awaitable<absl::Status> CheckTransactionIds();

  void CheckVersion();
  void CheckSettings(const QueryRows& settings);
  void CheckOrigins(bool are_kept);
  void CheckCapacity(const QueryRows& settings);
  void Add(Severity severity, FindingId id, std::string subject,
           std::string text, std::string remedy = "");

  Connection& connection_;
  const WalSourceOptions& options_;
  const OutboxOptions& outbox_;
  const std::vector<Route>& routes_;
  std::optional<SlotState> slot_;
  Findings findings_;
};

}  // namespace walpost
