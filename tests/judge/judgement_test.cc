#include "judge/judgement.h"

#include <gtest/gtest.h>

#include <map>

namespace walpost {
namespace {

using Counts = std::map<std::string, uint64_t>;

// Three events of one key, and the records that they should have become.
class JudgementTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto created = Evidence::Create(::testing::TempDir());
    ASSERT_TRUE(created.ok()) << created.status();
    evidence_ = *std::move(created);
    for (const char* id : {"a", "b", "c"}) Expect(id);
  }

  void Expect(const std::string& id, bool must_be_there = true) {
    ExpectedRecord row;
    row.id = id;
    row.topic = "orders";
    row.key_is_known = true;
    row.key = "k";
    row.value_is_known = true;
    row.value = "v";
    row.sequence = ++rows_;
    row.must_be_there = must_be_there;
    ASSERT_TRUE(evidence_->Add(row).ok());
  }

  FoundRecord Record(const std::string& id) {
    FoundRecord record;
    record.id = id;
    record.topic = "orders";
    record.key = "k";
    record.value = "v";
    record.offset = records_++;
    record.position = "position-" + id;
    return record;
  }
  void Find(const FoundRecord& record) {
    ASSERT_TRUE(evidence_->Add(record).ok());
  }
  void FindAll() {
    for (const char* id : {"a", "b", "c"}) Find(Record(id));
  }

  // The kinds that were found, those that are errors with an exclamation mark.
  Counts Judged(const JudgementOptions& options = {}) {
    EXPECT_TRUE(evidence_->Sort().ok());
    const auto report = Judge(*evidence_, options);
    EXPECT_TRUE(report.ok()) << report.status();
    Counts counts;
    bool clean = true;
    for (size_t i = 0; i < kFindingKinds; ++i) {
      const Findings& found = report->findings[i];
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

  std::unique_ptr<Evidence> evidence_;
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
  EXPECT_EQ(Judged(), (Counts{{"unconfirmed", 1}}));
}

TEST_F(JudgementTest, ExpectsAllOnceTheSlotHasConfirmedIt) {
  FindAll();
  Expect("d", /*must_be_there=*/false);
  ASSERT_TRUE(evidence_->ExpectAll().ok());
  EXPECT_EQ(Judged(), (Counts{{"missing!", 1}}));
}

TEST_F(JudgementTest, CountsRepeatsButNotAsErrors) {
  FindAll();
  Find(Record("b"));
  Find(Record("c"));
  EXPECT_EQ(Judged(), (Counts{{"duplicates", 2}}));
  EXPECT_EQ(Judge(*evidence_, {.sequence_column = "",
                               .fail_on_not_in_table = false,
                               .fail_on_duplicates = true})
                ->is_clean(),
            false);
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
  EXPECT_EQ(Judged(), (Counts{{"not_in_table", 1}, {"without_id", 1}}));
}

TEST_F(JudgementTest, SetsApartWhatWasCommittedMeanwhile) {
  FindAll();
  Find(Record("d"));
  ASSERT_TRUE(evidence_->AddNewer("d").ok());
  EXPECT_EQ(Judged(), (Counts{{"newer", 1}}));
}

TEST_F(JudgementTest, FindsFirstOccurrencesOutOfOrder) {
  Find(Record("a"));
  Find(Record("c"));
  Find(Record("b"));
  EXPECT_EQ(Judged(), (Counts{{"disorder!", 1}}));
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
  const auto report = Judge(*evidence_, options);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->order_judged_by, "column version");
  EXPECT_EQ((*report)[FindingKind::kDisorder].count, 1u);
}

TEST_F(JudgementTest, AReSendIsNoDisorder) {
  for (const char* id : {"a", "b", "a", "b", "c"}) Find(Record(id));
  EXPECT_EQ(Judged(), (Counts{{"duplicates", 2}}));
}

TEST_F(JudgementTest, FindsAKeyInTwoPartitions) {
  Find(Record("a"));
  Find(Record("b"));
  FoundRecord record = Record("c");
  record.partition = 1;
  Find(record);
  EXPECT_EQ(Judged(), (Counts{{"split_key!", 1}}));
}

TEST(EvidenceTest, SaysWhereItCannotWrite) {
  const auto evidence = Evidence::Create("/nonexistent");
  EXPECT_TRUE(absl::IsFailedPrecondition(evidence.status()));
  EXPECT_NE(std::string(evidence.status().message()).find("/nonexistent"),
            std::string::npos);
}

}  // namespace
}  // namespace walpost
