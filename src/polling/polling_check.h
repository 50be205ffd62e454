// PollingCheck: checks the requirements of a polled table, and gives the SQL
// that fixes it.
//
// The same findings stop `run` (errors only) and are printed by `check`.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/finding.h"
#include "outbox/options.h"
#include "polling/polled_table.h"
#include "polling/polling_options.h"
#include "polling/table_indexes.h"
#include "postgres/connect/connection.h"

namespace walpost {

class PollingCheck {
 public:
  // All arguments outlive the object. `references`: see TableMapper.
  PollingCheck(Connection& connection, const PollingOptions& polling,
               const TableOptions& options,
               const std::vector<std::string>& references)
      : connection_(connection),
        polling_(polling),
        options_(options),
        references_(references) {}

  // Errors come from the connection or a query; they are not findings.
  boost::asio::awaitable<absl::StatusOr<Findings>> Run();

  // The checked table. Call it after a Run without errors; once.
  PolledTable TakeTable() { return std::move(table_); }

 private:
  boost::asio::awaitable<absl::Status> CheckColumns();
  boost::asio::awaitable<absl::Status> CheckComparisons();
  boost::asio::awaitable<absl::Status> CheckNulls();
  boost::asio::awaitable<absl::Status> CheckStatusValues();
  boost::asio::awaitable<absl::Status> CheckIndexes();
  boost::asio::awaitable<absl::Status> CheckPrivileges();
  boost::asio::awaitable<absl::Status> CheckCursorTable();
  boost::asio::awaitable<absl::Status> CheckLeaseTable();
  boost::asio::awaitable<absl::Status> CheckIdentity();
  void CheckOrder();
  void CheckLease();
  void Add(Severity severity, FindingId id, std::string text,
           std::string remedy = "");

  Connection& connection_;
  const PollingOptions& polling_;
  const TableOptions& options_;
  const std::vector<std::string>& references_;
  std::string sql_name_;
  PolledTable table_;
  bool is_partitioned_ = false;
  Findings findings_;
};

}  // namespace walpost
