#include "rabbitmq/topology_findings.h"

#include <gtest/gtest.h>

#include <string>

namespace walpost::rabbitmq {
namespace {

const RabbitmqLogin kAlice = {.user = "alice", .vhost = "/shop"};

AmqpAnswer Failed(uint16_t code, const std::string& text) {
  return {.error = ServerError{code, text}};
}

// "id severity, ..."
std::string Text(const TopologyAnswers& answers,
                 const RabbitmqOptions& options = {}) {
  std::string text;
  for (const Finding& finding : FindingsOf(answers, options, kAlice)) {
    if (finding.id.text() == "bindings_unknown") continue;
    text += finding.id.text() + " " +
            std::to_string(static_cast<int>(finding.severity)) + " ";
  }
  return text;
}

std::string Level(Severity severity) {
  return std::to_string(static_cast<int>(severity)) + " ";
}

TEST(TopologyFindingsTest, AnExchangeExistsOrIsMissingOrWillBeMade) {
  RabbitmqOptions options;
  options.exchange = "orders";
  TopologyAnswers answers;
  answers.exchange = AmqpAnswer();
  EXPECT_EQ(Text(answers, options), "exchange_ok " + Level(Severity::kOk));
  answers.exchange = Failed(404, "NOT_FOUND - no exchange 'orders' in vhost");
  EXPECT_EQ(Text(answers, options),
            "exchange_missing " + Level(Severity::kError));
  options.create.exchange_type = "topic";
  EXPECT_EQ(Text(answers, options),
            "exchange_missing " + Level(Severity::kNote));
}

TEST(TopologyFindingsTest, AMissingQueueIsAnErrorUnlessItWillBeMade) {
  RabbitmqOptions options;
  TopologyAnswers answers;
  answers.queues["q"] = Failed(404, "NOT_FOUND - no queue 'q' in vhost");
  EXPECT_EQ(Text(answers, options), "queue_missing " + Level(Severity::kError));
  options.create.queue = "q";
  EXPECT_EQ(Text(answers, options), "queue_missing " + Level(Severity::kNote));
}

TEST(TopologyFindingsTest, AQueueWithoutAQuorumIsAWarning) {
  TopologyAnswers answers;
  answers.queues["q"] = AmqpAnswer();
  answers.kinds["q"] = AmqpAnswer();
  EXPECT_EQ(Text(answers), "queue_ok " + Level(Severity::kOk));
  answers.kinds["q"] =
      Failed(406,
             "PRECONDITION_FAILED - inequivalent arg 'x-queue-type' for queue "
             "'q' in vhost '/shop': received the value 'quorum' of type "
             "'longstr' but current is none");
  EXPECT_EQ(Text(answers), "queue_without_quorum " + Level(Severity::kWarning));
  answers.kinds["q"] = Failed(403, "ACCESS_REFUSED - access to queue 'q'");
  EXPECT_EQ(Text(answers), "queue_kind_unknown " + Level(Severity::kNote));
}

TEST(TopologyFindingsTest, SaysWhatAmqpDoesNotTell) {
  const Findings findings = FindingsOf(TopologyAnswers(), {}, kAlice);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].id.text(), "bindings_unknown");
  EXPECT_NE(findings[0].remedy.find("rabbitmqctl -p '/shop' list_queues"),
            std::string::npos);
}

}  // namespace
}  // namespace walpost::rabbitmq
