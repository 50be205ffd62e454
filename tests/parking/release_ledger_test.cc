#include "parking/release_ledger.h"

#include <gtest/gtest.h>

#include <string>

namespace walpost {
namespace {

DeadLetter Event(std::string id) {
  DeadLetter content;
  content.id = std::move(id);
  content.payload = "{}";
  return content;
}

TEST(ReleaseLedgerTest, P5KnowsWhatWasSentAfterARestart) {
  ReleaseLedger ledger;
  ledger.Add(ReleaseLedger::EntryOf("7/A-1", Event("1")));
  ledger.Add(ReleaseLedger::EntryOf("7/A-2", Event("2")));
  ReleaseLedger read;
  ASSERT_TRUE(read.Load(ledger.Encode()).ok());
  EXPECT_TRUE(read.Has(ReleaseLedger::EntryOf("7/A-1", Event("1"))));
  EXPECT_TRUE(read.Has(ReleaseLedger::EntryOf("7/A-2", Event("2"))));
  EXPECT_FALSE(read.Has(ReleaseLedger::EntryOf("7/A-3", Event("3"))));
  EXPECT_EQ(read.Encode(), ledger.Encode());
}

// P1: the database was restored, and has written something else since.
TEST(ReleaseLedgerTest, AnotherEventAtTheSamePlaceWasNotSent) {
  ReleaseLedger ledger;
  ledger.Add(ReleaseLedger::EntryOf("7/A-1", Event("1")));
  EXPECT_FALSE(ledger.Has(ReleaseLedger::EntryOf("7/A-1", Event("2"))));
  DeadLetter other = Event("1");
  other.payload = "{} ";
  EXPECT_FALSE(ledger.Has(ReleaseLedger::EntryOf("7/A-1", other)));
  other.payload.reset();
  EXPECT_FALSE(ledger.Has(ReleaseLedger::EntryOf("7/A-1", other)));
}

TEST(ReleaseLedgerTest, ForgetsTheOldestBeyondItsLimit) {
  ReleaseLedger ledger;
  const auto entry = [](size_t i) {
    return ReleaseLedger::EntryOf(std::to_string(i), Event("1"));
  };
  for (size_t i = 0; i <= ReleaseLedger::kMaxEntries; ++i) {
    ledger.Add(entry(i));
    ledger.Add(entry(i));
  }
  EXPECT_FALSE(ledger.Has(entry(0)));
  EXPECT_TRUE(ledger.Has(entry(1)));
  EXPECT_TRUE(ledger.Has(entry(ReleaseLedger::kMaxEntries)));
}

TEST(ReleaseLedgerTest, WhatIsNoLedgerIsDamage) {
  ReleaseLedger ledger;
  EXPECT_TRUE(ledger.Load("").ok());
  for (const char* text :
       {"7/A-1", "7/A-1 abc", "a b 000000000000000000000000"}) {
    const absl::Status status = ledger.Load(text);
    EXPECT_TRUE(absl::IsDataLoss(status)) << text;
    EXPECT_NE(status.message().find(text), std::string::npos) << status;
  }
}

}  // namespace
}  // namespace walpost
