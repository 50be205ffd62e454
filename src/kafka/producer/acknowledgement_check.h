// AcknowledgementCheck: decides whether an acknowledgement of librdkafka can be
// trusted.
//
// An acknowledgement without an offset cannot, because librdkafka has derived
// it from the acknowledgement of a later record. Nor can any later one of the
// same client, because that record may stand before this one in the log. An
// offset that was given before, or fewer partitions than before, means that the
// topic was deleted and created again (OffsetRegressionDetector). The topic of
// a checkpoint may be: the next checkpoint is written there, and no event is
// lost.
//
// One per client.
#pragma once

#include <librdkafka/rdkafka.h>

#include "absl/status/status.h"
#include "kafka/topics/offset_regression_detector.h"

namespace walpost {

// Notes the offset of an acknowledged record. kFailedPrecondition, with the
// reason code of a gap: it was given before.
absl::Status CheckOffset(const rd_kafka_message_t& message,
                         PartitionOffsets& offsets);

class AcknowledgementCheck {
 public:
  // Notes an acknowledged record. kAborted: it may not be written; replace the
  // client. kFailedPrecondition, with the reason code of a gap: records
  // published before are not in Kafka any more.
  absl::Status Check(const rd_kafka_message_t& message);

 private:
  bool is_distrusted_ = false;
};

}  // namespace walpost
