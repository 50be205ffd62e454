// Handles of librdkafka that destroy their objects.
#pragma once

#include <librdkafka/rdkafka.h>

#include <memory>

#include "loop/blocking_call.h"

namespace walpost {

// Calls a C destroy function for the object of a unique_ptr.
template <auto Function>
struct CallOnDestroy {
  template <typename T>
  void operator()(T* object) const {
    Function(object);
  }
};
template <typename T, auto Function>
using KafkaHandle = std::unique_ptr<T, CallOnDestroy<Function>>;

// Destroys the client on a separate thread: rd_kafka_destroy waits for the
// client's threads, and those for name servers.
struct DestroyKafkaClient {
  void operator()(rd_kafka_t* client) const {
    const auto destroy = [client] { rd_kafka_destroy(client); };
    if (!RunOnThread(destroy).ok()) destroy();
  }
};
using KafkaClient = std::unique_ptr<rd_kafka_t, DestroyKafkaClient>;

using KafkaConf = KafkaHandle<rd_kafka_conf_t, rd_kafka_conf_destroy>;
using KafkaQueue = KafkaHandle<rd_kafka_queue_t, rd_kafka_queue_destroy>;
using KafkaEvent = KafkaHandle<rd_kafka_event_t, rd_kafka_event_destroy>;
using KafkaTopic = KafkaHandle<rd_kafka_topic_t, rd_kafka_topic_destroy>;
using KafkaMessage = KafkaHandle<rd_kafka_message_t, rd_kafka_message_destroy>;
using KafkaNewTopic =
    KafkaHandle<rd_kafka_NewTopic_t, rd_kafka_NewTopic_destroy>;
using KafkaAdminOptions =
    KafkaHandle<rd_kafka_AdminOptions_t, rd_kafka_AdminOptions_destroy>;

}  // namespace walpost
