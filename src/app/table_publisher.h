// TablePublisher: rows of the outbox tables to Kafka, past the WAL.
//
//   TableScan ──▶ TableMapper ──▶ Pipeline ──▶ Producer
//                      └── ScanPlace ◀── acknowledgements
//
// For what the slot cannot give: rows from before it was made, rows that a gap
// swallowed, rows that somebody wants once more. The records are the same bytes
// as those of the stream, and marked.
//
// Publish does it in one go. Who has to survive a lost connection, a producer
// that failed or a row that cannot be delivered calls Continue as often as it
// takes: it goes on behind the last row that is acknowledged.
//
// Everything runs on the loop.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "app/scan_place.h"
#include "config/config.h"
#include "delivery/pipeline.h"
#include "delivery/rate_limit.h"
#include "kafka/producer.h"
#include "outbox/table_mapper.h"
#include "postgres/connection.h"
#include "postgres/table_scan.h"

namespace walpost {

class TablePublisher {
 public:
  struct Options {
    TableFilter filter;
    RecordMark mark;
    // Records carry positions right before this LSN; 0/0: none.
    Lsn before;
    // The ordinal before the first one, of these positions.
    uint64_t ordinals_after = 0;
    uint32_t timeline = 0;
    // Whether a row is to go out, by its event and the topic that it goes to;
    // nullptr: all.
    std::function<absl::StatusOr<bool>(const Event& event,
                                       std::string_view topic)>
        is_wanted;
    bool dry_run = false;     // counts, and produces nothing
    uint64_t per_second = 0;  // most records; 0: no limit
    std::function<void(uint64_t done, uint64_t all)> progress;
  };
  struct Counts {
    uint64_t rows = 0;       // that the filter let through
    uint64_t published = 0;  // of those, wanted; acknowledged, unless dry_run
  };

  // kInvalidArgument, kFailedPrecondition: the configuration does not do.
  static absl::StatusOr<std::unique_ptr<TablePublisher>> Create(
      boost::asio::any_io_executor executor, const Config& config,
      Options options);

  // Under the transaction that is open on `connection`. Returns when all is
  // acknowledged. A row that cannot be delivered ends it, and is named.
  boost::asio::awaitable<absl::StatusOr<Counts>> Publish(
      Connection& connection);

  // The same, but may be called again after an error: on another connection
  // when that one was lost, after Renew when the producer has failed. Rows
  // count twice in Counts when they are read twice; done() does not.
  //
  // kCancelled: Stop was called. With stoppage(): that row cannot be delivered.
  boost::asio::awaitable<absl::StatusOr<Counts>> Continue(
      Connection& connection);
  // Another producer, and nothing in flight. Not while Continue runs.
  boost::asio::awaitable<absl::Status> Renew(MonotonicTime deadline);
  // Lets the brokers acknowledge what is in flight, until `deadline`.
  boost::asio::awaitable<void> Close(MonotonicTime deadline);
  // Ends Continue soon, for good.
  void Stop();

  // The row that nothing passes, since the last Continue.
  const std::optional<Stoppage>& stoppage() const { return stoppage_; }
  // Whether the producer must be replaced before the next Continue.
  bool producer_failed() const { return pipeline_.sink_failure().has_value(); }
  const Pipeline& pipeline() const { return pipeline_; }
  // A topic that records wait for, though the brokers do not know it; or empty.
  std::string homeless_topic() const;
  // Rows that are dealt with: in Kafka, or not wanted; and of how many, as far
  // as tables were opened.
  uint64_t done() const { return done_before_ + place_.done(); }
  uint64_t all() const { return all_; }

 private:
  TablePublisher(boost::asio::any_io_executor executor, const Config& config,
                 Options options, std::unique_ptr<RecordBuilder> builder);

  absl::Status MakeProducer();
  boost::asio::awaitable<absl::Status> ContinueTables(Connection& connection);
  boost::asio::awaitable<absl::Status> PublishTable(Connection& connection);
  boost::asio::awaitable<absl::Status> OpenScan(TableScan& scan);
  boost::asio::awaitable<absl::Status> PublishPortion(TableScan& scan,
                                                      size_t rows);
  boost::asio::awaitable<absl::Status> PublishRow(
      const pgoutput::TupleData& row);
  absl::Status MakeMapper(const pgoutput::RelationSchema& schema);
  absl::StatusOr<bool> MapRow(const pgoutput::TupleData& row, Event& event);
  absl::StatusOr<bool> IsWanted(const Event& event);
  boost::asio::awaitable<absl::Status> Offer(Event& event);
  boost::asio::awaitable<absl::Status> WaitForAcknowledgements();
  boost::asio::awaitable<void> Pause(std::chrono::milliseconds most);
  TableFilter FilterFromPlace(Connection& connection) const;
  void NoteAcknowledged();
  absl::Status Undeliverable(const Position& position, std::string id,
                             const absl::Status& reason);
  absl::Status Health();

  boost::asio::any_io_executor executor_;
  Config config_;
  Options options_;
  Pipeline pipeline_;
  std::unique_ptr<Producer> producer_;
  boost::asio::steady_timer timer_;
  bool stopped_ = false;

  size_t source_ = 0;     // the table at hand
  bool counted_ = false;  // its rows are in all_
  std::vector<std::string> order_columns_;
  std::vector<size_t> order_indexes_;
  ScanPlace place_;           // in it
  uint64_t done_before_ = 0;  // of the tables before it
  std::unique_ptr<TableMapper> mapper_;

  std::optional<Stoppage> stoppage_;
  // So many records go out one at a time: one of those that were in flight when
  // the brokers refused a batch cannot be delivered.
  size_t one_at_a_time_ = 0;
  Position last_position_;  // of the record offered last
  std::string last_id_;

  std::string topic_;  // of the event at hand
  Counts counts_;
  uint64_t all_ = 0;
  uint64_t ordinal_ = 0;
  RateLimit rate_;
};

}  // namespace walpost
