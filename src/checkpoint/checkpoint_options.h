// Checkpoint store: keys `checkpoint.*` of docs/configuration.md.
#pragma once

#include <chrono>
#include <string>

namespace walpost {

struct CheckpointOptions {
  enum class Store {
    kNone,      // the slot alone
    kFile,      // `path`
    kKafka,     // the compacted topic `topic`
    kPostgres,  // the table `table` in the source database
  };
  Store store = Store::kNone;
  std::string path = "walpost.checkpoint";
  std::string topic = "walpost.checkpoint";
  std::string table = "public.walpost_checkpoint";
  // Minimum time between two checkpoints while events flow: the most that is
  // sent again after a crash. Without events at most every 10 s, so that a
  // store in the source database does not feed itself.
  std::chrono::milliseconds interval{200};

  bool has_store() const { return store != Store::kNone; }
};

}  // namespace walpost
