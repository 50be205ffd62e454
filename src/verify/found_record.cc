#include "verify/found_record.h"

#include <optional>
#include <string>

#include "fmt/format.h"
#include "outbox/claim_check.h"

namespace walpost {
namespace {

std::optional<std::string> Header(const rd_kafka_message_t& message,
                                  const char* name, Which which) {
  rd_kafka_headers_t* headers = nullptr;
  if (rd_kafka_message_headers(&message, &headers) !=
      RD_KAFKA_RESP_ERR_NO_ERROR) {
    return std::nullopt;
  }
  const void* value = nullptr;
  size_t size = 0;
  const rd_kafka_resp_err_t found =
      which == Which::kFirst
          ? rd_kafka_header_get(headers, 0, name, &value, &size)
          : rd_kafka_header_get_last(headers, name, &value, &size);
  if (found != RD_KAFKA_RESP_ERR_NO_ERROR || value == nullptr) {
    return std::nullopt;
  }
  return std::string(static_cast<const char*>(value), size);
}

// walpost has sent it beside the flow, on somebody's command.
bool IsReplayed(HeaderOf header) {
  for (const char* name :
       {"walpost-replay", "walpost-recovered", "walpost-retried"}) {
    if (header(name, Which::kLast)) return true;
  }
  return false;
}

// The run of `recover` or of the snapshot that published the record.
std::string Repair(HeaderOf header) {
  for (const char* name : {"walpost-recovered", "walpost-snapshot"}) {
    const auto value = header(name, Which::kLast);
    if (value) return fmt::format("{} {}", name, *value);
  }
  return "";
}

}  // namespace

void ReadHeaders(HeaderOf header, FoundRecord& record) {
  record.id = header("id", Which::kFirst);
  record.position = header("walpost-position", Which::kLast);
  record.repair = Repair(header);
  const auto claim = header("walpost-claim-check", Which::kLast);
  const auto check = ParseClaimCheck(claim.value_or(""));
  if (check.ok()) record.claimed = check->sha256;
  record.is_dead_letter =
      header("walpost-dead-letter", Which::kLast).has_value();
  record.decision = header("walpost-decision", Which::kLast);
  record.is_replayed = IsReplayed(header);
}

FoundRecord ToFoundRecord(const rd_kafka_message_t& message) {
  FoundRecord record;
  record.topic = rd_kafka_topic_name(message.rkt);
  record.partition = message.partition;
  record.offset = message.offset;
  if (message.key != nullptr) {
    record.key.emplace(static_cast<const char*>(message.key), message.key_len);
  }
  if (message.payload != nullptr) {
    record.value.emplace(static_cast<const char*>(message.payload),
                         message.len);
  }
  const auto header = [&message](const char* name, Which which) {
    return Header(message, name, which);
  };
  ReadHeaders(header, record);
  return record;
}

ComparedRecord ToComparedRecord(const rd_kafka_message_t& message) {
  const auto own = [](const void* bytes, size_t size) {
    return bytes == nullptr
               ? std::nullopt
               : std::optional<std::string>(
                     std::in_place, static_cast<const char*>(bytes), size);
  };
  ComparedRecord record;
  record.topic = rd_kafka_topic_name(message.rkt);
  record.partition = message.partition;
  record.key = own(message.key, message.key_len);
  record.value = own(message.payload, message.len);
  rd_kafka_timestamp_type_t type{};
  record.timestamp = rd_kafka_message_timestamp(&message, &type);
  rd_kafka_headers_t* headers = nullptr;
  if (rd_kafka_message_headers(&message, &headers) !=
      RD_KAFKA_RESP_ERR_NO_ERROR) {
    return record;
  }
  const char* name = nullptr;
  const void* value = nullptr;
  size_t size = 0;
  for (size_t i = 0;
       rd_kafka_header_get_all(headers, i, &name, &value, &size) ==
       RD_KAFKA_RESP_ERR_NO_ERROR;
       ++i) {
    record.headers.emplace_back(name, own(value, size));
  }
  return record;
}

}  // namespace walpost
