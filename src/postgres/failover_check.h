// FailoverCheck: would walpost go on after a promotion, without a gap?
//
// From PostgreSQL 17 on a slot made with FAILOVER is kept in step on standbys
// that are set up for it. What is missing on either side shows only when it is
// too late, so it is looked at before.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/finding.h"
#include "postgres/connection.h"
#include "postgres/slot.h"

namespace walpost {

class FailoverCheck {
 public:
  static constexpr int kMinVersion = 170000;

  // `connection` outlives the object.
  FailoverCheck(Connection& connection, std::string slot)
      : connection_(connection), slot_(std::move(slot)) {}

  using Findings = absl::StatusOr<std::vector<Finding>>;

  // On the primary: the slot's own flag, and the standbys that the stream
  // waits for (synchronized_standby_slots). `state` is nullopt while the slot
  // is still to be made.
  boost::asio::awaitable<Findings> OnPrimary(std::optional<SlotState> state);

  // On a standby, which `host` names in the findings: its settings, and whether
  // its copy of the slot is ready.
  boost::asio::awaitable<Findings> OnStandby(std::string host);

 private:
  void CheckStandbySettings(const QueryRows& settings, const std::string& host);
  void Add(Severity severity, std::string subject, std::string text,
           std::string remedy = "");

  Connection& connection_;
  std::string slot_;
  std::vector<Finding> findings_;
};

// The hosts of a conninfo that lists several, each as a conninfo of its own
// that takes any kind of server; empty when there is only one.
struct HostConninfo {
  std::string host;
  std::string conninfo;
};
std::vector<HostConninfo> SplitHosts(const std::string& conninfo);

}  // namespace walpost
