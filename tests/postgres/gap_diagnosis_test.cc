// P9: what the catalogs and the records say together. In doubt it is a gap.
#include "postgres/slot/gap_diagnosis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <string>

#include "base/reason_code.h"
#include "checkpoint/birth_record.h"
#include "delivery/gap.h"
#include "support/fake_postgres.h"

namespace walpost {
namespace {

using testing::Await;
using testing::FakePostgres;
using ::testing::HasSubstr;
using Kind = GapDiagnosis::Kind;

constexpr char kSlot[] = "pg_replication_slots slot";
constexpr char kComment[] = "obj_description";
constexpr char kSystem[] = "pg_control_system";
constexpr char kWanted[] = "LEFT JOIN tables wanted";
constexpr char kAges[] = "age(s.catalog_xmin)";
constexpr char kPeek[] = "pg_logical_slot_peek_binary_changes";
constexpr char kCoverage[] = "16388:690,public.outbox=16385.r16394:691";

class GapDiagnosisTest : public ::testing::Test {
 protected:
  GapDiagnosisTest() {
    tables_.resize(1);
    tables_[0].name = "public.outbox";
    birth_.slot = "orders";
    birth_.consistent_point = Lsn(0x100);
    birth_.system_identifier = "77";
    birth_.coverage = kCoverage;
    checkpoint_.slot = "orders";
    checkpoint_.system_identifier = "77";
    checkpoint_.timeline = 1;
    checkpoint_.confirmed = Lsn(0x400);
    server_.Answer(kSlot, Slot("0/400"));
    server_.Answer(kComment, {{""}});
    server_.Answer(kSystem, {{"77", "1", "0/500"}});
    server_.Answer(kWanted,
                   {{"16388:690", "public.outbox", "16385.r16394:691"}});
    server_.Answer(kAges, {{"f", "f"}});
  }

  static FakePostgres::Rows Slot(const std::string& confirmed,
                                 const std::string& wal_status = "reserved") {
    return {{"pgoutput", wal_status, "t", "0/100", confirmed, "f", "f", "d",
             "d", "logical"}};
  }

  void PutOnRecord() {
    server_.Answer(kComment, {{WithBirthRecord("ours", birth_)}});
  }

  GapDiagnosis Diagnose(std::optional<Checkpoint> checkpoint = std::nullopt) {
    GapQuestion question;
    question.slot = "orders";
    question.publication = "events";
    question.tables = tables_;
    question.checkpoint = std::move(checkpoint);
    question.kafka_cluster = "k1";
    const auto diagnosis =
        Await(context_, DiagnoseGap(*connection_, std::move(question)));
    EXPECT_TRUE(diagnosis.ok()) << diagnosis.status();
    return *diagnosis;
  }

  void ExpectGap(const GapDiagnosis& diagnosis, const std::string& gap) {
    EXPECT_EQ(diagnosis.kind, Kind::kGap);
    EXPECT_EQ(diagnosis.gap, gap) << diagnosis.text;
  }

  boost::asio::io_context context_;
  FakePostgres server_{context_};
  std::unique_ptr<Connection> connection_ = testing::Connect(context_, server_);
  std::vector<TableOptions> tables_;
  BirthRecord birth_;
  Checkpoint checkpoint_;
};

TEST_F(GapDiagnosisTest, FactsThatMatchAreNotAGap) {
  PutOnRecord();
  const GapDiagnosis diagnosis = Diagnose(checkpoint_);
  EXPECT_EQ(diagnosis.kind, Kind::kNone) << diagnosis.text;
  EXPECT_EQ(diagnosis.slot->confirmed_flush_lsn, Lsn(0x400));
  EXPECT_EQ(diagnosis.birth->consistent_point, Lsn(0x100));
}

TEST_F(GapDiagnosisTest, ASlotWithoutARecordIsNotKnown) {
  EXPECT_EQ(Diagnose().kind, Kind::kNothingKnown);
}

TEST_F(GapDiagnosisTest, P9ALostSlotWithoutARecordIsAGap) {
  server_.Answer(kSlot, Slot("0/400", "lost"));
  ExpectGap(Diagnose(), kGapSlotLost);
}

TEST_F(GapDiagnosisTest, P9ASlotThatIsGoneIsAGapIfItWasThere) {
  server_.Answer(kSlot, {});
  EXPECT_EQ(Diagnose().kind, Kind::kNothingKnown);
  PutOnRecord();
  ExpectGap(Diagnose(), kGapSlotMissing);
}

TEST_F(GapDiagnosisTest, P9ASlotAheadOfItsCheckpointIsAGap) {
  server_.Answer(kSlot, Slot("0/401"));
  ExpectGap(Diagnose(checkpoint_), kGapSlotAdvanced);
}

TEST_F(GapDiagnosisTest, ACheckpointOfAnotherSlotSaysNothing) {
  server_.Answer(kSlot, Slot("0/401"));
  checkpoint_.slot = "others";
  EXPECT_EQ(Diagnose(checkpoint_).kind, Kind::kNothingKnown);
}

TEST_F(GapDiagnosisTest, P9AnotherSystemIsAGap) {
  PutOnRecord();
  server_.Answer(kSystem, {{"78", "1", "0/500"}});
  ExpectGap(Diagnose(), kGapOtherCluster);
}

TEST_F(GapDiagnosisTest, P9AnOlderTimelineIsAGap) {
  checkpoint_.timeline = 2;
  ExpectGap(Diagnose(checkpoint_), kGapTimelineDiverged);
}

TEST_F(GapDiagnosisTest, P9ATimelineOlderThanThatOfTheBirthIsAGap) {
  birth_.timeline = 2;
  PutOnRecord();
  ExpectGap(Diagnose(), kGapTimelineDiverged);
  birth_.timeline = 1;
  PutOnRecord();
  EXPECT_EQ(Diagnose().kind, Kind::kNone);
}

TEST_F(GapDiagnosisTest, P9WalThatEndsBeforeTheCheckpointIsAGap) {
  server_.Answer(kSystem, {{"77", "1", "0/3FF"}});
  ExpectGap(Diagnose(checkpoint_), kGapServerBehind);
}

TEST_F(GapDiagnosisTest, P9DefinitionsOtherThanOnRecordAreAGap) {
  PutOnRecord();
  server_.Answer(kWanted, {{"16399:740", "public.outbox", "16385.r16394:691"}});
  ExpectGap(Diagnose(), kGapCoverageChanged);
  ExpectGap(Diagnose(checkpoint_), kGapCoverageChanged);
}

TEST_F(GapDiagnosisTest, P9AnotherKafkaIsAGap) {
  birth_.kafka_cluster = "k1";
  PutOnRecord();
  EXPECT_EQ(Diagnose(checkpoint_).kind, Kind::kNone);
  checkpoint_.kafka_cluster = "k0";
  ExpectGap(Diagnose(checkpoint_), kGapKafkaReplaced);
}

// A checkpoint from before the brokers had reported their cluster.
TEST_F(GapDiagnosisTest, P9ACheckpointWithoutAKafkaHasTheOneOnRecord) {
  birth_.kafka_cluster = "k0";
  PutOnRecord();
  ExpectGap(Diagnose(checkpoint_), kGapKafkaReplaced);
}

TEST_F(GapDiagnosisTest, P9AGapOnRecordStaysOne) {
  birth_.gap = kGapWalForked;
  PutOnRecord();
  ExpectGap(Diagnose(), kGapWalForked);
  checkpoint_.gap = "slot_lost in the night";
  const GapDiagnosis diagnosis = Diagnose(checkpoint_);
  ExpectGap(diagnosis, kGapSlotLost);
  EXPECT_EQ(diagnosis.text, "in the night");
}

// Without a record, the ages and the WAL are all there is to look at.
TEST_F(GapDiagnosisTest, P9APublicationYoungerThanTheSlotIsAGap) {
  server_.Answer(kAges, {{"t", "f"}});
  server_.Fail(kPeek, "42704", "publication \"events\" does not exist");
  const GapDiagnosis younger = Diagnose();
  ExpectGap(younger, kReasonPublicationMissing);
  EXPECT_THAT(younger.text, HasSubstr("publication events is younger"));
  server_.Answer(kAges, {{"t", "t"}});
  EXPECT_THAT(Diagnose().text, HasSubstr("publication events is missing"));
  EXPECT_THAT(server_.StatementsWith(kAges)[0],
              HasSubstr("age(p.xmin) <= age(s.catalog_xmin)"));
}

TEST_F(GapDiagnosisTest, AnOlderPublicationIsNotLookedForInTheWal) {
  EXPECT_EQ(Diagnose().kind, Kind::kNothingKnown);
  EXPECT_TRUE(server_.StatementsWith(kPeek).empty());
}

// The slot has inherited the horizon of an older one, or nothing is pending.
TEST_F(GapDiagnosisTest, APublicationThatTheSlotCanSeeIsNotAGap) {
  for (const char* is_missing : {"f", "t"}) {
    server_.Answer(kAges, {{"t", is_missing}});
    server_.Answer(kPeek, {{"1"}});
    const GapDiagnosis diagnosis = Diagnose();
    EXPECT_EQ(diagnosis.kind, Kind::kNothingKnown);
    EXPECT_EQ(diagnosis.doubt, "");
  }
  const auto peeks = server_.StatementsWith(kPeek);
  EXPECT_THAT(peeks[0], HasSubstr("'publication_names', '\"events\"'"));
}

TEST_F(GapDiagnosisTest, ASlotInUseLeavesADoubt) {
  server_.Answer(kAges, {{"t", "f"}});
  server_.Fail(kPeek, "55006", "slot is active for PID 7");
  const GapDiagnosis diagnosis = Diagnose();
  EXPECT_EQ(diagnosis.kind, Kind::kNothingKnown);
  EXPECT_THAT(diagnosis.doubt, HasSubstr("may be younger than slot orders"));
  EXPECT_THAT(diagnosis.doubt, HasSubstr("active for PID 7"));
}

}  // namespace
}  // namespace walpost
