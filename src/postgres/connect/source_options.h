// Options for following the WAL: keys `postgres.*` of docs/configuration.md.
#pragma once

#include <chrono>
#include <string>

#include "base/lsn.h"
#include "checkpoint/replay_options.h"
#include "postgres/connect/server_options.h"

namespace walpost {

struct WalSourceOptions {
  ServerOptions server;
  std::string slot = "walpost";
  std::string publication = "walpost";
  // Create the publication and slot if missing at the first Open. Never later:
  // a slot that disappears while we run is a gap (P9).
  bool create = false;
  // At the first start, publish the rows that the outbox has already, and
  // create the slot.
  bool initial_snapshot = false;
  // Where to begin on a slot that walpost sees for the first time, instead of
  // its position (run --from-lsn); 0/0: its position.
  Lsn from_lsn;
  // Create the slot with FAILOVER (PostgreSQL 17 and newer).
  bool failover = false;
  // For our own connection. Without a message from us, the server asks after
  // half of this time, and disconnects after all of it.
  std::chrono::milliseconds wal_sender_timeout{30'000};
  // Maximum delay of reporting a new confirmed LSN. Shorter means fewer
  // duplicates after a crash; every commit would cost 15 % throughput.
  std::chrono::milliseconds status_interval{200};
  // The longest time that an event waits so that others share its request.
  std::chrono::milliseconds latency_target{5};
  // WAL that the server may keep for the slot before walpost reports at risk;
  // 0: the server's limit (health/wal_budget.h).
  size_t wal_budget_bytes = 0;
  // The guard slot (postgres/slot/replay_window_slot.h).
  ReplayOptions replay;
};

}  // namespace walpost
