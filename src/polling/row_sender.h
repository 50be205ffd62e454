// RowSender: sends the rows of one table, and has them until their results are
// stored.
//
// Owned by a TablePoller; shared with its strategy.
#pragma once

#include <memory>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "outbox/options.h"
#include "outbox/table_mapper.h"
#include "polling/polled_table.h"
#include "polling/polling_sender.h"
#include "polling/rows_in_flight.h"
#include "postgres/catalog/table_rows.h"
#include "postgres/tables/fetch_sizer.h"
#include "postgres/tables/row_batch.h"

namespace walpost {

class RowSender {
 public:
  using Ids = absl::flat_hash_set<std::string>;

  // `options` and `outbound` outlive this object; `source`: index of the table.
  RowSender(const OutboxOptions& options, size_t source, size_t batch_size,
            PollingSender& outbound)
      : options_(options),
        source_(source),
        polling_sender_(outbound),
        fetch_sizer_(batch_size) {}

  // The table as it is from now on, in a database of this encoding. Errors are
  // those of TableMapper::Create.
  absl::Status SetTable(PolledTable table, const std::string& server_encoding);
  // Names whose values the route of the table needs.
  const std::vector<std::string>& references() const {
    return polling_sender_.builder().routes()[source_].references();
  }
  // Valid until the next SetTable.
  const PolledTable& table() const { return table_; }
  size_t id_column() const { return *table_.schema.FindColumn(table_.id); }

  RowsInFlight& flight() { return flight_; }
  const RowsInFlight& flight() const { return flight_; }

  // Maximum number of rows to read.
  size_t limit() const { return polling_sender_.MaxRows(fetch_sizer_); }

  // Sends the rows of a batch, in order; those left out are returned. After a
  // row that was not sent, later ones of its aggregate, or all, are returned.
  // Rows in `acknowledged` are not sent: they are in Kafka.
  enum class HoldUp { kAggregate, kAll };
  void Send(const RowBatch& batch, MonotonicTime now, HoldUp hold_up,
            const Ids& acknowledged = {});

 private:
  std::string AggregateOf(const QueryRows& row) const;

  const OutboxOptions& options_;
  const size_t source_;
  PollingSender& polling_sender_;
  RowsInFlight flight_;
  FetchSizer fetch_sizer_;
  PolledTable table_;
  std::unique_ptr<TableMapper> mapper_;
  RowTuple tuple_;
};

}  // namespace walpost
