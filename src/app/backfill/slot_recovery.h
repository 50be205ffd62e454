// SlotRecovery: creates a slot, with every earlier row in Kafka.
//
//   temporary slot + its snapshot ─▶ wanted rows ─▶ acknowledged
//                                                      │
//   the slot, a copy of the temporary one  ◀───────────┘
//
// The snapshot shows exactly what commits before the slot begins, so there is
// neither a gap nor a duplicate between the two. The slot gets its name only
// when everything is acknowledged: a crash in the middle leaves nothing behind,
// and it is safe to start over. For `walpost recover`.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "app/backfill/table_publisher.h"
#include "checkpoint/recovery_range.h"
#include "config/config.h"
#include "postgres/connect/connection.h"
#include "postgres/slot/observed_slot.h"

namespace walpost {

class SlotRecovery {
 public:
  // `config` outlives this object.
  SlotRecovery(boost::asio::any_io_executor executor, const Config& config)
      : executor_(executor), config_(config) {}

  // Reads the present state into slot() and birth().
  boost::asio::awaitable<absl::Status> Connect();
  const std::optional<SlotState>& slot() const { return sight_.slot; }
  const std::optional<BirthRecord>& birth() const { return sight_.birth; }
  const std::string& system_identifier() const {
    return sight_.system_identifier;
  }
  uint32_t timeline() const { return sight_.timeline; }
  // Coverage of the publication, before anything is read; empty: there is no
  // publication yet.
  const std::string& coverage() const { return coverage_; }

  // State of the server, for ChooseRecoveryRange.
  boost::asio::awaitable<absl::StatusOr<RecoveryServer>> LookAtServer();

  // Publishes the rows. With dry_run it only counts, and makes no slot. An
  // empty value of `mark` becomes the consistent point of the slot.
  boost::asio::awaitable<absl::StatusOr<TablePublisher::Counts>> Publish(
      TablePublisher::Options options);
  // The same if the slot is kept; leaves out rows that the slot will send. An
  // empty value of `mark` becomes its position. Errors are also those of
  // PeekSlot.
  boost::asio::awaitable<absl::StatusOr<TablePublisher::Counts>>
  PublishBesideSlot(TablePublisher::Options options);
  // True if either failed because of the producer.
  bool failed_at_kafka() const { return failed_at_kafka_; }
  // Gives the slot its name, replacing an existing slot, and records its birth.
  struct Founding {
    bool all_published = true;  // every row from before the slot
    // Otherwise everything that the slot of this record had to send was
    // published; nullopt: nothing was.
    std::optional<BirthRecord> before;
    std::string kafka_cluster;   // empty: not known
    std::string known_coverage;  // of relations that were passed over
  };
  boost::asio::awaitable<absl::Status> Keep(Founding founding);

  // Consistent point of the new slot; after Publish.
  Lsn consistent_point() const { return consistent_point_; }

 private:
  boost::asio::awaitable<absl::Status> Execute(std::string sql);
  boost::asio::awaitable<absl::Status> MakePublication();
  boost::asio::awaitable<absl::Status> TakeSnapshot();
  boost::asio::awaitable<absl::StatusOr<EventSet>> FindPending();
  // In the open transaction, which it ends.
  boost::asio::awaitable<absl::StatusOr<TablePublisher::Counts>> PublishRows(
      TablePublisher::Options options, Lsn before, EventSet left_out);

  boost::asio::any_io_executor executor_;
  const Config& config_;
  std::unique_ptr<Connection> connection_;
  std::string temporary_;
  ObservedSlot sight_;
  std::string coverage_;
  Lsn consistent_point_;
  bool failed_at_kafka_ = false;
};

}  // namespace walpost
