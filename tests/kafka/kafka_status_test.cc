#include "kafka/client/kafka_status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/reason_code.h"
#include "kafka/transactions/transaction_status.h"

namespace walpost {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST(KafkaStatusTest, AFatalErrorForWantOfARightSaysWhichOne) {
  const absl::Status refused = StatusFromFatalError(
      RD_KAFKA_RESP_ERR__GAPLESS_GUARANTEE,
      "ProduceRequest for t [0] with 1 message(s) failed: Broker: Topic "
      "authorization failed");
  EXPECT_TRUE(absl::IsAborted(refused));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("grant WRITE"));
  const absl::Status other =
      StatusFromFatalError(RD_KAFKA_RESP_ERR_UNKNOWN_PRODUCER_ID, "fenced");
  EXPECT_TRUE(absl::IsAborted(other));
  EXPECT_THAT(std::string(other.message()), Not(HasSubstr("grant")));
}

TEST(KafkaStatusTest, AnAbortedTransactionTellsWhetherItWasFenced) {
  const absl::Status fenced = StatusFromTransactionLog(
      "[thrd:main]: Fatal transaction error: Failed to add partitions to "
      "transaction: Local: This instance has been fenced by a newer instance "
      "(_FENCED)");
  EXPECT_TRUE(absl::IsAborted(fenced));
  EXPECT_EQ(ReasonCodeOf(fenced), kReasonFenced);
  EXPECT_THAT(std::string(fenced.message()), StartsWith("Fatal transaction"));
  const absl::Status lacks_right = StatusFromTransactionLog(
      "[thrd:main]: Fatal transaction error: Failed to acquire transactional "
      "PID from broker TxnCoordinator/1: Broker: Transactional Id "
      "authorization failed (TRANSACTIONAL_ID_AUTHORIZATION_FAILED)");
  EXPECT_TRUE(absl::IsFailedPrecondition(lacks_right)) << "an attempt counts";
  const absl::Status too_long = StatusFromTransactionLog(
      "[thrd:main]: Fatal transaction error: Failed to acquire transactional "
      "PID from broker TxnCoordinator/1: Broker: Transaction timeout is larger "
      "than the maximum value allowed by the broker's "
      "max.transaction.timeout.ms "
      "(INVALID_TRANSACTION_TIMEOUT)");
  EXPECT_TRUE(absl::IsFailedPrecondition(too_long));
  EXPECT_THAT(std::string(too_long.message()),
              HasSubstr("lower delivery.transaction_timeout"));
  const absl::Status other = StatusFromTransactionLog(
      "Current transaction failed in state InTransaction: ... "
      "(INVALID_TXN_STATE)");
  EXPECT_TRUE(absl::IsAborted(other));
  EXPECT_EQ(ReasonCodeOf(other), "");
}

TEST(KafkaStatusTest, ATransactionThatATopicCannotBePartOfNamesTheTopic) {
  const absl::Status refused = StatusFromAddParts(
      "[thrd:main]: TxnCoordinator/1: Failed to add partition \"orders\" [3] "
      "to transaction: Broker: Topic authorization failed");
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()),
              AllOf(HasSubstr("topic orders "), HasSubstr("grant WRITE")));
  EXPECT_TRUE(StatusFromAddParts("Failed to add partition \"orders\" [3] to "
                                 "transaction: Broker: Operation not attempted")
                  .ok());
}

}  // namespace
}  // namespace walpost
