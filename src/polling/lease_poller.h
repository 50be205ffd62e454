// LeasePoller: strategy `claim` on a table with a lease.
//
//   claim ─▶ send ─▶ wait for the brokers ─▶ mark ─▶ claim ...
//                        │ renew at a third of the lease
//                        └ cannot be renewed: call back before it ends
//
// No transaction is open while it waits for Kafka. If a poller dies, the lease
// of its rows expires; then another poller publishes them again.
#pragma once

#include <boost/asio/awaitable.hpp>

#include "polling/lease.h"
#include "polling/table_poller.h"

namespace walpost {

class LeasePoller final : public TablePoller {
 public:
  LeasePoller(boost::asio::any_io_executor executor, Options options,
              Outbound& outbound);

 private:
  boost::asio::awaitable<absl::Status> BeginSession() override;
  boost::asio::awaitable<absl::Status> Serve() override;
  MonotonicTime purge_at() const override;

  boost::asio::awaitable<absl::Status> Settle();
  boost::asio::awaitable<absl::Status> RenewIfDue();
  boost::asio::awaitable<absl::Status> ReturnExpiredIfDue();
  boost::asio::awaitable<absl::Status> ClaimIfDue();
  bool MaySettle(MonotonicTime now) const;
  bool MayClaim(MonotonicTime now) const;
  MonotonicTime NextTurn(MonotonicTime now) const;

  Lease lease_;
  // Mark of the last claim or renewal; the latest one of our rows.
  LeaseMark mark_;
  std::string return_expired_;
  MonotonicTime return_expired_at_{};
  MonotonicTime claim_at_{};
  MonotonicTime settle_at_{};
};

}  // namespace walpost
