// The numbers of delivery/error_policy.cc against the names of librdkafka,
// which that pure folder does not know. The errors of Postgres, whose codes
// are texts, are in tests/delivery.
#include <gtest/gtest.h>
#include <librdkafka/rdkafka.h>

#include <set>

#include "delivery/error_policy.h"

namespace walpost {
namespace {

using absl::StatusCode;

struct Row {
  rd_kafka_resp_err_t code;
  StatusCode remedy;
};

constexpr StatusCode kRetry = StatusCode::kUnavailable;
constexpr StatusCode kReplaceProducer = StatusCode::kAborted;
constexpr StatusCode kUndeliverable = StatusCode::kInvalidArgument;
constexpr StatusCode kOperator = StatusCode::kFailedPrecondition;

constexpr Row kRows[] = {
    {RD_KAFKA_RESP_ERR__QUEUE_FULL, StatusCode::kResourceExhausted},

    {RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC, kRetry},
    {RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION, kRetry},
    {RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, kRetry},
    {RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, kRetry},
    {RD_KAFKA_RESP_ERR__TRANSPORT, kRetry},
    {RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN, kRetry},
    {RD_KAFKA_RESP_ERR__RESOLVE, kRetry},
    {RD_KAFKA_RESP_ERR__TIMED_OUT, kRetry},
    {RD_KAFKA_RESP_ERR__SSL, kRetry},

    {RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE, kUndeliverable},
    {RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE, kUndeliverable},
    {RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION, kUndeliverable},
    {RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP, kUndeliverable},
    {RD_KAFKA_RESP_ERR_POLICY_VIOLATION, kUndeliverable},
    {RD_KAFKA_RESP_ERR_INVALID_RECORD, kUndeliverable},

    {RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED, kOperator},
    {RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED, kOperator},
    {RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED, kOperator},
    {RD_KAFKA_RESP_ERR__AUTHENTICATION, kOperator},
    {RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE, kOperator},
    {RD_KAFKA_RESP_ERR_UNSUPPORTED_VERSION, kOperator},
    {RD_KAFKA_RESP_ERR_UNSUPPORTED_FOR_MESSAGE_FORMAT, kOperator},
    {RD_KAFKA_RESP_ERR_UNSUPPORTED_COMPRESSION_TYPE, kOperator},
    {RD_KAFKA_RESP_ERR_INVALID_REQUIRED_ACKS, kOperator},
    {RD_KAFKA_RESP_ERR__FENCED, kOperator},

    {RD_KAFKA_RESP_ERR__FATAL, kReplaceProducer},
    {RD_KAFKA_RESP_ERR__GAPLESS_GUARANTEE, kReplaceProducer},
    {RD_KAFKA_RESP_ERR__INCONSISTENT, kReplaceProducer},
    {RD_KAFKA_RESP_ERR__PURGE_QUEUE, kReplaceProducer},
    {RD_KAFKA_RESP_ERR__PURGE_INFLIGHT, kReplaceProducer},
    {RD_KAFKA_RESP_ERR__DESTROY, kReplaceProducer},
    {RD_KAFKA_RESP_ERR__MSG_TIMED_OUT, kReplaceProducer},
    {RD_KAFKA_RESP_ERR_UNKNOWN, kReplaceProducer},
    {RD_KAFKA_RESP_ERR_INVALID_MSG, kReplaceProducer},
    {RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION, kReplaceProducer},
    {RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT, kReplaceProducer},
    {RD_KAFKA_RESP_ERR_NETWORK_EXCEPTION, kReplaceProducer},
    {RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS, kReplaceProducer},
    {RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS_AFTER_APPEND, kReplaceProducer},
    {RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER, kReplaceProducer},
    {RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH, kReplaceProducer},
    {RD_KAFKA_RESP_ERR_INVALID_TXN_STATE, kReplaceProducer},
    {RD_KAFKA_RESP_ERR_KAFKA_STORAGE_ERROR, kReplaceProducer},
    {RD_KAFKA_RESP_ERR_UNKNOWN_PRODUCER_ID, kReplaceProducer},
    {RD_KAFKA_RESP_ERR_FENCED_LEADER_EPOCH, kReplaceProducer},
    {RD_KAFKA_RESP_ERR_UNKNOWN_LEADER_EPOCH, kReplaceProducer},
    {RD_KAFKA_RESP_ERR_THROTTLING_QUOTA_EXCEEDED, kReplaceProducer},
};

// An error that the table does not have; tests/delivery holds what it says.
std::string_view UnknownHint() { return ClassifyKafkaError(-100'000).hint; }

TEST(KafkaErrorPolicyTest, EveryErrorHasItsRemedy) {
  for (const Row& row : kRows) {
    const ErrorRule rule = ClassifyKafkaError(row.code);
    EXPECT_EQ(rule.remedy, row.remedy) << rd_kafka_err2name(row.code);
    EXPECT_NE(rule.hint, UnknownHint()) << rd_kafka_err2name(row.code);
  }
}

// So this table has every row of the other, and no number means another name.
TEST(KafkaErrorPolicyTest, EveryOtherErrorMeansStop) {
  std::set<int> known;
  for (const Row& row : kRows) known.insert(row.code);
  const rd_kafka_err_desc* errors = nullptr;
  size_t count = 0;
  rd_kafka_get_err_descs(&errors, &count);
  EXPECT_GT(count, 100u);
  for (size_t i = 0; i < count; ++i) {
    if (errors[i].name == nullptr || known.contains(errors[i].code)) continue;
    const ErrorRule rule = ClassifyKafkaError(errors[i].code);
    EXPECT_EQ(rule.remedy, kOperator) << errors[i].name;
    EXPECT_EQ(rule.hint, UnknownHint()) << errors[i].name;
  }
}

TEST(KafkaErrorPolicyTest, NumbersThatLibrdkafkaDoesNotKnowMeanStop) {
  for (int code = -250; code < 1'000; ++code) {
    const auto error = static_cast<rd_kafka_resp_err_t>(code);
    const std::string_view text = rd_kafka_err2str(error);
    if (!text.starts_with("Err-")) continue;
    EXPECT_EQ(ClassifyKafkaError(code).remedy, kOperator) << code;
  }
}

}  // namespace
}  // namespace walpost
