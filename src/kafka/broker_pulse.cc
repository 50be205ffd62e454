#include "kafka/broker_pulse.h"

#include <algorithm>

#include "kafka/handles.h"

namespace walpost {
namespace {

void* OpaqueOf(int32_t node) {
  return reinterpret_cast<void*>(static_cast<intptr_t>(node));
}

}  // namespace

void BrokerPulse::OnStatistics(const ProducerStatistics& statistics,
                               MonotonicTime now, bool cluster_has_id) {
  if (!cluster_has_id) {
    if (statistics.brokers_up > 0) heard_at_ = now;
    return;
  }
  if (statistics.silent_for) {
    heard_at_ = std::max(heard_at_, now - *statistics.silent_for);
  }
  if (now - heard_at_ < kAskAfter) return;
  for (const int32_t node : statistics.nodes_up) {
    if (asked_.size() < kMaxAsked && asked_.insert(node).second) Ask(node);
  }
}

void BrokerPulse::Ask(int32_t node) {
  const KafkaAdminOptions options(
      rd_kafka_AdminOptions_new(client_, RD_KAFKA_ADMIN_OP_DESCRIBECLUSTER));
  char ignored[1];
  rd_kafka_AdminOptions_set_broker(options.get(), node, ignored,
                                   sizeof(ignored));
  rd_kafka_AdminOptions_set_opaque(options.get(), OpaqueOf(node));
  rd_kafka_DescribeCluster(client_, options.get(), queue_);
}

void BrokerPulse::OnAnswer(rd_kafka_event_t* event) {
  asked_.erase(static_cast<int32_t>(
      reinterpret_cast<intptr_t>(rd_kafka_event_opaque(event))));
}

}  // namespace walpost
