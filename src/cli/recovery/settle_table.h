// SettleTable: Kafka has all rows of a table now, so that a gap of this table
// is over. For `walpost replay --from-table --table T --missing`.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/settled_table.h"
#include "config/config.h"
#include "postgres/connect/connection.h"
#include "postgres/slot/slot.h"

namespace walpost {

class TableSettlement {
 public:
  // `config` outlives this object.
  TableSettlement(boost::asio::any_io_executor executor, const Config& config,
                  std::string table)
      : executor_(executor), config_(config), table_(std::move(table)) {}

  // Looks at the slot and the record, before the rows are read.
  boost::asio::awaitable<absl::Status> Begin();

  // Every row is in Kafka; `with_altered`: but for some, with another content
  // or on record. Puts that on record, and in the checkpoint. Then a walpost
  // that waits goes on.
  //
  // kAborted: a walpost has the slot, or has moved it, so rows may have been
  // passed over meanwhile; says what to do. kFailedPrecondition: the role may
  // not write the record; has the SQL for its owner.
  boost::asio::awaitable<absl::Status> End(bool with_altered);

 private:
  boost::asio::awaitable<absl::Status> Look();
  bool IsUnsettledNow() const;
  bool IsUnsettledOnRecord() const;
  absl::Status CheckSlot(const std::optional<SlotState>& before) const;
  boost::asio::awaitable<absl::Status> SettleCheckpoint(SettledTable settled);
  boost::asio::awaitable<absl::Status> SettleRecord(SettledTable settled);

  boost::asio::any_io_executor executor_;
  const Config& config_;
  std::string table_;
  std::unique_ptr<Connection> connection_;
  Coverage::Table now_;
  std::optional<SlotState> slot_;
  std::optional<BirthRecord> birth_;
  std::optional<Checkpoint> checkpoint_;
};

}  // namespace walpost
