#include "config/delivery_section.h"

#include <algorithm>
#include <string>
#include <vector>

#include "fmt/format.h"

namespace walpost {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

namespace {

constexpr size_t kMaxRecords = size_t{1} << 20;
constexpr size_t kMinBytes = size_t{64} << 10;
constexpr size_t kMaxBytes = size_t{4} << 30;
constexpr size_t kMaxTransactionRecords = 1'000'000'000;
constexpr size_t kMaxTransactionBytes = size_t{1} << 40;

void ReadTransactions(Section& section, TransactionOptions& options) {
  using Boundary = TransactionOptions::Boundary;
  using Oversize = TransactionOptions::Oversize;
  section.ReadChoice<bool>("guarantee", options.is_on,
                           {{"at_least_once", false}, {"exactly_once", true}});
  section.Read("transaction_interval", options.interval, milliseconds(1),
               seconds(10));
  section.Read("transaction_idle", options.idle, milliseconds(0), seconds(10));
  section.Read("transaction_timeout", options.timeout, seconds(30),
               minutes(60));
  section.ReadChoice<Boundary>(
      "transaction_boundary", options.boundary,
      {{"event", Boundary::kEvent}, {"source", Boundary::kSource}});
  section.ReadCount("max_transaction_records", options.max_records, 1,
                    kMaxTransactionRecords);
  section.ReadSize("max_transaction_bytes", options.max_bytes, kMinBytes,
                   kMaxTransactionBytes);
  section.ReadChoice<Oversize>(
      "on_large_transaction", options.oversize,
      {{"split", Oversize::kSplit}, {"stop", Oversize::kStop}});
}

}  // namespace

void ReadDelivery(Section section, Config& config) {
  bool is_auto = config.window.records_per_partition > 0;
  section.ReadCountOrAuto("max_in_flight_records", config.window.max_records,
                          is_auto, 1, kMaxRecords);
  if (!is_auto) config.window.records_per_partition = 0;
  section.ReadSize("max_in_flight_bytes", config.window.max_bytes, kMinBytes,
                   kMaxBytes);
  section.Read("shutdown_timeout", config.shutdown_timeout, milliseconds(0),
               minutes(60));
  section.Read("latency_target", config.postgres.latency_target,
               milliseconds(0), seconds(1));
  ReadTransactions(section, config.transactions);
  section.Done();
}

void CheckExactlyOnce(Section& root, Config& config) {
  if (!config.transactions.is_on) {
    if (config.transactions.boundary == TransactionOptions::Boundary::kSource) {
      root.Fail("delivery",
                "transaction_boundary: source keeps the transactions of "
                "Postgres whole in those of Kafka, and there are none: set "
                "guarantee: exactly_once, or remove it");
    }
    return;
  }
  using Store = CheckpointOptions::Store;
  if (config.source == Source::kPolling) {
    root.Fail("delivery",
              "guarantee: exactly_once needs the WAL: a row that is read from "
              "its table and a Kafka transaction are not committed together. "
              "Set source: wal, or guarantee: at_least_once");
  }
  Store& store = config.checkpoint.store;
  const bool is_chosen = root.Child("checkpoint").Has("store");
  if (is_chosen && store != Store::kKafka) {
    root.Fail("checkpoint",
              "store: with delivery.guarantee: exactly_once, checkpoints are "
              "in the Kafka transactions of their events: remove it, or set it "
              "to kafka");
  }
  store = Store::kKafka;
}

void SetCheckpointTopic(Section& root, Config& config) {
  if (!config.checkpoint.is_in_kafka()) return;
  const std::string& topic = config.checkpoint.topic;
  OutboxOptions& outbox = config.outbox;
  outbox.checkpoint_topic = topic;
  if (!config.keeps_letters() && outbox.dead_letter.topic == topic) {
    root.Fail("dead_letter", fmt::format("topic {} is that of checkpoints, and "
                                         "compacted: dead letters need another",
                                         topic));
  }
  std::vector<std::string> routes{outbox.route.topic, outbox.messages.topic};
  for (const TableOptions& table : EntriesOf(outbox)) {
    routes.push_back(table.topic);
  }
  if (std::ranges::find(routes, topic) != routes.end()) {
    root.Fail("checkpoint",
              fmt::format("topic {} is that of events, and would be compacted: "
                          "checkpoints need another",
                          topic));
  }
}

}  // namespace walpost
