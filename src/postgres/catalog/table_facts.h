// TableFacts: facts about the outbox tables from the catalogs, read in the same
// few statements for all of them.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "outbox/options.h"
#include "postgres/catalog/table_columns.h"
#include "postgres/connect/connection.h"

namespace walpost {

struct TableFacts {
  struct ForeignPartition {
    std::string name;  // quoted, as its parent
    std::string parent;
  };

  std::string kind;  // pg_class.relkind; empty: there is no such table
  // One that is unlogged or temporary: the table, or a leaf below it.
  std::optional<std::string> unlogged;
  // One that inherits from it, and is not listed itself.
  std::optional<std::string> child;
  std::vector<ForeignPartition> foreign;  // some of them
  bool is_published = false;
  PublishedColumns published;
  TableColumns columns;
};

// By the index of the table. `publication` empty: there is none yet, so all
// columns count as published. `tables` outlives the coroutine.
boost::asio::awaitable<absl::StatusOr<std::vector<TableFacts>>> ReadTableFacts(
    Connection& connection, std::string publication,
    std::span<const TableOptions> tables);

// A number that changes with the facts, with the coverage and with the settings
// of the publication: one statement, with one row as its answer.
boost::asio::awaitable<absl::StatusOr<std::string>> ReadTableDigest(
    Connection& connection, std::string publication,
    std::span<const TableOptions> tables);

}  // namespace walpost
