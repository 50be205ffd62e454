#include "redis/cluster_sink.h"

#include <algorithm>
#include <set>
#include <utility>

#include "redis/cluster_slots.h"
#include "redis/redis_sink.h"

namespace walpost {
namespace {

// Its writer shows whether the cluster is there, before there is any record.
constexpr uint16_t kFirstSlot = 0;

}  // namespace

ClusterSink::ClusterSink(boost::asio::any_io_executor executor,
                         RedisOptions options, Sha256Digest credentials,
                         RecordReports& reports,
                         std::function<void()> on_drained, StreamTops* tops)
    : executor_(std::move(executor)),
      options_(std::move(options)),
      credentials_(credentials),
      reports_(reports),
      on_drained_(std::move(on_drained)),
      tops_(tops == nullptr ? own_tops_ : *tops) {
  WriterOf(kFirstSlot);
  ExpectTopics();
}

ClusterSink::~ClusterSink() {
  for (const auto& [slot, writer] : writers_) writer->Abandon();
}

absl::Status ClusterSink::Produce(const Record& record, Sequence sequence) {
  RedisWriter* const writer = WriterOf(HashSlotOf(record.topic));
  if (writer == nullptr) {
    return absl::ResourceExhaustedError("too many hash slots at a time");
  }
  return writer->Add(record, sequence);
}

RedisWriter* ClusterSink::WriterOf(uint16_t slot) {
  const auto found = writers_.find(slot);
  if (found != writers_.end()) return found->second.get();
  if (writers_.size() >= kMaxWriters && !CloseOne()) return nullptr;
  auto writer = std::make_shared<RedisWriter>(
      executor_, options_, static_cast<RecordReports&>(*this), on_drained_,
      &tops_, RedisWriter::Part{slot, acknowledged_});
  writer->ExpectCluster(expected_cluster_);
  writer->Start();
  return writers_.emplace(slot, std::move(writer)).first->second.get();
}

bool ClusterSink::CloseOne() {
  const auto idle = std::ranges::find_if(writers_, [](const auto& entry) {
    return entry.first != kFirstSlot && entry.second->is_idle();
  });
  if (idle == writers_.end()) return false;
  idle->second->Abandon();
  writers_.erase(idle);
  return true;
}

void ClusterSink::Close(MonotonicTime deadline, std::function<void()> closed) {
  auto open = std::make_shared<size_t>(writers_.size());
  for (const auto& [slot, writer] : writers_) {
    writer->Close(deadline, [open, closed] {
      if (--*open == 0) closed();
    });
  }
}

SinkHealth ClusterSink::Health() {
  SinkHealth all;
  std::set<std::string_view> servers;
  for (const auto& [slot, writer] : writers_) {
    SinkHealth one = writer->Health();
    if (one.brokers_up > 0) servers.insert(writer->server());
    all.heard_at = std::max(all.heard_at, one.heard_at);
    if (all.trouble.empty()) all.trouble = std::move(one.trouble);
    all.rejects_credentials |= one.rejects_credentials;
    if (all.missing_topic.empty()) {
      all.missing_topic = std::move(one.missing_topic);
    }
    all.is_comparing |= one.is_comparing;
    if (all.cluster_id.empty()) all.cluster_id = std::move(one.cluster_id);
  }
  all.brokers_up = servers.size();
  return all;
}

void ClusterSink::ExpectCluster(std::string cluster) {
  expected_cluster_ = std::move(cluster);
  for (const auto& [slot, writer] : writers_) {
    writer->ExpectCluster(expected_cluster_);
  }
}

void ClusterSink::ExpectTopics() {
  for (const std::string& stream : tops_.Streams()) {
    WriterOf(HashSlotOf(stream));
  }
  for (const auto& [slot, writer] : writers_) writer->CompareStreams();
}

bool ClusterSink::credentials_have_changed() const {
  const auto now = RedisSink::DigestOf(options_);
  return now.ok() && *now != credentials_;
}

void ClusterSink::OnSinkFailed(const absl::Status& error) {
  if (std::exchange(has_failed_, true)) return;
  reports_.OnSinkFailed(error);
}

}  // namespace walpost
