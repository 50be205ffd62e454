// PublicationMonitor: notices when the publication stops covering the outbox.
//
// The server does not report that somebody removes a table from the
// publication, adds a row filter or a column list, or (18) drops the
// publication: rows stop coming, and rows committed meanwhile are never sent.
// So an ordinary session checks the catalog regularly.
//
// The reference is the state at the setup of the first stream: a filter that
// existed then is intended. Before that, only errors count. A change that
// lasted only for a moment shows in the definitions (checkpoint/coverage.h):
// that is a gap.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "base/finding.h"
#include "checkpoint/coverage.h"
#include "delivery/gap.h"
#include "outbox/base_types.h"
#include "outbox/options.h"
#include "outbox/route.h"
#include "postgres/connect/connection.h"
#include "postgres/connect/source_options.h"

namespace walpost {

class PublicationMonitor {
 public:
  // The routes outlive this object.
  PublicationMonitor(WalSourceOptions options, OutboxOptions outbox,
                     const std::vector<Route>& routes);

  // Findings without an error, before the first stream. Later calls have no
  // effect.
  void SetReference(const Findings& findings);
  // Coverage of the publication at the setup of each stream.
  void SetCoverage(const std::string& coverage);
  // What the stream knows of the columns (records.profile: debezium).
  void SetColumns(const BaseTypes& types);

  // Checks once over `connection`. Errors come from the connection.
  boost::asio::awaitable<absl::Status> Look(Connection& connection);

  // Problems since the reference state, and the remedy; empty: none.
  const std::string& trouble() const { return trouble_; }
  // True if the trouble is an error whatever the reference.
  bool is_error() const { return is_error_; }

  // Tables that match a pattern of outbox.tables, are not among them yet, and
  // can be published.
  const std::vector<std::string>& new_tables() const { return new_tables_; }
  // Why other matching tables cannot be published, and the remedy; empty: there
  // are none.
  const std::string& new_table_trouble() const { return new_table_trouble_; }

  // True, once, if the columns are others than those of SetColumns: the catalog
  // says what no Relation message does, such as DEFAULT and NOT NULL. The next
  // stream may need a while until it has called SetColumns.
  bool TakeOtherColumns() { return std::exchange(has_other_columns_, false); }

  // The gap, if the definitions have changed since SetCoverage.
  const std::optional<Gap>& gap() const { return gap_; }

 private:
  boost::asio::awaitable<absl::Status> LookAtAll(Connection& connection);
  boost::asio::awaitable<absl::Status> Check(Connection& connection);
  boost::asio::awaitable<absl::Status> CompareColumns(Connection& connection);
  boost::asio::awaitable<absl::Status> LookForNewTables(Connection& connection);
  boost::asio::awaitable<absl::StatusOr<std::string>> FindTroubleOf(
      Connection& connection, std::vector<std::string> names);
  void Compare(const Findings& findings);
  Gap CoverageGap(const std::string& change) const;

  WalSourceOptions options_;
  OutboxOptions outbox_;
  const std::vector<Route>& routes_;
  std::string digest_;  // of the last look
  bool must_look_ = true;
  // Warnings in the reference state.
  std::optional<std::set<std::string>> reference_;
  std::string trouble_;
  bool is_error_ = false;
  std::string new_table_digest_;  // of the last look
  std::vector<std::string> new_tables_;
  std::string new_table_trouble_;
  std::optional<Coverage> coverage_;
  std::optional<Gap> gap_;
  std::optional<BaseTypes> types_;
  bool has_other_columns_ = false;
};

}  // namespace walpost
