#include "kafka/checks/transactions_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kafka/checks/transactions_probe.h"

namespace walpost {
namespace {

using ::testing::HasSubstr;
using Probe = ProbedId::Probe;

const KafkaUser kUser{"b:9092", "relay"};

std::map<std::string, std::string> Settings(std::string timeout,
                                            std::string replicas,
                                            std::string min_isr) {
  return {{"transaction.max.timeout.ms", std::move(timeout)},
          {"transaction.state.log.replication.factor", std::move(replicas)},
          {"transaction.state.log.min.isr", std::move(min_isr)}};
}

TransactionFacts Fit() {
  TransactionFacts facts;
  facts.relay.id = "walpost-7-orders";
  facts.timeout = std::chrono::seconds(60);
  facts.brokers = 3;
  facts.settings.assign(3, Settings("900000", "3", "2"));
  facts.relay.probe = Probe::kAllowed;
  return facts;
}

const Finding* Find(const Findings& findings, std::string_view subject) {
  for (const Finding& finding : findings) {
    if (finding.subject.starts_with(subject)) return &finding;
  }
  return nullptr;
}

constexpr char kReplicas[] = "transaction.state.log.replication.factor";
constexpr char kMinIsr[] = "transaction.state.log.min.isr";

TEST(TransactionsCheckTest, BrokersThatFitAreFine) {
  for (const Finding& finding : CheckTransactions(Fit(), kUser)) {
    EXPECT_EQ(finding.severity, Severity::kOk) << finding.text;
  }
}

TEST(TransactionsCheckTest, TheSmallestMaximumOfTheBrokersCounts) {
  TransactionFacts facts = Fit();
  facts.settings[1] = Settings("60000", "3", "2");
  EXPECT_EQ(FirstError(CheckTransactions(facts, kUser)), nullptr);
  facts.settings[1] = Settings("59999", "3", "2");
  const Findings found = CheckTransactions(facts, kUser);
  ASSERT_NE(FirstError(found), nullptr);
  EXPECT_EQ(FirstError(found)->id, FindingId("transaction_timeout_too_long"));
  EXPECT_EQ(FirstError(found)->subject, "transaction.max.timeout.ms");
  EXPECT_THAT(FirstError(found)->remedy,
              HasSubstr("delivery.transaction_timeout: 59999ms"));
}

TEST(TransactionsCheckTest, ALogThatCannotBeCreatedIsTheOneError) {
  TransactionFacts facts = Fit();
  facts.brokers = 1;
  facts.settings.resize(1);
  facts.relay.probe = Probe::kNoAnswer;
  const Findings found = CheckTransactions(facts, kUser);
  ASSERT_NE(FirstError(found), nullptr);
  EXPECT_EQ(FirstError(found)->id, FindingId("transaction_log_not_creatable"));
  EXPECT_EQ(FirstError(found)->subject, kReplicas);
  EXPECT_THAT(FirstError(found)->remedy,
              HasSubstr("transaction.state.log.replication.factor=1 and "
                        "transaction.state.log.min.isr=1"));
  EXPECT_EQ(Find(found, "transactional id"), nullptr);
}

TEST(TransactionsCheckTest, ALogThatExistsNeedsNotAllItsBrokers) {
  TransactionFacts facts = Fit();
  facts.brokers = 2;
  facts.settings.resize(2);
  EXPECT_EQ(FirstError(CheckTransactions(facts, kUser)), nullptr);
  // The topic is seen, and the setting has changed since.
  facts.relay.probe = Probe::kNotMade;
  facts.settings.assign(2, Settings("900000", "5", "2"));
  facts.log_replicas = 3;
  EXPECT_EQ(FirstError(CheckTransactions(facts, kUser)), nullptr);
}

TEST(TransactionsCheckTest, TooFewReplicasInSyncAreAnError) {
  TransactionFacts facts = Fit();
  facts.brokers = 1;
  facts.settings.resize(1);
  const Findings found = CheckTransactions(facts, kUser);
  ASSERT_NE(FirstError(found), nullptr);
  EXPECT_EQ(FirstError(found)->id, FindingId("transaction_log_not_in_sync"));
  EXPECT_EQ(FirstError(found)->subject, kMinIsr);
}

TEST(TransactionsCheckTest, ALogThatNeedsAllItsReplicasIsAWarning) {
  TransactionFacts facts = Fit();
  facts.settings.assign(3, Settings("900000", "3", "3"));
  const Findings found = CheckTransactions(facts, kUser);
  ASSERT_NE(Find(found, kMinIsr), nullptr);
  EXPECT_EQ(Find(found, kMinIsr)->severity, Severity::kWarning);
  EXPECT_EQ(Find(found, kMinIsr)->id,
            FindingId("transaction_log_without_spare_replica"));
  EXPECT_THAT(Find(found, kMinIsr)->remedy, HasSubstr("min.insync.replicas=2"));
}

// Kafka asks for no more replicas than there are.
TEST(TransactionsCheckTest, OneReplicaIsANote) {
  TransactionFacts facts = Fit();
  facts.settings.assign(3, Settings("900000", "1", "2"));
  const Findings found = CheckTransactions(facts, kUser);
  EXPECT_EQ(Find(found, kMinIsr), nullptr);
  EXPECT_EQ(Find(found, kReplicas)->severity, Severity::kNote);
  EXPECT_EQ(Find(found, kReplicas)->id,
            FindingId("transaction_log_single_replica"));
}

TEST(TransactionsCheckTest, AMissingRightHasItsCommand) {
  TransactionFacts facts = Fit();
  facts.relay.probe = Probe::kForbidden;
  const Findings found = CheckTransactions(facts, kUser);
  ASSERT_NE(FirstError(found), nullptr);
  EXPECT_EQ(FirstError(found)->remedy,
            "kafka-acls.sh --bootstrap-server b:9092 --add --allow-principal "
            "'User:relay' --operation Write --operation Describe "
            "--transactional-id 'walpost-7-orders'");
}

TransactionFacts FitWithSenders() {
  TransactionFacts facts = Fit();
  for (const char* sender : {"released", "retried"}) {
    facts.senders.push_back(
        {"walpost-7-orders-" + std::string(sender), Probe::kAllowed});
  }
  return facts;
}

TEST(TransactionsCheckTest, TheRightsOnTheIdsOfStoredEventsAreOneCommand) {
  TransactionFacts facts = FitWithSenders();
  EXPECT_EQ(FirstError(CheckTransactions(facts, kUser)), nullptr);
  facts.senders[1].probe = Probe::kForbidden;
  const Findings found = CheckTransactions(facts, kUser);
  const Finding* of_relay = Find(found, "transactional id walpost-7-orders");
  EXPECT_EQ(of_relay->severity, Severity::kOk);
  ASSERT_NE(FirstError(found), nullptr);
  EXPECT_EQ(FirstError(found)->id, FindingId("transactional_id_forbidden"));
  EXPECT_EQ(FirstError(found)->subject,
            "transactional id walpost-7-orders-retried");
  EXPECT_THAT(FirstError(found)->text, HasSubstr("WRITE and DESCRIBE"));
  EXPECT_EQ(FirstError(found)->remedy,
            "kafka-acls.sh --bootstrap-server b:9092 --add --allow-principal "
            "'User:relay' --operation Write --operation Describe "
            "--transactional-id 'walpost-7-orders' --resource-pattern-type "
            "prefixed");
}

TEST(TransactionsCheckTest, IdsThatAreNotProbedAreOneNote) {
  TransactionFacts facts = FitWithSenders();
  facts.settings.assign(3, {});
  facts.relay.probe = Probe::kNotMade;
  for (ProbedId& sender : facts.senders) sender.probe = Probe::kNotMade;
  const Findings found = CheckTransactions(facts, kUser);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0].text, HasSubstr("and on ids that begin with it"));
  EXPECT_THAT(found[0].remedy, HasSubstr("--resource-pattern-type prefixed"));
}

// The first one that gives no answer is the cause.
TEST(TransactionsCheckTest, WhatWasNotAskedIsNoFinding) {
  TransactionFacts facts = FitWithSenders();
  facts.log_replicas = 3;
  facts.senders[0].probe = Probe::kNoAnswer;
  facts.senders[1].probe = Probe::kNotMade;
  const Findings found = CheckTransactions(facts, kUser);
  EXPECT_EQ(Find(found, "transactional id walpost-7-orders-released")->severity,
            Severity::kError);
  EXPECT_EQ(Find(found, "transactional id walpost-7-orders-retried"), nullptr);
}

TEST(TransactionsCheckTest, WithoutSettingsNothingIsAskedAndNothingIsFine) {
  TransactionFacts facts = Fit();
  facts.settings.assign(3, {});
  facts.relay.probe = Probe::kNotMade;
  EXPECT_FALSE(facts.can_probe());
  const Findings found = CheckTransactions(facts, kUser);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].severity, Severity::kNote);
  EXPECT_EQ(found[0].id, FindingId("transaction_settings_hidden"));
  EXPECT_THAT(found[0].text, HasSubstr("DESCRIBE_CONFIGS"));
  EXPECT_THAT(found[0].text, HasSubstr(kReplicas));
}

TEST(TransactionsCheckTest, WithoutAnIdNothingIsAsked) {
  TransactionFacts facts = Fit();
  facts.relay.id.clear();
  EXPECT_FALSE(facts.can_probe());
}

TEST(TransactionsCheckTest, P5ABrokerThatWouldAcceptTheProbeIsNotAsked) {
  TransactionFacts facts = Fit();
  EXPECT_TRUE(facts.can_probe());
  facts.settings[2] =
      Settings(std::to_string(kProbedTimeout.count()), "3", "2");
  EXPECT_FALSE(facts.can_probe());
}

TEST(TransactionsCheckTest, P5ABrokerThatHidesItsMaximumIsNotAsked) {
  TransactionFacts facts = Fit();
  facts.settings[2].clear();
  EXPECT_FALSE(facts.can_probe());
  facts.settings.resize(2);
  EXPECT_FALSE(facts.can_probe());
}

TEST(TransactionsCheckTest, ACoordinatorThatDoesNotAnswerIsAnError) {
  TransactionFacts facts = Fit();
  facts.relay.probe = Probe::kNoAnswer;
  facts.relay.text = "Broker: Coordinator load in progress";
  facts.log_replicas = 3;
  const Findings found = CheckTransactions(facts, kUser);
  ASSERT_NE(FirstError(found), nullptr);
  EXPECT_EQ(FirstError(found)->id,
            FindingId("transaction_coordinator_unavailable"));
  EXPECT_THAT(FirstError(found)->text, HasSubstr("load in progress"));
}

}  // namespace
}  // namespace walpost
