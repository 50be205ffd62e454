// Brokers and topics in librdkafka's statistics.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace walpost {

struct ProducerStatistics {
  // Brokers in state UP.
  size_t brokers_up = 0;
  // Node ids of these brokers, as far as known.
  std::vector<int32_t> nodes_up;
  // True if the client knows no broker, not even a bootstrap server.
  bool is_brokerless = false;
  // True if the client is connected to the coordinator of its transactions, and
  // neither connected nor connecting to any other broker, because it has
  // nothing to send or has dropped them.
  bool has_coordinator_only = false;
  // A topic that records wait for because the brokers know no partition of it:
  // it was deleted, or never created. Empty: none.
  std::string unknown_topic;
};

// Parses the JSON of a statistics event (librdkafka's STATISTICS.md). Empty
// result if it does not parse. Topics, and so unknown_topic, are most of it,
// and stand at its end: without `has_topics` it is read up to them.
ProducerStatistics ParseProducerStatistics(std::string_view json,
                                           bool has_topics);

}  // namespace walpost
