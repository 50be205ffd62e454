#include "app/sink/checked_topics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace walpost {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::SizeIs;

class CheckedTopicsTest : public ::testing::Test {
 protected:
  CheckedTopicsTest() {
    config_.outbox.tables.resize(2);
    config_.outbox.route.topic = "event.{aggregate_type}";
  }

  std::vector<TopicNames> Topics() {
    return CheckedTopics(config_, Route::CreateAll(config_.outbox).value());
  }

  static auto Named(const std::string& text) {
    return Field(&TopicNames::text, text);
  }

  Config config_;
};

TEST_F(CheckedTopicsTest, TablesOfOneRouteHaveOnePrefix) {
  EXPECT_THAT(Topics(), ElementsAre(Named("event.")));
  EXPECT_FALSE(Topics()[0].is_whole);
  config_.outbox.tables[1].topic = "bills";
  EXPECT_THAT(Topics(), ElementsAre(Named("bills"), Named("event.")));
  EXPECT_TRUE(Topics()[0].is_whole);
}

TEST_F(CheckedTopicsTest, MessagesCountOnlyIfTheyHaveAPrefix) {
  config_.outbox.messages.topic = "messages";
  EXPECT_THAT(Topics(), ElementsAre(Named("event.")));
  config_.outbox.messages.prefix = "outbox";
  EXPECT_THAT(Topics(), ElementsAre(Named("event."), Named("messages")));
}

TEST_F(CheckedTopicsTest, TheLargestPayloadOfATopicIsThatOfAnyTable) {
  config_.outbox.tables[0].claim_check_above = 10;
  config_.outbox.tables[1].claim_check_above = 20;
  EXPECT_THAT(Topics(), ElementsAre(Field(&TopicNames::claim_check_above, 20)));
}

TEST_F(CheckedTopicsTest, DeadLettersCountIfTheyGoToKafka) {
  config_.outbox.dead_letter.topic = "dead.{class}";
  EXPECT_THAT(Topics(), SizeIs(1));
  config_.on_error.Set(0, ErrorAction::kDeadLetter);
  ASSERT_THAT(Topics(), ElementsAre(Named("event."), Named("dead.")));
  EXPECT_TRUE(Topics()[1].are_dead_letters);
  config_.outbox.dead_letter.store = DeadLetterOptions::Store::kPostgres;
  EXPECT_THAT(Topics(), SizeIs(1));
}

}  // namespace
}  // namespace walpost
