#include "dead_letters/letter_check.h"

#include <gtest/gtest.h>

namespace walpost {
namespace {

DeadLetter Letter() {
  DeadLetter letter;
  letter.source = "public.outbox";
  letter.aggregate_type = "Order Placed";
  letter.payload = "1";
  return letter;
}

OutboxOptions Outbox(const std::string& topic) {
  OutboxOptions outbox;
  outbox.tables.resize(1);
  outbox.tables[0].name = "public.outbox";
  outbox.route.topic = topic;
  return outbox;
}

TEST(LetterCheckTest, P8ALetterIsDeliverableOnceTheConfigurationIs) {
  const OutboxOptions before = Outbox("t.{aggregate_type}");
  auto check = LetterCheck::Create(before);
  ASSERT_TRUE(check.ok()) << check.status();
  EXPECT_TRUE(absl::IsInvalidArgument((*check)(Letter())));
  const OutboxOptions after = Outbox("t.{aggregate_type|replace: :-}");
  auto mended = LetterCheck::Create(after);
  ASSERT_TRUE(mended.ok()) << mended.status();
  EXPECT_TRUE((*mended)(Letter()).ok());
  DeadLetter other = Letter();
  other.source = "public.other";
  EXPECT_TRUE(absl::IsFailedPrecondition((*mended)(other)));
}

TEST(LetterCheckTest, ATemplateThatDoesNotParseIsAnError) {
  const OutboxOptions outbox = Outbox("t.{");
  EXPECT_TRUE(absl::IsInvalidArgument(LetterCheck::Create(outbox).status()));
}

}  // namespace
}  // namespace walpost
