// Checkpoint store: keys `checkpoint.*` of docs/configuration.md.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "base/choices.h"

namespace walpost {

struct CheckpointOptions {
  enum class Store {
    kNone,      // the slot alone
    kFile,      // `path`
    kKafka,     // the compacted topic `topic`
    kPostgres,  // the table `table` in the source database
  };
  static constexpr Choices<Store, 4> kStores = {{
      {"none", Store::kNone},
      {"file", Store::kFile},
      {"kafka", Store::kKafka},
      {"postgres", Store::kPostgres},
  }};
  // The stores that keep a checkpoint, for messages.
  static constexpr std::string_view kKeepers = "file, postgres or kafka";

  Store store = Store::kNone;
  std::string path = "walpost.checkpoint";
  std::string topic = "walpost.checkpoint";
  std::string table = "public.walpost_checkpoint";
  // Minimum time between two checkpoints while events flow: after a crash the
  // events of at most this time are sent again. Without events a checkpoint is
  // written at most every 10 s, because one in the source database writes WAL.
  std::chrono::milliseconds interval{200};

  bool has_store() const { return store != Store::kNone; }
  bool is_in_kafka() const { return store == Store::kKafka; }
  bool is_in_source() const { return store == Store::kPostgres; }
};

}  // namespace walpost
