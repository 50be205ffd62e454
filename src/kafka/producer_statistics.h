// What librdkafka's statistics say about brokers and topics.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace walpost {

struct ProducerStatistics {
  // Brokers in state UP.
  size_t brokers_up = 0;
  // Their node ids, as far as they are known.
  std::vector<int32_t> nodes_up;
  // Time since one of them last sent anything; nullopt: none has.
  std::optional<std::chrono::microseconds> silent_for;
  // The client does not know one broker, not even a bootstrap server.
  bool is_brokerless = false;
  // A topic that records wait for because the brokers know no partition of
  // it: it was deleted, or never made. Empty when there is none.
  std::string homeless_topic;
};

// From the JSON of a statistics event (librdkafka's STATISTICS.md). Nothing
// when it does not parse.
ProducerStatistics ParseProducerStatistics(std::string_view json);

}  // namespace walpost
