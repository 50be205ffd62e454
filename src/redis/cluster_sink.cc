#include "redis/cluster_sink.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "fmt/format.h"
#include "redis/cluster_slots.h"
#include "redis/redis_sink.h"

namespace walpost {
namespace {

// A server answers a probe each second.
constexpr std::chrono::seconds kSilentAfter{3};

// Adds what one of the writers knows.
void AddHealth(SinkHealth one, SinkHealth& all) {
  all.heard_at = std::max(all.heard_at, one.heard_at);
  if (all.trouble.empty()) all.trouble = std::move(one.trouble);
  all.rejects_credentials |= one.rejects_credentials;
  if (all.missing_topic.empty()) {
    all.missing_topic = std::move(one.missing_topic);
  }
  all.is_comparing |= one.is_comparing;
  if (all.cluster_id.empty()) all.cluster_id = std::move(one.cluster_id);
}

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
  lookout_ = StartWriter(std::nullopt);
  ExpectTopics();
}

ClusterSink::~ClusterSink() {
  for (RedisWriter* const writer : AllWriters()) writer->Abandon();
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
  return writers_.emplace(slot, StartWriter(slot)).first->second.get();
}

std::shared_ptr<RedisWriter> ClusterSink::StartWriter(
    std::optional<uint16_t> slot) {
  auto writer = std::make_shared<RedisWriter>(
      executor_, options_, static_cast<RecordReports&>(*this), on_drained_,
      &tops_, RedisWriter::Part{slot, acknowledged_, causes_});
  writer->ExpectCluster(expected_cluster_);
  writer->Start();
  return writer;
}

std::vector<RedisWriter*> ClusterSink::AllWriters() const {
  std::vector<RedisWriter*> all = {lookout_.get()};
  for (const auto& [slot, writer] : writers_) all.push_back(writer.get());
  return all;
}

bool ClusterSink::CloseOne() {
  auto idle = std::ranges::find_if(writers_, [](const auto& entry) {
    return entry.second->is_idle() && entry.second->awaiting_stream().empty();
  });
  if (idle == writers_.end()) {
    idle = std::ranges::find_if(
        writers_, [](const auto& entry) { return entry.second->is_idle(); });
  }
  if (idle == writers_.end()) return false;
  idle->second->Abandon();
  writers_.erase(idle);
  return true;
}

void ClusterSink::Close(MonotonicTime deadline, std::function<void()> closed) {
  const std::vector<RedisWriter*> writers = AllWriters();
  auto open = std::make_shared<size_t>(writers.size());
  for (RedisWriter* const writer : writers) {
    writer->Close(deadline, [open, closed] {
      if (--*open == 0) closed();
    });
  }
}

SinkHealth ClusterSink::Health() {
  SinkHealth reached;
  SinkHealth unreached;
  std::set<std::string_view> servers;
  for (RedisWriter* const writer : AllWriters()) {
    SinkHealth one = writer->Health();
    const bool is_up = one.brokers_up > 0;
    // It compares before its first record, whenever it is reached.
    if (!is_up && !one.trouble.empty()) one.is_comparing = false;
    if (is_up) servers.insert(writer->server());
    AddHealth(std::move(one), is_up ? reached : unreached);
  }
  SinkHealth all = std::move(servers.empty() ? unreached : reached);
  all.is_comparing = reached.is_comparing || unreached.is_comparing;
  all.brokers_up = servers.size();
  AddSilent(all);
  AddWaiting(all);
  return all;
}

void ClusterSink::AddSilent(SinkHealth& all) const {
  using std::chrono::duration_cast;
  using std::chrono::seconds;
  for (const auto& [slot, writer] : writers_) {
    if (!all.trouble.empty()) return;
    const SinkHealth one = writer->Health();
    const MonotonicTime::duration behind = all.heard_at - one.heard_at;
    if (one.brokers_up == 0 || writer->is_idle() || behind < kSilentAfter) {
      continue;
    }
    all.trouble =
        fmt::format("{} has answered nothing for {} s, and others do",
                    writer->server(), duration_cast<seconds>(behind).count());
  }
}

void ClusterSink::AddWaiting(SinkHealth& all) const {
  bool is_first = true;
  for (const auto& [slot, writer] : writers_) {
    const std::string& stream = writer->awaiting_stream();
    if (stream.empty()) continue;
    const SinkHealth one = writer->Health();
    all.heard_at = std::min(all.heard_at, one.heard_at);
    all.rejects_credentials |= one.rejects_credentials;
    if (!std::exchange(is_first, false)) continue;
    all.trouble = fmt::format(
        "stream {} waits for hash slot {}: {}", stream, slot,
        one.trouble.empty() ? writer->server() + " has not answered yet"
                            : one.trouble);
  }
}

void ClusterSink::ExpectCluster(std::string cluster) {
  expected_cluster_ = std::move(cluster);
  for (RedisWriter* const writer : AllWriters()) {
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
