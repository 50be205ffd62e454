// CursorPoller: strategy `cursor`, for tables whose rows are never written
// again. The position is in a table of the same database (sql/cursor.sql), and
// moves when the brokers have acknowledged.
//
//   save, to see that it can be ─▶ open a window ─▶ fetch ─▶ send ─▶ wait for
//   the brokers ─▶ save ─▶ fetch ...
//
// One poller at a time has a table's cursor: it holds an advisory lock, others
// stand by. A row that cannot be delivered stops the table before it,
// loudly: there is no place to say that it was passed over.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <memory>
#include <vector>

#include "base/backoff.h"
#include "polling/cursor_position.h"
#include "polling/cursor_sql.h"
#include "polling/table_poller.h"

namespace walpost {

class CursorPoller final : public TablePoller {
 public:
  CursorPoller(boost::asio::any_io_executor executor, Options options,
               Outbound& outbound);

 private:
  boost::asio::awaitable<absl::Status> BeginSession() override;
  boost::asio::awaitable<absl::Status> Serve() override;
  MonotonicTime purge_at() const override;
  std::string GaugesSql() override;

  // Waits for it until stopping().
  boost::asio::awaitable<absl::Status> TakeLock();
  boost::asio::awaitable<absl::Status> LoadPosition();
  boost::asio::awaitable<absl::StatusOr<ServerTime>> ReadTime();
  boost::asio::awaitable<absl::Status> Turn();
  boost::asio::awaitable<absl::Status> FetchOnce();
  // Sends the rows, waits, and gives the place of the last one before the first
  // that is not in Kafka; `done`: all of them are.
  struct Progress {
    std::optional<int64_t> place;
    bool done = false;
  };
  boost::asio::awaitable<absl::StatusOr<Progress>> Publish(QueryRows rows);
  // Of a table that came from another cluster: what was not published there.
  struct Restore {
    ServerTime begun;
    std::optional<int64_t> after;  // the last place that is in Kafka
  };
  boost::asio::awaitable<absl::Status> PublishRestored();
  boost::asio::awaitable<absl::Status> Save();
  // With the GRANT that a refused statement on the cursor's table lacks.
  absl::Status WithGrant(const absl::Status& status) const;
  Progress ProgressOf(const std::vector<std::string>& ids,
                      const std::vector<int64_t>& places);

  std::unique_ptr<CursorSql> sql_;
  CursorPosition position_;
  std::optional<Restore> restore_;  // while that goes on
  bool is_serving_ = false;
  size_t most_rows_;  // one, after a row was refused
  MonotonicTime next_at_{};
  Backoff refusal_backoff_;
};

}  // namespace walpost
