// The ceiling of the sink: records of the same shape, from no database at all.
//
//   walpost_bench_produce BROKERS TOPIC_PREFIX RECORDS VALUE_BYTES
//
// Topic, key, header `id` and length of the value are those of the drain; at
// most 10,000 records are in flight, enough to fill the batches.

#include <fmt/format.h>

#include <cstdint>
#include <string>

#include "programs/kafka_output.h"

namespace walpost::bench {
namespace {

constexpr int64_t kMaxInFlight = 10'000;
constexpr int64_t kCustomers = 10'000;
constexpr const char* kAggregateTypes[] = {"order", "invoice", "payment",
                                           "shipment"};

void ProduceOnly(const std::string& brokers, const std::string& topic_prefix,
                 int64_t records, size_t value_bytes) {
  KafkaOutput output(brokers);
  std::string key;
  std::string id;
  std::string value;
  Event event;
  for (int64_t n = 0; n < records; ++n) {
    key = fmt::format("customer-{}", n % kCustomers);
    id = fmt::format("00000000-0000-4000-8000-{:012}", n);
    value = fmt::format(R"({{"order": {}, "note": ")", n);
    value.resize(value_bytes - 2, 'x');
    value += "\"}";
    event.topic = topic_prefix + kAggregateTypes[n % 4];
    event.key = key;
    event.id = id;
    event.value = value;
    output.WaitUntilInFlight(kMaxInFlight - 1);
    output.Produce(event);
  }
  output.Flush();
}

}  // namespace
}  // namespace walpost::bench

int main(int count, char** words) {
  if (count != 5) {
    walpost::bench::Fail(
        "usage: walpost_bench_produce BROKERS TOPIC_PREFIX RECORDS "
        "VALUE_BYTES");
  }
  walpost::bench::ProduceOnly(words[1], words[2], std::stoll(words[3]),
                              std::stoull(words[4]));
}
