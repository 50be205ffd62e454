// RowClaims: common part of the strategies that claim rows: the rows that they
// look for, and the decision about rejected rows.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "polling/claim_sql.h"
#include "polling/polling_strategy.h"
#include "polling/retry_schedule.h"
#include "polling/retry_state.h"

namespace walpost {

class RowClaims {
 public:
  explicit RowClaims(PollingContext context);

  // The RowSender has a new table.
  void Begin();
  const ClaimSql& sql() const { return *sql_; }

  // Claims or locks the next rows. If only rows of other pollers are found, the
  // next look goes further.
  enum class Hold { kLease, kLock };
  boost::asio::awaitable<absl::StatusOr<RowBatch>> Look(Hold hold);

  // The mark of rows that Look has returned.
  LeaseMark MarkOf(const RowBatch& batch) const;

  // The statement that ends the work with these rows: marks or deletes them.
  std::string Finish(const std::vector<std::string>& ids) const;
  void OnPublished(const std::vector<RowsInFlight::Row>& rows);
  // The rows that are done: published, or set aside in a table that cannot mark
  // rows as failed.
  std::vector<std::string> Done(const RowsInFlight::Finished& finished) const;
  // Adds the statements that mark the other rows that are set aside.
  void AddSetAside(const RowsInFlight::Finished& finished,
                   std::vector<std::string>& statements,
                   const LeaseMark& mark = {});
  // Returns the statement that stores a rejection; empty: the table cannot.
  std::string OnRefused(const RowsInFlight::RejectedRow& refusal,
                        MonotonicTime now, const LeaseMark& mark = {});

 private:
  boost::asio::awaitable<absl::StatusOr<RowBatch>> Claim(
      std::vector<std::string> waiting);
  boost::asio::awaitable<absl::StatusOr<RowBatch>> Read(std::string look);
  bool MarksFailed() const { return context_.rows.table().state.can_fail(); }
  void NoteLook(size_t rows);

  PollingContext context_;
  const std::string holder_;  // in the lease table
  std::optional<ClaimSql> sql_;
  RetryState retry_state_;
  RetrySchedule schedule_;
  size_t far_ = 0;  // rows
  MonotonicTime disturbed_until_{};
};

}  // namespace walpost
