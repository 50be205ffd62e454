#include "nats/subject.h"

#include <gtest/gtest.h>

#include <string>

#include "base/reason_code.h"

namespace walpost {
namespace {

TEST(SubjectTest, PlacesWithoutAMeaningForNatsAreLegal) {
  for (const char* subject :
       {"a", "outbox.order.created", "Größe.1", "a-b_c"}) {
    EXPECT_TRUE(CheckSubject(subject).ok()) << subject;
  }
}

TEST(SubjectTest, IllegalOnesAreTopicsThatCannotBe) {
  for (const char* subject :
       {"", "a b", "a\tb", "a\nb", ".a", "a.", "a..b", "a.*", "a.>", "a.b*",
        "$JS.API.STREAM.DELETE.A"}) {
    const absl::Status status = CheckSubject(subject);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << subject;
    EXPECT_EQ(ReasonCodeOf(status), kReasonTopicIllegal) << subject;
  }
  EXPECT_FALSE(CheckSubject(std::string(kMaxSubjectBytes + 1, 'a')).ok());
}

TEST(SubjectTest, AFilterHasWildcardsAsTokens) {
  for (const char* filter : {"a.>", "a.*.b", ">", "*"}) {
    EXPECT_TRUE(CheckSubjectFilter(filter).ok()) << filter;
  }
  for (const char* filter : {"a.>.b", "a.b*", "a.>>"}) {
    EXPECT_FALSE(CheckSubjectFilter(filter).ok()) << filter;
  }
}

TEST(SubjectTest, AFilterMatchesWholeTokens) {
  EXPECT_TRUE(SubjectMatches("a.b", "a.b"));
  EXPECT_TRUE(SubjectMatches("a.*", "a.b"));
  EXPECT_TRUE(SubjectMatches("a.>", "a.b.c"));
  EXPECT_TRUE(SubjectMatches(">", "a"));
  EXPECT_FALSE(SubjectMatches("a.>", "a"));
  EXPECT_FALSE(SubjectMatches("a.*", "a.b.c"));
  EXPECT_FALSE(SubjectMatches("a.b", "a.bc"));
  EXPECT_FALSE(SubjectMatches("a.b.c", "a.b"));
}

TEST(SubjectTest, FiltersOverlapIfASubjectIsOfBoth) {
  EXPECT_TRUE(FiltersOverlap("a.*", "*.b"));
  EXPECT_TRUE(FiltersOverlap("a.>", "a.b.*"));
  EXPECT_FALSE(FiltersOverlap("a.>", "b.>"));
  EXPECT_FALSE(FiltersOverlap("a.*", "a.b.c"));
}

}  // namespace
}  // namespace walpost
