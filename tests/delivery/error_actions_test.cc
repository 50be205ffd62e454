#include "delivery/error_actions.h"

#include <gtest/gtest.h>

#include <set>
#include <string_view>

namespace walpost {
namespace {

TEST(ErrorActionsTest, EverythingStopsUnlessSomebodyChoseOtherwise) {
  const ErrorActions actions;
  for (const ErrorClass& error_class : kErrorClasses) {
    EXPECT_EQ(actions.For(Undeliverable(error_class.code, "x")),
              ErrorAction::kStop)
        << error_class.code;
  }
  EXPECT_FALSE(actions.Uses(ErrorAction::kDeadLetter));
  EXPECT_FALSE(actions.Uses(ErrorAction::kSkip));
}

TEST(ErrorActionsTest, AChoiceIsForItsClassAlone) {
  for (size_t chosen = 0; chosen < kErrorClasses.size(); ++chosen) {
    ErrorActions actions;
    actions.Set(chosen, ErrorAction::kSkip);
    EXPECT_TRUE(actions.Uses(ErrorAction::kSkip));
    for (size_t i = 0; i < kErrorClasses.size(); ++i) {
      const absl::Status reason = Undeliverable(kErrorClasses[i].code, "x");
      EXPECT_EQ(actions.For(reason) == ErrorAction::kSkip, i == chosen);
    }
  }
}

// Errors of the sinks say which limit to raise.
TEST(ErrorActionsTest, RemediesOfAClassNameNoBroker) {
  for (const ErrorClass& error_class : kErrorClasses) {
    if (error_class.code != kReasonRecordTooLarge) continue;
    EXPECT_EQ(error_class.remedy.find("kafka"), std::string_view::npos);
    EXPECT_EQ(error_class.remedy.find("topic"), std::string_view::npos);
  }
}

TEST(ErrorActionsTest, AnErrorOfNoClassStopsWhateverIsChosen) {
  ErrorActions actions;
  for (size_t i = 0; i < kErrorClasses.size(); ++i) {
    actions.Set(i, ErrorAction::kSkip);
  }
  const absl::Status rows[] = {
      absl::InvalidArgumentError("without a code"),
      Undeliverable("not_invented_yet", "x"),
      Undeliverable(kReasonTableUnsuitable, "concerns every row"),
      WithReasonCode(absl::FailedPreconditionError("x"), kReasonTopicIllegal),
      WithReasonCode(absl::DataLossError("x"), kReasonTopicIllegal),
  };
  for (const absl::Status& reason : rows) {
    EXPECT_EQ(actions.For(reason), ErrorAction::kStop) << reason;
  }
}

TEST(ErrorActionsTest, ActionsAreInTheOrderOfTheirValues) {
  for (const ErrorActionInfo& info : kErrorActions) {
    EXPECT_EQ(InfoOf(info.action).name, info.name);
    EXPECT_FALSE(info.outcome.empty()) << info.name;
  }
}

TEST(ErrorActionsTest, OnlySkippedEventsAreLeftOut) {
  ErrorActions actions;
  EXPECT_EQ(actions.FirstThatLeavesOut(), std::nullopt);
  actions.Set(1, ErrorAction::kDeadLetter);
  actions.Set(2, ErrorAction::kPark);
  EXPECT_EQ(actions.FirstThatLeavesOut(), std::nullopt);
  actions.Set(kErrorClasses.size() - 1, ErrorAction::kSkip);
  EXPECT_EQ(actions.FirstThatLeavesOut(), ErrorAction::kSkip);
}

TEST(ErrorActionsTest, ClassesAreDistinctAndHaveARemedy) {
  std::set<std::string_view> codes;
  for (const ErrorClass& error_class : kErrorClasses) {
    EXPECT_TRUE(codes.insert(error_class.code).second) << error_class.code;
    EXPECT_FALSE(error_class.remedy.empty()) << error_class.code;
    EXPECT_LT(FindErrorClass(error_class.code), kErrorClasses.size());
  }
  EXPECT_EQ(FindErrorClass("no such class"), kErrorClasses.size());
}

}  // namespace
}  // namespace walpost
