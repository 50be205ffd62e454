// FailoverCheck: checks that walpost would continue after a promotion without a
// gap.
//
// From PostgreSQL 17 on, a slot created with FAILOVER is synchronised to
// standbys that are set up for it. A missing setting on either side shows only
// when it is too late, so it is checked before.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/finding.h"
#include "postgres/connect/connection.h"
#include "postgres/slot/slot.h"

namespace walpost {

class FailoverCheck {
 public:
  // `connection` outlives the object.
  FailoverCheck(Connection& connection, std::string slot)
      : connection_(connection), slot_(std::move(slot)) {}

  // On the primary: checks the slot's own flag, and the standbys that the
  // stream waits for (synchronized_standby_slots). `state` is nullopt if the
  // slot does not exist yet.
  boost::asio::awaitable<absl::StatusOr<Findings>> OnPrimary(
      std::optional<SlotState> state);

  // On a standby, named `host` in the findings: checks its settings, and
  // whether its copy of the slot is ready.
  boost::asio::awaitable<absl::StatusOr<Findings>> OnStandby(std::string host);

 private:
  void CheckStandbySettings(const QueryRows& settings, const std::string& host);
  void Add(Severity severity, FindingId id, std::string subject,
           std::string text, std::string remedy = "");

  Connection& connection_;
  std::string slot_;
  Findings findings_;
};

// Splits a conninfo with several hosts into one conninfo per host that accepts
// any kind of server; empty if there is only one host.
struct HostConninfo {
  std::string host;
  std::string conninfo;
};
std::vector<HostConninfo> SplitHosts(const std::string& conninfo);

}  // namespace walpost
