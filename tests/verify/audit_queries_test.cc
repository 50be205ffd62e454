#include "verify/audit_queries.h"

#include <gtest/gtest.h>

#include <map>

namespace walpost {
namespace {

using Counts = std::map<std::string, uint64_t>;

// Ids that are given once in the world, by a letter.
std::string Uuid(const std::string& letter) {
  return letter + "0000000-0000-4000-8000-000000000000";
}

// Three events of one key, and the records that they should have become.
class JudgementTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto created = AuditDatabase::Create(::testing::TempDir());
    ASSERT_TRUE(created.ok()) << created.status();
    audit_database_ = *std::move(created);
    for (const char* id : {"a", "b", "c"}) Expect(id);
  }

  void Expect(const std::string& id, bool must_be_there = true) {
    ExpectedRecord row;
    row.id = id.size() == 1 ? Uuid(id) : id;
    row.topic = "orders";
    row.key_is_known = true;
    row.key = "k";
    row.value_is_known = true;
    row.value = "v";
    row.sequence = ++rows_;
    row.must_be_there = must_be_there;
    ASSERT_TRUE(audit_database_->Add(row).ok());
  }

  FoundRecord Record(const std::string& id) {
    FoundRecord record;
    record.id = id.size() == 1 ? Uuid(id) : id;
    record.topic = "orders";
    record.key = "k";
    record.value = "v";
    record.offset = records_++;
    record.position = "position-" + id;
    return record;
  }
  void Find(const FoundRecord& record) {
    ASSERT_TRUE(audit_database_->Add(record).ok());
  }
  void FindAll() {
    for (const char* id : {"a", "b", "c"}) Find(Record(id));
  }

  // The kinds that were found, those that are errors with an exclamation mark.
  Counts Judged(const JudgementOptions& options = {},
                SentBy sent_by = SentBy::kConfirmation) {
    EXPECT_TRUE(audit_database_->Sort(sent_by).ok());
    const auto report = Judge(*audit_database_, options);
    EXPECT_TRUE(report.ok()) << report.status();
    Counts counts;
    bool clean = true;
    for (size_t i = 0; i < kFindingKinds; ++i) {
      const FoundOfKind& found = report->findings[i];
      if (found.count == 0) continue;
      const std::string name(Describe(static_cast<FindingKind>(i)).name);
      counts[name + (found.is_error ? "!" : "")] = found.count;
      clean = clean && !found.is_error;
      EXPECT_FALSE(found.examples.empty()) << name;
      EXPECT_NE(report->ToText().find(found.examples[0]), std::string::npos);
    }
    EXPECT_EQ(report->is_clean(), clean);
    order_judged_by_ = report->order_judged_by;
    return counts;
  }

  std::unique_ptr<AuditDatabase> audit_database_;
  int64_t rows_ = 0;
  int64_t records_ = 0;
  std::string order_judged_by_;
};

TEST_F(JudgementTest, FindsNothingWhereNothingIsWrong) {
  FindAll();
  EXPECT_EQ(Judged(), Counts{});
  EXPECT_EQ(order_judged_by_, "header walpost-position");
}

TEST_F(JudgementTest, FindsWhatIsMissing) {
  Find(Record("a"));
  Find(Record("c"));
  EXPECT_EQ(Judged(), (Counts{{"missing!", 1}}));
}

TEST_F(JudgementTest, SetsApartWhatIsNotConfirmed) {
  FindAll();
  Expect("d", /*must_be_there=*/false);
  EXPECT_EQ(Judged(), (Counts{{"unconfirmed!", 1}}));
}

TEST_F(JudgementTest, ExpectsAllOnceTheSlotHasConfirmedIt) {
  FindAll();
  Expect("d", /*must_be_there=*/false);
  ASSERT_TRUE(audit_database_->ExpectAll().ok());
  EXPECT_EQ(Judged(), (Counts{{"missing!", 1}}));
}

// One that may have been replicated is missing: it may be lost.
TEST_F(JudgementTest, P11SetsApartWhatIsKnownToBeReplicated) {
  FindAll();
  const std::optional<bool> origins[] = {true, false, std::nullopt};
  for (const std::optional<bool>& is_of_other_origin : origins) {
    for (const bool must_be_there : {true, false}) {
      ExpectedRecord row;
      row.id = Uuid(std::to_string(++rows_));
      row.topic = "orders";
      row.must_be_there = must_be_there;
      row.is_of_other_origin = is_of_other_origin;
      ASSERT_TRUE(audit_database_->Add(row).ok());
    }
  }
  EXPECT_EQ(
      Judged(),
      (Counts{{"other_origin", 2}, {"missing!", 2}, {"unconfirmed!", 2}}));
}

TEST_F(JudgementTest, SetsApartWhatHasADeadLetter) {
  FoundRecord dead = Record("b");
  dead.is_dead_letter = true;
  dead.topic = "dead";
  dead.value = "another";
  Find(dead);
  Find(Record("a"));
  Expect("d", /*must_be_there=*/false);
  FoundRecord of_another_key = Record("d");
  of_another_key.is_dead_letter = true;
  of_another_key.key = "other";
  Find(of_another_key);
  EXPECT_EQ(
      Judged(),
      (Counts{{"dead_letter!", 1}, {"missing!", 1}, {"unconfirmed!", 1}}));
}

TEST_F(JudgementTest, ADeadLetterThatWasRetriedIsNoFinding) {
  Find(Record("a"));
  FoundRecord dead = Record("b");
  dead.is_dead_letter = true;
  Find(dead);
  FoundRecord decision = Record("b");
  decision.decision = "retried";
  Find(decision);
  Find(Record("c"));
  FoundRecord retried = Record("b");
  retried.is_replayed = true;
  retried.position.reset();
  Find(retried);
  EXPECT_EQ(Judged(), (Counts{{"replayed", 1}}));
}

TEST_F(JudgementTest, WhatWasDiscardedIsSetApartAndIsNotClean) {
  Find(Record("a"));
  for (const char* id : {"b", "c"}) {
    FoundRecord dead = Record(id);
    dead.is_dead_letter = true;
    Find(dead);
  }
  FoundRecord decision = Record("b");
  decision.decision = "discarded";
  Find(decision);
  EXPECT_EQ(Judged(), (Counts{{"dead_letter!", 1}, {"discarded!", 1}}));
}

TEST_F(JudgementTest, WhatWasSkippedIsSetApartAndIsNotClean) {
  Find(Record("a"));
  ASSERT_TRUE(
      audit_database_->AddDisposition(Uuid("b"), "k", Disposition::kSkipped)
          .ok());
  for (const Disposition fate : {Disposition::kSkipped, Disposition::kParked}) {
    ASSERT_TRUE(audit_database_->AddDisposition(Uuid("c"), "k", fate).ok());
  }
  EXPECT_EQ(Judged(), (Counts{{"skipped!", 1}, {"parked!", 1}}));
}

TEST_F(JudgementTest, WhatIsParkedIsSetApartAndIsNotClean) {
  Find(Record("a"));
  ASSERT_TRUE(
      audit_database_->AddDisposition(Uuid("b"), "k", Disposition::kParked)
          .ok());
  ASSERT_TRUE(
      audit_database_->AddDisposition(Uuid("c"), "k", Disposition::kDiscarded)
          .ok());
  EXPECT_EQ(Judged(), (Counts{{"parked!", 1}, {"discarded!", 1}}));
}

TEST_F(JudgementTest, WhatWasParkedAndIsInItsTopicIsClean) {
  FindAll();
  ASSERT_TRUE(
      audit_database_->AddDisposition(Uuid("b"), "k", Disposition::kParked)
          .ok());
  EXPECT_EQ(Judged(), Counts());
}

TEST_F(JudgementTest, CountsRepeatsButNotAsErrors) {
  FindAll();
  Find(Record("b"));
  Find(Record("c"));
  EXPECT_EQ(Judged(), (Counts{{"duplicates", 2}}));
  JudgementOptions options;
  options.fail_on_duplicates = true;
  EXPECT_FALSE(Judge(*audit_database_, options)->is_clean());
}

TEST_F(JudgementTest, SetsApartWhatIsReplayed) {
  FindAll();
  FoundRecord replayed = Record("a");
  replayed.is_replayed = true;
  Find(replayed);
  EXPECT_EQ(Judged(), (Counts{{"replayed", 1}}));
}

TEST_F(JudgementTest, ComparesReplayedRecordsToo) {
  FindAll();
  FoundRecord replayed = Record("a");
  replayed.is_replayed = true;
  replayed.value = "w";
  Find(replayed);
  EXPECT_EQ(Judged(), (Counts{{"altered!", 1}, {"replayed", 1}}));
}

TEST_F(JudgementTest, AClaimCheckHasTheDigestOfTheValue) {
  FindAll();
  FoundRecord claim = Record("a");
  claim.is_replayed = true;
  claim.value = "";
  claim.claimed = Sha256("v");
  Find(claim);
  EXPECT_EQ(Judged(), (Counts{{"replayed", 1}}));
}

TEST_F(JudgementTest, FindsAClaimCheckOfAnotherValue) {
  FindAll();
  FoundRecord claim = Record("a");
  claim.is_replayed = true;
  claim.value = "v";
  claim.claimed = Sha256("w");
  Find(claim);
  EXPECT_EQ(Judged(), (Counts{{"altered!", 1}, {"replayed", 1}}));
}

TEST_F(JudgementTest, FindsAnotherValueAndTellsNullFromEmpty) {
  FoundRecord record = Record("a");
  record.value = "w";
  Find(record);
  record = Record("b");
  record.value = std::nullopt;
  Find(record);
  record = Record("c");
  record.value = "";
  Find(record);
  EXPECT_EQ(Judged(), (Counts{{"altered!", 3}}));
}

TEST_F(JudgementTest, FindsAnotherTopic) {
  Find(Record("a"));
  Find(Record("b"));
  FoundRecord record = Record("c");
  record.topic = "invoices";
  Find(record);
  EXPECT_EQ(Judged(), (Counts{{"wrong_topic!", 1}}));
}

TEST_F(JudgementTest, FindsAnotherKeyAndTellsNullFromEmpty) {
  FoundRecord record = Record("a");
  record.key = "other";
  Find(record);
  record = Record("b");
  record.key = std::nullopt;
  Find(record);
  record = Record("c");
  record.key = "";
  Find(record);
  EXPECT_EQ(Judged(), (Counts{{"wrong_key!", 3}}));
}

TEST_F(JudgementTest, SetsApartRecordsWithoutARow) {
  FindAll();
  Find(Record("d"));
  FoundRecord nameless = Record("e");
  nameless.id.reset();
  Find(nameless);
  EXPECT_EQ(Judged(), (Counts{{"not_in_table", 1}, {"without_id!", 1}}));
}

TEST_F(JudgementTest, SetsApartWhatWasCommittedMeanwhile) {
  FindAll();
  Find(Record("d"));
  ASSERT_TRUE(audit_database_->AddNewer(Uuid("d"), "orders").ok());
  EXPECT_EQ(Judged(), (Counts{{"newer", 1}}));
}

TEST_F(JudgementTest, FindsFirstOccurrencesOutOfOrder) {
  Find(Record("a"));
  Find(Record("c"));
  Find(Record("b"));
  EXPECT_EQ(Judged(), (Counts{{"disorder!", 1}}));
}

// A position is that of one event.
TEST_F(JudgementTest, FindsTwoEventsAtOnePosition) {
  FoundRecord second = Record("b");
  Find(Record("a"));
  second.position = Record("a").position;
  second.offset = 1;
  Find(second);
  Find(Record("c"));
  EXPECT_EQ(Judged().at("disorder!"), 1u);
}

TEST_F(JudgementTest, JudgesOrderBySequenceWhenThereIsOne) {
  for (const char* id : {"b", "a", "c"}) {
    FoundRecord record = Record(id);
    record.position.reset();
    Find(record);
  }
  JudgementOptions options;
  EXPECT_EQ(Judged(options), Counts{});
  EXPECT_EQ(order_judged_by_, "not checked");
  options.sequence_column = "version";
  const auto report = Judge(*audit_database_, options);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->order_judged_by, "column version");
  EXPECT_EQ((*report)[FindingKind::kDisorder].count, 1u);
}

TEST_F(JudgementTest, AReSendIsNoDisorder) {
  for (const char* id : {"a", "b", "a", "b", "c"}) Find(Record(id));
  EXPECT_EQ(Judged(), (Counts{{"duplicates", 2}}));
}

class KeyOfSeveralPartitionsTest : public JudgementTest {
 protected:
  // One event after the other, in these partitions.
  Counts Judge(const std::vector<int32_t>& partitions) {
    for (size_t i = 0; i < partitions.size(); ++i) {
      FoundRecord record = Record(std::string(1, static_cast<char>('a' + i)));
      record.partition = partitions[i];
      Find(record);
    }
    return Judged();
  }
};

TEST_F(KeyOfSeveralPartitionsTest, OneThatMovedOnceIsANote) {
  EXPECT_EQ(Judge({0, 1, 1}), (Counts{{"moved_key", 1}}));
}

TEST_F(KeyOfSeveralPartitionsTest, OneThatMovedDownIsANote) {
  EXPECT_EQ(Judge({3, 1, 1}), (Counts{{"moved_key", 1}}));
}

TEST_F(KeyOfSeveralPartitionsTest, OneThatMovedTwiceIsANote) {
  EXPECT_EQ(Judge({0, 2, 1}), (Counts{{"moved_key", 1}}));
}

TEST_F(KeyOfSeveralPartitionsTest, OneThatCameBackIsSplit) {
  EXPECT_EQ(Judge({0, 1, 0}), (Counts{{"split_key!", 1}}));
}

TEST_F(KeyOfSeveralPartitionsTest, OneWhosePartitionsAColumnChoosesIsNeither) {
  for (const char* id : {"a", "b", "c"}) {
    FoundRecord record = Record(id);
    record.partition = *id == 'b' ? 1 : 0;
    Find(record);
  }
  const std::string topic = Record("a").topic;
  JudgementOptions options;
  options.chosen_partitions = {{"it's", false}, {topic.substr(0, 1), true}};
  EXPECT_EQ(Judged(options), Counts{});
}

TEST_F(KeyOfSeveralPartitionsTest, OneOfAnotherTopicIsSplit) {
  for (const char* id : {"a", "b", "c"}) {
    FoundRecord record = Record(id);
    record.partition = *id == 'b' ? 1 : 0;
    Find(record);
  }
  const std::string other = Record("a").topic + "s";
  JudgementOptions options;
  options.chosen_partitions = {{other, false}, {other, true}};
  EXPECT_EQ(Judged(options), (Counts{{"split_key!", 1}}));
}

TEST_F(KeyOfSeveralPartitionsTest, AReSendIntoTheNewPartitionIsNoReturn) {
  FoundRecord record = Record("b");
  record.partition = 1;
  Find(record);
  EXPECT_EQ(Judge({0, 0, 1}), (Counts{{"moved_key", 1}, {"duplicates", 1}}));
}

TEST_F(KeyOfSeveralPartitionsTest, WithoutPositionsItIsSplit) {
  for (const char* id : {"a", "b", "c"}) {
    FoundRecord record = Record(id);
    record.partition = *id == 'a' ? 0 : 1;
    record.position.reset();
    Find(record);
  }
  EXPECT_EQ(Judged(), (Counts{{"split_key!", 1}}));
}

// Ids of a sequence, which may be given again.

TEST_F(JudgementTest, AnIdThatCameAgainIsAnotherEvent) {
  FindAll();
  Expect("id-7");
  FoundRecord other = Record("id-7");
  other.value = "what the lost server had under this id";
  Find(other);
  EXPECT_EQ(Judged(), (Counts{{"missing!", 1}, {"undecided!", 1}}));
}

TEST_F(JudgementTest, AnEarlierEventOfAnIdIsNoFaultOnceTheRowHasItsRecord) {
  FindAll();
  Expect("id-7");
  FoundRecord other = Record("id-7");
  other.value = "what the lost server had under this id";
  other.position = "position-d";
  Find(other);
  Find(Record("id-7"));
  EXPECT_EQ(Judged(), (Counts{{"not_in_table", 1}}));
}

TEST_F(JudgementTest, TwoContentsAtOnePositionAreOneEvent) {
  FindAll();
  Expect("id-7");
  Find(Record("id-7"));
  FoundRecord altered = Record("id-7");
  altered.value = "w";
  Find(altered);
  EXPECT_EQ(Judged(), (Counts{{"altered!", 1}}));
}

TEST_F(JudgementTest, TablesMayCountAlike) {
  FindAll();
  Expect("id-7");
  ExpectedRecord row;
  row.id = "id-7";
  row.topic = "invoices";
  row.key_is_known = row.value_is_known = true;
  row.key = "k";
  row.value = "v";
  ASSERT_TRUE(audit_database_->Add(row).ok());
  Find(Record("id-7"));
  EXPECT_EQ(Judged(), (Counts{{"missing!", 1}}));
}

TEST_F(JudgementTest, OneRecordIsNotTheRecordOfTwoRows) {
  FindAll();
  Expect("id-7");
  Expect("id-7");
  Find(Record("id-7"));
  EXPECT_EQ(Judged(), (Counts{{"undecided!", 1}}));
}

TEST_F(JudgementTest, TwoPositionsAreTheRecordsOfTwoRows) {
  FindAll();
  Expect("id-7");
  Expect("id-7");
  Find(Record("id-7"));
  FoundRecord second = Record("id-7");
  second.position = "position-id-8";
  Find(second);
  EXPECT_EQ(Judged(), (Counts{{"duplicates", 1}}));
}

TEST_F(JudgementTest, WhatWasNotLookedAtIsNotClean) {
  FindAll();
  JudgementOptions options;
  options.undecided = {"gap slot_missing"};
  EXPECT_EQ(Judged(options), (Counts{{"undecided!", 1}}));
}

TEST_F(JudgementTest, JudgesRecoveredRecordsByTheOrderOfTheRows) {
  int64_t place = 10;
  for (const char* id : {"x", "y", "z"}) {
    ExpectedRecord row;
    row.id = id;
    row.row_order = place--;
    ASSERT_TRUE(audit_database_->Add(row).ok());
    FoundRecord record = Record(id);
    record.id = id;
    record.repair = "walpost-recovered 0/1";
    record.is_replayed = true;
    Find(record);
  }
  FindAll();
  JudgementOptions options;
  EXPECT_EQ(Judged(options), (Counts{{"replayed", 3}}));
  options.row_order = "created_at";
  const auto report = Judge(*audit_database_, options);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->repairs_judged_by, "column created_at");
  EXPECT_EQ((*report)[FindingKind::kDisorder].count, 2u);
}

TEST(AuditDatabaseTest, SaysWhereItCannotWrite) {
  const auto evidence = AuditDatabase::Create("/nonexistent");
  EXPECT_TRUE(absl::IsFailedPrecondition(evidence.status()));
  EXPECT_NE(std::string(evidence.status().message()).find("/nonexistent"),
            std::string::npos);
}

// A topic of four partitions with a key each, whose beginning Kafka has
// deleted, or which it compacts.
class ExpiredTest : public JudgementTest {
 protected:
  void SetUp() override {
    auto created = AuditDatabase::Create(::testing::TempDir());
    ASSERT_TRUE(created.ok()) << created.status();
    audit_database_ = *std::move(created);
    for (int number = 0; keys_.size() < kPartitions; ++number) {
      const std::string key = "k" + std::to_string(number);
      keys_[PartitionHash(key.data(), key.size()) % kPartitions] = key;
    }
  }

  void Begin(std::map<int, int64_t> begins) {
    for (int i = 0; i < kPartitions; ++i) {
      ASSERT_TRUE(
          audit_database_->AddPartition({"orders", i, begins[i], 100}).ok());
    }
  }
  // A row of a partition's key, the next transaction.
  ExpectedRecord Row(int partition) {
    ExpectedRecord row;
    row.id = std::to_string(++rows_);
    row.topic = "orders";
    row.key_is_known = row.value_is_known = row.came_through = true;
    row.key = keys_[partition];
    row.value = "v";
    row.written = 100 + rows_;
    row.row_order = rows_;
    return row;
  }
  void Write(const ExpectedRecord& row) {
    ASSERT_TRUE(audit_database_->Add(row).ok());
  }
  void Send(const ExpectedRecord& row, int partition) {
    FoundRecord record = Record(row.id);
    record.id = row.id;
    record.key = *row.key;
    record.value = row.value;
    record.partition = partition;
    Find(record);
  }
  ExpectedRecord Written(int partition) {
    const ExpectedRecord row = Row(partition);
    Write(row);
    return row;
  }
  void WriteAndSend(int partition) { Send(Written(partition), partition); }

  static constexpr int kPartitions = 4;
  std::map<int, std::string> keys_;  // by partition
};

TEST_F(ExpiredTest, SetsApartWhatIsOlderThanTheBeginningOfItsPartition) {
  Begin({{2, 7}});
  Written(2);
  WriteAndSend(2);
  EXPECT_EQ(Judged(), (Counts{{"expired", 1}}));
}

TEST_F(ExpiredTest, MissesWhatIsYoungerThanTheBeginningOfItsPartition) {
  Begin({{2, 7}});
  WriteAndSend(2);
  Written(2);
  WriteAndSend(2);
  EXPECT_EQ(Judged(), (Counts{{"missing!", 1}}));
}

TEST_F(ExpiredTest, MissesRowsOfAPartitionThatHasItsBeginning) {
  Begin({{2, 7}});
  Written(1);
  WriteAndSend(1);
  WriteAndSend(2);
  EXPECT_EQ(Judged(), (Counts{{"missing!", 1}}));
}

TEST_F(ExpiredTest, MissesMoreThanWasDeleted) {
  Begin({{2, 1}});
  Written(2);
  Written(2);
  EXPECT_EQ(Judged(), (Counts{{"expired", 1}, {"missing!", 1}}));
}

TEST_F(ExpiredTest, LooksInEachPartitionIfKeysAreElsewhere) {
  Begin({{2, 7}});
  Written(1);
  Send(Written(1), 3);  // partitions were added since
  WriteAndSend(2);
  EXPECT_EQ(Judged(), (Counts{{"expired", 1}}));
}

TEST_F(ExpiredTest, MissesWhatWasNotToBeSent) {
  Begin({{2, 7}});
  ExpectedRecord row = Row(2);
  row.came_through = false;  // from before the slot
  Write(row);
  WriteAndSend(2);
  EXPECT_EQ(Judged(), (Counts{{"missing!", 1}}));
}

// Without a key it may have been in any partition: it is younger than what is
// left of the one that begins later.
TEST_F(ExpiredTest, MissesARowWithoutAKeyOfPartitionsThatHaveTheirBeginning) {
  Begin({{2, 7}});
  WriteAndSend(2);
  ExpectedRecord row = Row(2);
  row.key.reset();
  Write(row);
  WriteAndSend(1);
  EXPECT_EQ(Judged(), (Counts{{"missing!", 1}}));
}

TEST_F(ExpiredTest, MissesARowWithoutAKeyThatWasNotToBeSent) {
  Begin({{2, 7}});
  ExpectedRecord row = Row(2);
  row.key.reset();
  row.came_through = false;
  Write(row);
  WriteAndSend(2);
  EXPECT_EQ(Judged(), (Counts{{"missing!", 1}}));
}

TEST_F(ExpiredTest, TakesTheOrderOfRowsWithinATransaction) {
  Begin({{2, 7}});
  ExpectedRecord first = Row(2);
  ExpectedRecord second = Row(2);
  ExpectedRecord third = Row(2);
  second.written = third.written = first.written;
  for (const auto& row : {first, second, third}) Write(row);
  Send(second, 2);
  EXPECT_EQ(Judged(), (Counts{{"expired", 1}, {"missing!", 1}}));
}

TEST_F(ExpiredTest, BelievesTheSlotOfAPartitionWithoutARecord) {
  Begin({{2, 7}});
  Written(2);
  ExpectedRecord pending = Row(2);
  pending.must_be_there = false;
  Write(pending);
  EXPECT_EQ(Judged(), (Counts{{"expired", 1}, {"unconfirmed!", 1}}));
}

TEST_F(ExpiredTest, BelievesOnlyALaterRecordIfNoSlotTells) {
  Begin({{2, 7}});
  ExpectedRecord sent = Row(2);
  sent.must_be_there = false;
  Write(sent);
  WriteAndSend(1);
  ExpectedRecord lost = Row(2);
  lost.must_be_there = false;
  Write(lost);
  EXPECT_EQ(Judged({}, SentBy::kLaterRecord),
            (Counts{{"expired", 1}, {"unconfirmed!", 1}}));
}

TEST_F(ExpiredTest, SetsApartWhatALaterEventOfItsKeyHasReplaced) {
  Begin({});
  ASSERT_TRUE(audit_database_->AddCompacted("orders").ok());
  Written(2);
  WriteAndSend(2);
  Written(2);
  EXPECT_EQ(Judged(), (Counts{{"expired", 1}, {"missing!", 1}}));
}

TEST_F(ExpiredTest, SetsApartWhatATombstoneHasRemoved) {
  Begin({});
  ASSERT_TRUE(audit_database_->AddCompacted("orders").ok());
  Written(2);
  ExpectedRecord tombstone = Row(2);
  tombstone.value.reset();
  Write(tombstone);
  EXPECT_EQ(Judged(), (Counts{{"expired", 2}}));
}

TEST_F(ExpiredTest, MissesATombstoneWhoseKeyIsStillThere) {
  Begin({});
  ASSERT_TRUE(audit_database_->AddCompacted("orders").ok());
  WriteAndSend(2);
  ExpectedRecord tombstone = Row(2);
  tombstone.value.reset();
  Write(tombstone);
  EXPECT_EQ(Judged(), (Counts{{"missing!", 1}}));
}

// The key that a converter makes of it is another one.
TEST_F(ExpiredTest, P11MissesATombstoneWhoseKeyIsNotKnown) {
  Begin({});
  ASSERT_TRUE(audit_database_->AddCompacted("orders").ok());
  ExpectedRecord tombstone = Row(2);
  tombstone.value.reset();
  tombstone.key_is_known = false;
  Write(tombstone);
  EXPECT_EQ(Judged(), (Counts{{"missing!", 1}}));
}

TEST_F(ExpiredTest, LooksInEachPartitionIfTheKeyHasOtherBytes) {
  Begin({{1, 7}});
  ExpectedRecord row = Row(2);
  row.key_is_known = row.has_bytes_of_key = false;
  Write(row);
  WriteAndSend(1);
  EXPECT_EQ(Judged(), (Counts{{"expired", 1}}));
}

TEST(PartitionHashTest, IsThatOfJavasClients) {
  // org.apache.kafka.common.utils.Utils.toPositive(murmur2(bytes))
  EXPECT_EQ(PartitionHash("21", 2), 1173551340);
  EXPECT_EQ(PartitionHash("foobar", 6), 1357151166);
}

}  // namespace
}  // namespace walpost
