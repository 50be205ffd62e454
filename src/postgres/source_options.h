// How to follow the WAL: keys `postgres.*` of docs/configuration.md.
#pragma once

#include <chrono>
#include <string>

#include "base/lsn.h"
#include "delivery/replay_options.h"
#include "postgres/server_options.h"

namespace walpost {

struct WalSourceOptions {
  ServerOptions server;
  std::string slot = "walpost";
  std::string publication = "walpost";
  // Make publication and slot when they are missing at the first Open. Never
  // later: a slot that vanishes while we run is a gap (P9).
  bool create = false;
  // At the first start publish the rows that the outbox has already, then make
  // the slot.
  bool initial_snapshot = false;
  // Where to begin on a slot that walpost sees for the first time, instead of
  // where it stands (run --from-lsn); 0/0: there.
  Lsn from_lsn;
  // Create the slot with FAILOVER (PostgreSQL 17 and newer).
  bool failover = false;
  // Of our own connection. Half of it without a word from us and the server
  // asks; all of it and the server hangs up.
  std::chrono::milliseconds wal_sender_timeout{30'000};
  // Most time between a new confirmed LSN and telling Postgres. Shorter means
  // fewer duplicates after a crash; every commit would cost 15 % throughput.
  std::chrono::milliseconds status_interval{200};
  // WAL that the server may keep for the slot before walpost calls itself at
  // risk; 0: as the server limits it (delivery/wal_budget.h).
  size_t wal_budget_bytes = 0;
  // The guard slot (postgres/guard_slot.h).
  ReplayOptions replay;
};

}  // namespace walpost
