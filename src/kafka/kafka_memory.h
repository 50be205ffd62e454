// KafkaMemory: knowledge about the brokers, across several producers.
#pragma once

#include "kafka/hidden_records.h"
#include "kafka/offset_watch.h"
#include "kafka/topic_ids.h"

namespace walpost {

struct KafkaMemory {
  OffsetWatch offsets;
  TopicIds topics;
  HiddenRecords hidden;  // in transactions

  // Later acknowledgements belong to another Kafka, or to other topics.
  void Forget() {
    offsets.Forget();
    topics.Forget();
    hidden.Forget();
  }
};

}  // namespace walpost
