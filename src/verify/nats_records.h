// NatsRecords: the messages that streams of JetStream have, as docs/nats.md
// lays them out. The subject is the topic.
#pragma once

#include <nats/nats.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "rapidjson/document.h"
#include "verify/published_records.h"

namespace walpost {

class NatsRecords final : public PublishedRecords {
 public:
  // Takes over a connection with walpost's login: verify has no code of nats/
  // for it. `domain`: of JetStream; may be empty.
  NatsRecords(natsConnection* connection, const std::string& domain);

  std::string_view name() const override { return "NATS"; }
  // A subject of `names` exists if a stream takes it.
  absl::StatusOr<std::set<std::string>> FindTopics(
      const std::set<std::string>& names,
      const std::set<std::string>& prefixes) override;
  // kFailedPrecondition: a stream drops what its consumers have acknowledged
  // (`retention`).
  absl::Status Read(
      const std::set<std::string>& topics,
      const std::function<absl::Status(FoundRecord&)>& take) override;
  int64_t total() const override { return total_; }
  // Messages that limits or people have deleted. A stream that was deleted and
  // made again counts from the beginning: its rows are missing.
  absl::StatusOr<DeletedRecords> AddDeletedRecords(
      const std::set<std::string>& topics, AuditDatabase& audit) override;

 private:
  struct Stream {
    uint64_t first = 0;  // sequences
    uint64_t last = 0;
    uint64_t messages = 0;
    uint64_t deleted = 0;  // between them
    std::string retention;
    std::set<std::string> subjects;  // of its messages
  };
  struct DestroyConnection {
    void operator()(natsConnection* connection) const {
      natsConnection_Destroy(connection);
    }
  };
  using Connection = std::unique_ptr<natsConnection, DestroyConnection>;
  using Take = std::function<absl::Status(FoundRecord&)>;

  // The answer of JetStream, which is not an error. kNotFound: no such stream.
  absl::StatusOr<rapidjson::Document> Ask(const std::string& request,
                                          const std::string& body);
  absl::StatusOr<std::set<std::string>> NamesOfStreams(
      const std::string& subjects);
  absl::StatusOr<Stream> Look(const std::string& name);
  // The name of one that reads it from the beginning, and vanishes by itself.
  absl::StatusOr<std::string> MakeConsumer(const std::string& stream);
  absl::Status ReadStream(const std::string& name, const Stream& stream,
                          const std::set<std::string>& topics,
                          const Take& take);
  // The sequence of the last message that came, also behind `end`, which is the
  // last one to be shown; 0: none came.
  absl::StatusOr<uint64_t> ReadPortion(natsSubscription* subscription,
                                       const std::string& name, uint64_t end,
                                       const std::set<std::string>& topics,
                                       const Take& take);

  Connection connection_;
  std::string api_;                        // "$JS.API."
  std::map<std::string, Stream> streams_;  // by name
  // topic -> names of its streams: each is a partition of it, in this order.
  std::map<std::string, std::set<std::string>> holders_;
  int64_t total_ = 0;
};

// The value of a header, which docs/nats.md lays out for what a line cannot
// carry: "=?UTF-8?B?<base64>?=" and "=?binary?B?<base64>?=" are the bytes they
// stand for; any other text is itself.
std::string NatsHeaderValue(std::string_view text);

// A subject with wildcards that takes every subject which begins with `prefix`,
// and perhaps others: "events.>" of "events.ord".
std::string SubjectsOfPrefix(std::string_view prefix);

}  // namespace walpost
