// Connection to Kafka: keys `kafka.*` of docs/configuration.md.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "base/reloadable_text.h"

namespace walpost {

struct ProducerOptions {
  std::string brokers;  // host:port, host:port, ...
  // Passed to librdkafka; they override our defaults. Properties that a
  // guarantee of delivery depends on are rejected (producer_properties.h). Read
  // again for each new client.
  std::vector<std::pair<std::string, ReloadableText>> properties;
  // A program that prints an OAUTHBEARER token, and its arguments
  // (token_refresher.h). Empty: none.
  std::vector<std::string> token_command = {};
  std::string client_id = "walpost";
  // Maximum records in flight: the acknowledgement window.
  size_t max_records = 2'000;
  // Topics that one client sends to. Each has its cost as long as the client
  // lives (docs/limits.md).
  size_t max_topics = 5'000;
  // Topics that do not count in the maximum: those of checkpoints and dead
  // letters.
  std::vector<std::string> own_topics = {};
  // Empty: without transactions.
  std::string transactional_id;
  // The brokers abort a transaction that is open for longer. Their limit:
  // transaction.max.timeout.ms.
  std::chrono::milliseconds transaction_timeout{60'000};
  // SinkOptions::one_at_a_time.
  bool one_at_a_time = false;
  // Topic of the records that say how far transactions have come; empty: none.
  // A producer that takes over waits until no earlier transaction is open
  // there, because the next transaction of the same producer id could commit
  // the aborted one.
  std::string checkpoint_topic = {};
  // The topic that brokers are asked about to see whether they answer, while no
  // record has gone to any. It need not exist; nothing creates it. Empty: as
  // long as a connection is open, it counts as an answer.
  std::string probed_topic = {};
};

}  // namespace walpost
