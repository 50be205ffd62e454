#include "kafka/producer/broker_liveness.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "kafka/client/admin_request.h"

namespace walpost {
namespace {

// Never null, which is the opaque of others.
constexpr intptr_t kFirstOpaque = 2;

void* OpaqueOf(int32_t node) {
  return reinterpret_cast<void*>(static_cast<intptr_t>(node) + kFirstOpaque);
}

}  // namespace

void BrokerLiveness::OnStatistics(const ProducerStatistics& statistics,
                                  MonotonicTime now) {
  brokers_up_ = statistics.brokers_up;
  nodes_up_ = statistics.nodes_up;
  statistics_at_ = now;
}

void BrokerLiveness::OnTick(MonotonicTime now, const std::string& topic) {
  const std::optional<MonotonicTime> answered_at = answer_->at();
  const bool has_answered_since = answered_at && *answered_at > statistics_at_;
  if (has_answered_since) brokers_up_ = std::max<size_t>(brokers_up_, 1);
  if (brokers_up_ == 0) {
    // Makes an idle client connect again.
    if (!topic.empty() && asked_.insert(kAnyNode).second) Ask(kAnyNode, topic);
    return;
  }
  if (topic.empty()) {
    heard_at_ = now;
    return;
  }
  if (now - heard_at() < kAskAfter) return;
  std::vector<int32_t> nodes = nodes_up_;
  if (nodes.empty()) nodes.push_back(kAnyNode);
  for (const int32_t node : nodes) {
    if (asked_.size() < kMaxAsked && asked_.insert(node).second) {
      Ask(node, topic);
    }
  }
}

void BrokerLiveness::Ask(int32_t node, const std::string& topic) {
  AdminRequest request(client_, queue_);
  if (node != kAnyNode) request.To(node);
  request.Marked(OpaqueOf(node)).DescribeTopics({topic});
}

bool BrokerLiveness::OnAnswer(rd_kafka_event_t* event) {
  const void* opaque = rd_kafka_event_opaque(event);
  if (opaque == nullptr) return false;
  asked_.erase(
      static_cast<int32_t>(reinterpret_cast<intptr_t>(opaque) - kFirstOpaque));
  return true;
}

}  // namespace walpost
