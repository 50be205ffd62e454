// CursorPoller: strategy `cursor`, for tables whose rows are never written
// again. The position is in a table of the same database (sql/cursor.sql), and
// moves when the brokers have acknowledged.
//
//   save, as a test ─▶ open a window ─▶ fetch ─▶ send ─▶ wait for
//   the brokers ─▶ save ─▶ fetch ...
//
// Only one poller at a time has a table's cursor: it holds an advisory lock,
// others are standbys. A row that cannot be delivered stops the table before it
// and is reported: there is no place to note that it was skipped.
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

  // Waits for the lock until stopping().
  boost::asio::awaitable<absl::Status> TakeLock();
  boost::asio::awaitable<absl::Status> LoadPosition();
  boost::asio::awaitable<absl::StatusOr<ServerTime>> ReadTime();
  boost::asio::awaitable<absl::Status> Turn();
  boost::asio::awaitable<absl::Status> FetchOnce();
  // Sends the rows and waits. Returns the place of the last row before the
  // first one that is not in Kafka; `done`: all of them are.
  struct Progress {
    std::optional<int64_t> place;
    bool done = false;
  };
  boost::asio::awaitable<absl::StatusOr<Progress>> Publish(QueryRows rows);
  // For a table from another cluster: rows that were not published there.
  struct Restore {
    ServerTime begun;
    std::optional<int64_t> after;  // the last place that is in Kafka
  };
  boost::asio::awaitable<absl::Status> PublishRestored();
  boost::asio::awaitable<absl::Status> Save();
  // Adds the GRANT that a rejected statement on the cursor's table lacks.
  absl::Status WithGrant(const absl::Status& status) const;
  Progress ProgressOf(const std::vector<std::string>& ids,
                      const std::vector<int64_t>& places);

  std::unique_ptr<CursorSql> sql_;
  CursorPosition position_;
  std::optional<Restore> restore_;  // while restoring
  bool is_serving_ = false;
  size_t most_rows_;  // one, after a row was rejected
  MonotonicTime next_at_{};
  Backoff refusal_backoff_;
};

}  // namespace walpost
