#include "session/repeated_failure_detector.h"

#include <gtest/gtest.h>

namespace walpost {
namespace {

const absl::Status kDamage = absl::DataLossError("truncated");
const absl::Status kFatal = absl::AbortedError("fatal");

void Fail(RepeatedFailureDetector& watch, const absl::Status& status,
          Lsn confirmed, int times) {
  for (int i = 0; i < times; ++i) watch.OnFailure(status, confirmed);
}

TEST(RepeatedFailureDetectorTest, P8TheSameDamageAtTheSamePlaceIsPoison) {
  RepeatedFailureDetector watch;
  Fail(watch, kDamage, Lsn(7), RepeatedFailureDetector::kMaxDamages - 1);
  EXPECT_FALSE(watch.is_poison());
  watch.OnFailure(kDamage, Lsn(7));
  EXPECT_TRUE(watch.is_poison());
  EXPECT_EQ(watch.times(), RepeatedFailureDetector::kMaxDamages);
  EXPECT_EQ(watch.confirmed(), Lsn(7));
}

TEST(RepeatedFailureDetectorTest, P8AProducerThatNeverGetsFurtherIsPoison) {
  RepeatedFailureDetector watch;
  Fail(watch, kFatal, Lsn(7),
       RepeatedFailureDetector::kMaxProducerFailures - 1);
  EXPECT_FALSE(watch.is_poison());
  watch.OnFailure(kFatal, Lsn(7));
  EXPECT_TRUE(watch.is_poison());
}

TEST(RepeatedFailureDetectorTest, ProgressStartsTheCountAnew) {
  RepeatedFailureDetector watch;
  for (uint64_t lsn = 1; lsn < 50; ++lsn) watch.OnFailure(kDamage, Lsn(lsn));
  EXPECT_FALSE(watch.is_poison());
}

TEST(RepeatedFailureDetectorTest, AnotherErrorStartsTheCountAnew) {
  RepeatedFailureDetector watch;
  for (int i = 0; i < 20; ++i) {
    watch.OnFailure(kDamage, Lsn(7));
    watch.OnFailure(absl::DataLossError("another"), Lsn(7));
  }
  EXPECT_FALSE(watch.is_poison());
}

TEST(RepeatedFailureDetectorTest, WhatPassesByItselfIsNeverPoison) {
  RepeatedFailureDetector watch;
  Fail(watch, absl::UnavailableError("connection lost"), Lsn(7), 1000);
  Fail(watch, absl::FailedPreconditionError("no grant"), Lsn(7), 1000);
  EXPECT_FALSE(watch.is_poison());
}

}  // namespace
}  // namespace walpost
