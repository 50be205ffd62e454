// EncodedEvent: gives an event the key, the value and the headers of its
// record as Debezium makes them. Owned by a mapper, which reuses it.
#pragma once

#include "debezium/row_encoder.h"
#include "outbox/column_json.h"
#include "outbox/event.h"
#include "pgoutput/type_oid.h"

namespace walpost {

class EncodedEvent {
 public:
  // For an encoder to fill.
  debezium::Encoded& parts() { return parts_; }

  // Sets aggregate_id, payload, headers and, if the parts have one, the
  // timestamp. Valid as long as the parts.
  void MoveTo(Event& event) {
    event.aggregate_id = parts_.key;
    event.payload = parts_.value;
    if (parts_.timestamp) event.timestamp = *parts_.timestamp;
    headers_.Begin();
    for (const debezium::Encoded::Header& header : parts_.headers) {
      headers_.Add(header.name, pgoutput::kTextOid, header.value);
    }
    event.headers = headers_.Finish();
  }

 private:
  debezium::Encoded parts_;
  ColumnJson headers_;
};

}  // namespace walpost
