#include "kafka/client/kafka_status.h"

#include <string>

#include "base/reason_code.h"
#include "delivery/error_policy.h"
#include "fmt/format.h"

namespace walpost {

absl::Status StatusFromKafka(rd_kafka_resp_err_t code,
                             std::string_view attempted) {
  const ErrorRule rule = ClassifyKafkaError(code);
  std::string text =
      fmt::format("{}: {} ({})", attempted, rd_kafka_err2str(code),
                  rd_kafka_err2name(code));
  if (!rule.hint.empty()) text += fmt::format("; {}", rule.hint);
  const absl::Status status(rule.remedy, text);
  if (rule.reason_code.empty()) return status;
  return WithReasonCode(status, rule.reason_code);
}

absl::Status StatusFromFatalError(rd_kafka_resp_err_t code,
                                  std::string_view text) {
  // Brokers give a producer id to every user that may write to any topic.
  const bool lacks_right =
      text.find("authorization failed") != std::string_view::npos;
  return absl::AbortedError(
      fmt::format("Kafka producer: {} ({}){}", text, rd_kafka_err2name(code),
                  lacks_right ? "; grant WRITE on the topics: walpost check -c "
                                "FILE prints the command"
                              : ""));
}

}  // namespace walpost
