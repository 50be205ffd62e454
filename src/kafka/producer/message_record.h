// MessageRecord: a consumed message as a Record.
#pragma once

#include <librdkafka/rdkafka.h>

#include <chrono>
#include <string_view>
#include <vector>

#include "outbox/record.h"

namespace walpost {

// A view, valid as long as the message.
class MessageRecord {
 public:
  explicit MessageRecord(const rd_kafka_message_t& message) {
    record_.topic = rd_kafka_topic_name(message.rkt);
    record_.key = View(message.key, message.key_len);
    record_.value = View(message.payload, message.len);
    rd_kafka_timestamp_type_t type = RD_KAFKA_TIMESTAMP_NOT_AVAILABLE;
    const int64_t millis = rd_kafka_message_timestamp(&message, &type);
    record_.timestamp = WallTime(std::chrono::milliseconds(millis));
    TakeHeaders(message);
    record_.headers = headers_;
  }
  MessageRecord(const MessageRecord&) = delete;
  MessageRecord& operator=(const MessageRecord&) = delete;

  const Record& record() const { return record_; }

 private:
  static Value View(const void* bytes, size_t size) {
    if (bytes == nullptr) return std::nullopt;
    return std::string_view(static_cast<const char*>(bytes), size);
  }

  void TakeHeaders(const rd_kafka_message_t& message) {
    rd_kafka_headers_t* list = nullptr;
    if (rd_kafka_message_headers(&message, &list) !=
        RD_KAFKA_RESP_ERR_NO_ERROR) {
      return;  // it has none
    }
    const char* name = nullptr;
    const void* value = nullptr;
    size_t size = 0;
    for (size_t i = 0; rd_kafka_header_get_all(list, i, &name, &value, &size) ==
                       RD_KAFKA_RESP_ERR_NO_ERROR;
         ++i) {
      headers_.push_back({name, View(value, size)});
    }
  }

  std::vector<RecordHeader> headers_;
  Record record_;
};

}  // namespace walpost
