// ClusterSink: a sink of a Redis Cluster: one RedisWriter for each hash slot
// that has streams, as each finds the node of its slot by itself.
//
//   Produce ──▶ slot of the stream ──▶ RedisWriter ──▶ the slot's master
//
// Streams with the same hash tag share a writer, and so a connection. Of more
// than kMaxWriters slots, those without records are closed.
//
// One more writer has no streams: it keeps a connection to any master that
// answers, which shows that the cluster is there before there is a record.
//
// Health is that of the cluster while no record waits for a server; then it is
// that of the server which the record waits for.
//
// If a writer fails, the sink has failed: nothing else is decided here.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/sha256.h"
#include "delivery/record_sink.h"
#include "redis/options.h"
#include "redis/redis_writer.h"

namespace walpost {

class ClusterSink final : public Sink, private RecordReports {
 public:
  static constexpr size_t kMaxWriters = 255;

  // `credentials`: their digest. `tops`, if any, outlives the sink.
  ClusterSink(boost::asio::any_io_executor executor, RedisOptions options,
              Sha256Digest credentials, RecordReports& reports,
              std::function<void()> on_drained, StreamTops* tops);
  ~ClusterSink() override;

  absl::Status Produce(const Record& record, Sequence sequence) override;
  void Close(MonotonicTime deadline, std::function<void()> closed) override;
  SinkHealth Health() override;
  NamedCounts AcknowledgedByTopic() const override {
    return acknowledged_->counts();
  }
  SinkCapabilities capabilities() const override {
    return {.max_record_bytes = options_.max_entry_bytes};
  }
  void ExpectCluster(std::string cluster) override;
  void ExpectTopics() override;
  bool credentials_have_changed() const override;

 private:
  // The writers report here.
  void OnAcknowledged(Sequence sequence, WallTime now) override {
    reports_.OnAcknowledged(sequence, now);
  }
  void OnNotDelivered(Sequence sequence, const absl::Status& error) override {
    reports_.OnNotDelivered(sequence, error);
  }
  void OnCapacity() override { reports_.OnCapacity(); }
  void OnSinkFailed(const absl::Status& error) override;

  std::shared_ptr<RedisWriter> StartWriter(std::optional<uint16_t> slot);
  // With `lookout_`.
  std::vector<RedisWriter*> AllWriters() const;
  // Names a server that does not answer for records in flight, while others
  // answer.
  void AddSilent(SinkHealth& all) const;
  // What is known of the servers that records wait for.
  void AddWaiting(SinkHealth& all) const;
  // nullptr: there are too many, and all of them have records.
  RedisWriter* WriterOf(uint16_t slot);
  // Closes one that is idle; false: none is.
  bool CloseOne();

  boost::asio::any_io_executor executor_;
  const RedisOptions options_;
  const Sha256Digest credentials_;
  RecordReports& reports_;
  std::function<void()> on_drained_;
  StreamTops own_tops_;
  StreamTops& tops_;
  std::map<uint16_t, std::shared_ptr<RedisWriter>> writers_;
  std::shared_ptr<RedisWriter> lookout_;  // has no streams
  // By stream, in the order in which they came up, whoever writes them.
  std::shared_ptr<NamedCounter> acknowledged_ =
      std::make_shared<NamedCounter>();
  std::shared_ptr<CauseLog> causes_ = std::make_shared<CauseLog>();
  std::string expected_cluster_;
  bool has_failed_ = false;
};

}  // namespace walpost
