// HangingTransactionGuard: keeps a producer from the topics in which a
// transaction is open that began before it took over.
//
// The take-over has ended the transactions of its predecessor. But brokers lose
// track of one in a partition without a leader (Kafka 4.3), and the next
// transaction of the same producer id with a record there would end it, with
// its own outcome: records that were aborted would be committed, and those that
// were committed might be aborted (P5). Nobody can know whether such a
// transaction is ours, so transactions of other programs are waited for as
// well.
//
//   topic ──▶ ends ──▶ stable ends ──▶ settled
//     ▲      (once)        │ some are open
//     └────────────────────┘
//
// Each topic is asked about before its first record. Never blocks: an answer
// comes through the queue as an event.
//
// Owned by the Producer, whose client and queue outlive it. Callers that may
// block use AwaitEarlierTransactions.
#pragma once

#include <librdkafka/rdkafka.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "base/time.h"
#include "kafka/transactions/open_transaction_offsets.h"

namespace walpost {

class HangingTransactionGuard {
 public:
  // All but `brokers` outlive it. `brokers` is for printed commands.
  HangingTransactionGuard(rd_kafka_t* client, rd_kafka_queue_t* queue,
                          std::string brokers)
      : client_(client), queue_(queue), brokers_(std::move(brokers)) {}

  // kResourceExhausted: not known yet. kUnavailable: a transaction has been
  // open for long, and the message names it and the command that ends it; or
  // the brokers have not answered for long. Asks, and asks again: call it after
  // each answer, and a few times a second.
  absl::Status MayProduce(const std::string& topic, MonotonicTime now);

  // Answers, or none. False: it belongs to another.
  bool OnDescribed(rd_kafka_event_t* event);
  bool OnOffsets(rd_kafka_event_t* event);

 private:
  static constexpr std::chrono::milliseconds kRequestLimit{10'000};
  // Abort markers of fenced transactions appear shortly after InitProducerId.
  // Poll back to back for this long before falling back to kAskAgainAfter.
  static constexpr std::chrono::milliseconds kHurryFor{500};
  static constexpr std::chrono::seconds kAskAgainAfter{1};
  // Longer waits are reported, with the topic's name. Silent brokers would be
  // the reason, and are reported earlier.
  static constexpr std::chrono::seconds kSayAfter{8};

  struct Topic {
    enum class Ask { kTopic, kEnds, kStableEnds, kNothing };

    std::string name;
    MonotonicTime since;
    Ask ask = Ask::kTopic;  // next, or now
    bool is_asking = false;
    MonotonicTime asked_at = {};
    std::string id = {};  // of the topic that has the ends
    int32_t partitions = 0;
    OpenTransactionOffsets ends = {};

    bool is_settled() const { return ask == Ask::kNothing; }
  };

  // nullptr: it belongs to another.
  Topic* TopicOf(rd_kafka_event_t* event);
  void Ask(Topic& topic);
  void AskForTopic(Topic& topic);
  void AskForOffsets(Topic& topic);
  static Topic::Ask NextOf(Topic& topic, rd_kafka_event_t* described);

  rd_kafka_t* client_;
  rd_kafka_queue_t* queue_;
  std::string brokers_;
  // The addresses mark the answers.
  std::map<std::string, std::unique_ptr<Topic>, std::less<>> topics_;
};

// Waits until no earlier transaction is open in `topic`. Blocks, with a queue
// of its own, until `must_return` at the latest (kResourceExhausted).
// kUnavailable: as MayProduce has it.
absl::Status AwaitEarlierTransactions(rd_kafka_t* client,
                                      const std::string& topic,
                                      const std::string& brokers,
                                      const std::function<bool()>& must_return);

}  // namespace walpost
