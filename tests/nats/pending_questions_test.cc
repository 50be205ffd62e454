#include "nats/pending_questions.h"

#include <gtest/gtest.h>

namespace walpost {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr MonotonicTime kBegin{seconds(1000)};

class PendingQuestionsTest : public ::testing::Test {
 protected:
  uint64_t Ask(const std::string& about, const std::string& subject,
               milliseconds after = milliseconds(0)) {
    return pending_.Add({StreamQuestion::Kind::kInfo, about, "", 0}, subject,
                        kBegin + after);
  }
  static std::string About(const std::optional<StreamQuestion>& question) {
    return question ? question->about : "none";
  }

  PendingQuestions pending_;
};

TEST_F(PendingQuestionsTest, AnAnswerIsOfItsQuestionOnce) {
  const uint64_t a = Ask("a", "INFO.a");
  const uint64_t b = Ask("b", "INFO.b");
  EXPECT_NE(a, b);
  EXPECT_EQ(About(pending_.Take(b)), "b");
  EXPECT_EQ(About(pending_.Take(b)), "none");
  EXPECT_EQ(About(pending_.Take(a)), "a");
}

TEST_F(PendingQuestionsTest, ADeniedSubjectIsThatOfItsOldestQuestion) {
  Ask("a", "INFO");
  Ask("b", "NAMES");
  Ask("c", "INFO");
  EXPECT_EQ(About(pending_.TakeTo("INFO")), "a");
  EXPECT_EQ(About(pending_.TakeTo("INFO")), "c");
  EXPECT_EQ(About(pending_.TakeTo("INFO")), "none");
  EXPECT_EQ(About(pending_.TakeTo("NAMES")), "b");
}

TEST_F(PendingQuestionsTest, WithoutAnAnswerItIsGivenUpAfterTwoSeconds) {
  Ask("a", "INFO.a");
  Ask("b", "INFO.b", milliseconds(100));
  EXPECT_EQ(About(pending_.TakeLate(kBegin + milliseconds(1'999))), "none");
  EXPECT_EQ(About(pending_.TakeLate(kBegin + seconds(2))), "a");
  EXPECT_EQ(About(pending_.TakeLate(kBegin + seconds(2))), "none");
  EXPECT_EQ(About(pending_.TakeLate(kBegin + seconds(60))), "b");
}

}  // namespace
}  // namespace walpost
