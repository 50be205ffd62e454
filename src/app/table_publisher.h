// TablePublisher: rows of the outbox tables to Kafka, past the WAL.
//
//   TableScan ──▶ TableMapper ──▶ Pipeline ──▶ Producer
//
// For what the slot cannot give: rows from before it was made, rows that a gap
// swallowed, rows that somebody wants once more. The records are the same bytes
// as those of the stream, and marked.
//
// One use: made, Publish, thrown away. Everything runs on the loop.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "config/config.h"
#include "delivery/pipeline.h"
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
    uint32_t timeline = 0;
    // Whether a row is to go out, by the id of its event; nullptr: all.
    std::function<absl::StatusOr<bool>(std::string_view id)> is_wanted;
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

 private:
  TablePublisher(boost::asio::any_io_executor executor, const Config& config,
                 Options options, std::unique_ptr<RecordBuilder> builder);

  boost::asio::awaitable<absl::Status> PublishTable(Connection& connection,
                                                    size_t source);
  boost::asio::awaitable<absl::Status> PublishPortion(TableScan& scan,
                                                      size_t rows);
  absl::Status MakeMapper(const pgoutput::RelationSchema& schema);
  absl::StatusOr<bool> MapRow(const pgoutput::TupleData& row, Event& event);
  boost::asio::awaitable<absl::Status> Offer(Event& event);
  boost::asio::awaitable<absl::Status> WaitForAcknowledgements();
  boost::asio::awaitable<void> Pause(std::chrono::milliseconds most);
  absl::Status Health() const;

  boost::asio::any_io_executor executor_;
  Config config_;
  Options options_;
  Pipeline pipeline_;
  std::unique_ptr<Producer> producer_;
  boost::asio::steady_timer timer_;
  size_t source_ = 0;  // the table at hand
  std::unique_ptr<TableMapper> mapper_;
  Counts counts_;
  uint64_t all_ = 0;
  uint64_t ordinal_ = 0;
  MonotonicTime begun_at_{};
};

}  // namespace walpost
