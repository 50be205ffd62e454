// How to reach Kafka: keys `kafka.*` of docs/configuration.md.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "base/reloadable_text.h"

namespace walpost {

struct ProducerOptions {
  std::string brokers;  // host:port, host:port, ...
  // Straight to librdkafka, over our defaults. Those that the promises of
  // delivery depend on are refused (producer_properties.h). Read again for each
  // new client.
  std::vector<std::pair<std::string, ReloadableText>> properties;
  std::string client_id = "walpost";
  // Most records that are ever in flight: the acknowledgement window.
  size_t max_records = 2'000;
};

}  // namespace walpost
