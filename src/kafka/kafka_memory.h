// KafkaMemory: knowledge about the brokers, across several producers.
#pragma once

#include "kafka/offset_watch.h"
#include "kafka/topic_ids.h"

namespace walpost {

struct KafkaMemory {
  OffsetWatch offsets;
  TopicIds topics;

  // Later acknowledgements belong to another Kafka, or to other topics.
  void Forget() {
    offsets.Forget();
    topics.Forget();
  }
};

}  // namespace walpost
