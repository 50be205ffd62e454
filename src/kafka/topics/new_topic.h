// A topic that is to be created, as librdkafka takes it.
#pragma once

#include <string>

#include "kafka/client/handles.h"
#include "outbox/topic_creation.h"

namespace walpost {

// nullptr: librdkafka rejects the name or a number, and `reason` says why.
KafkaNewTopic MakeNewTopic(const std::string& topic,
                           const TopicCreation& creation, std::string& reason);

}  // namespace walpost
