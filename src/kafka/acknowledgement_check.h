// AcknowledgementCheck: whether an acknowledgement of librdkafka can be
// believed.
//
// It cannot when it names no offset, because librdkafka then concludes it from
// that of a later record; nor can any later one of the same client, because
// that record may stand before this one in the log. And an offset that was
// given before, or fewer partitions than before, mean that the topic was
// deleted and created again (OffsetWatch).
//
// One for each client.
#pragma once

#include <librdkafka/rdkafka.h>

#include "absl/status/status.h"

namespace walpost {

class AcknowledgementCheck {
 public:
  // Notes an acknowledged record. kAborted: it may not be written; replace the
  // client. kFailedPrecondition, with the reason code of a gap: what was
  // published before is not in Kafka any more.
  absl::Status Check(const rd_kafka_message_t& message);

 private:
  bool is_distrusted_ = false;
};

}  // namespace walpost
