// SideSession: an ordinary SQL session beside the replication stream.
//
// Jobs that the stream cannot do while it is not being read:
//
//  - notice a fast shutdown of the server. It ends ordinary sessions at once
//    and then waits for every walsender to be confirmed, without limit. A
//    lost session whose reconnect is answered with 57P03 means: leave.
//  - say how the slot stands: WAL written, WAL retained for us, wal_status;
//    and whether the publication still covers the outbox; how far all
//    transactions have ended, and where the guard slot stands; while the slot
//    is created, what that waits for;
//  - warn of a partition that had rows when it was attached.
//
// It holds no transaction open, so it pins no xmin. Its own failure is no
// trouble for the stream; it comes back with backoff.
//
// Owned by the Relay, which outlives its coroutine.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/backoff.h"
#include "base/lsn.h"
#include "delivery/transaction_horizon.h"
#include "delivery/wal_budget.h"
#include "postgres/connection.h"
#include "postgres/partition_watch.h"
#include "postgres/publication_watch.h"

namespace walpost {

// How the guard slot stands, of those that have one (guard_slot.h).
struct GuardReport {
  Lsn confirmed;
  RetainedWal wal;
  bool is_lost = false;
};

// How the server keeps our slot.
struct SlotReport {
  Lsn server_wal_end;
  RetainedWal wal;
  std::string wal_status;
  Lsn confirmed;  // as the server knows it
  std::optional<GuardReport> guard;
  HorizonSample horizon;
  // PublicationWatch, looked at after all the rest; may be empty.
  std::string publication_trouble;
  std::optional<Gap> gap;  // likewise
};

class SideSession {
 public:
  static constexpr std::chrono::seconds kReportInterval{2};

  // The routes outlive this object.
  SideSession(boost::asio::any_io_executor executor,
              const WalSourceOptions& options, const OutboxOptions& outbox,
              const std::vector<Route>& routes,
              std::function<void()> on_server_shutdown,
              std::function<void(const SlotReport&)> on_report);

  // What the setup of the stream found; for PublicationWatch.
  void SetReference(const std::vector<Finding>& findings,
                    const std::string& coverage) {
    publication_.SetReference(findings);
    publication_.SetCoverage(coverage);
  }

  // What the creation of the slot waits for, by whomever; empty while none is
  // created (slot_creation.h).
  const std::string& slot_creation() const { return slot_creation_; }

  // Runs until Stop.
  boost::asio::awaitable<void> Run();
  void Stop();

 private:
  boost::asio::awaitable<absl::Status> Serve();
  boost::asio::awaitable<absl::Status> Report();
  boost::asio::awaitable<absl::Status> LookAtCreation();
  boost::asio::awaitable<absl::Status> LookAtPartitions();

  boost::asio::any_io_executor executor_;
  ServerOptions server_;
  std::string slot_;
  std::function<void()> on_server_shutdown_;
  std::function<void(const SlotReport&)> on_report_;
  std::string slot_creation_;
  PublicationWatch publication_;
  PartitionWatch partitions_;
  std::unique_ptr<Connection> connection_;
  boost::asio::steady_timer retry_timer_;
  Backoff backoff_;
  MonotonicTime reported_at_{};
  bool stopped_ = false;
};

}  // namespace walpost
