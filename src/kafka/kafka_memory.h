// KafkaMemory: what the brokers have said, over the lives of several producers.
#pragma once

#include "kafka/offset_watch.h"
#include "kafka/topic_ids.h"

namespace walpost {

struct KafkaMemory {
  OffsetWatch offsets;
  TopicIds topics;

  // What is acknowledged from now on is of another Kafka, or in other topics.
  void Forget() {
    offsets.Forget();
    topics.Forget();
  }
};

}  // namespace walpost
