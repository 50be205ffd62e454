// RedisSink: appends records to Redis Streams (docs/redis.md).
//
//   Produce ──▶ EntryQueues ──rounds──▶ append_entries.lua ──▶ stream
//                                        └── WAIT, WAITAOF ──▶ OnAcknowledged
//
// Order: a batch of a stream ends at its first error, and the next one is not
// sent before its reply. Re-sends: the id of an entry is the place of its
// event, which the server takes once.
//
// RedisWriter does the work; this is what its owner holds.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "base/sha256.h"
#include "delivery/record_sink.h"
#include "loop/credential_digest.h"
#include "redis/options.h"
#include "redis/redis_writer.h"

namespace walpost {

class RedisSink final : public Sink {
 public:
  // The digest of the credentials that a sink created now has.
  static absl::StatusOr<Sha256Digest> DigestOf(const RedisOptions& options) {
    return DigestCredentials(
        {&options.user, &options.password, &options.sentinel_user,
         &options.sentinel_password},
        options.tls);
  }

  // `credentials`: their digest. `tops`, if any, outlives
  // the sink.
  RedisSink(boost::asio::any_io_executor executor, RedisOptions options,
            Sha256Digest credentials, RecordReports& reports,
            std::function<void()> on_drained, StreamTops* tops)
      : options_(options),
        credentials_(credentials),
        writer_(std::make_shared<RedisWriter>(std::move(executor),
                                              std::move(options), reports,
                                              std::move(on_drained), tops)) {
    writer_->Start();
  }
  ~RedisSink() override { writer_->Abandon(); }

  absl::Status Produce(const Record& record, Sequence sequence) override {
    return writer_->Add(record, sequence);
  }
  void Close(MonotonicTime deadline, std::function<void()> closed) override {
    writer_->Close(deadline, std::move(closed));
  }
  SinkHealth Health() override { return writer_->Health(); }
  NamedCounts AcknowledgedByTopic() const override {
    return writer_->Acknowledged();
  }
  SinkCapabilities capabilities() const override {
    return {.max_record_bytes = options_.max_entry_bytes};
  }
  void ExpectCluster(std::string cluster) override {
    writer_->ExpectCluster(std::move(cluster));
  }
  void ExpectTopics() override { writer_->CompareStreams(); }
  bool credentials_have_changed() const override {
    const auto now = DigestOf(options_);
    return now.ok() && *now != credentials_;
  }

 private:
  RedisOptions options_;
  Sha256Digest credentials_;
  std::shared_ptr<RedisWriter> writer_;
};

}  // namespace walpost
