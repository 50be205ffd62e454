// tail, and dead-letters of a topic: what is printed, and what is sent again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/reason_code.h"
#include "cli/verb_fixture.h"
#include "outbox/record_builder.h"
#include "support/message_bytes.h"
#include "support/wal_source_answers.h"

namespace walpost {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Outcome;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::StartsWith;

using namespace testing::wal_source;  // the words of the statements

class TailTest : public testing::VerbFixture {
 protected:
  TailTest() {
    testing::AnswerWalSource(server_);
    SetTables("    []\n");
    Set("outbox.messages", "{prefix: outbox}");
    Set("route.topic", "'t.{aggregate_type}'");
  }

  static std::vector<std::string> Frames(
      const std::vector<std::string>& types) {
    std::vector<std::string> payloads = {testing::BeginMessage(Lsn(0x400))};
    for (const std::string& type : types) {
      const std::string content = fmt::format(
          R"({{"id": "i", "aggregate_type": "{}", "aggregate_id": "k", )"
          R"("payload": "v"}})",
          type);
      testing::ByteWriter message;
      message.Char('M').Uint8(1).Uint64(0x3f0).CString("outbox");
      message.Uint32(static_cast<uint32_t>(content.size())).Raw(content);
      payloads.push_back(message.bytes());
    }
    payloads.push_back(testing::CommitMessage(Lsn(0x400), Lsn(0x410)));
    std::vector<std::string> frames;
    for (const std::string& payload : payloads) {
      frames.push_back(testing::XLogDataFrame(Lsn(0x400), 0, payload));
    }
    return frames;
  }
};

TEST_F(TailTest, PrintsAsManyEventsAsAreAskedFor) {
  server_.Stream(Frames({"order", "a b", "third"}));
  const Outcome ended = Run("tail --count 2");
  EXPECT_EQ(ended.exit_code, kExitOk) << ended.err;
  EXPECT_EQ(
      ended.out,
      R"x({"topic":"t.order","id":"i","aggregate_type":"order","aggregate_id":"k","type":null,"payload":"v","headers":null,"commit_lsn":"0/400","ordinal":1,"xid":7,"commit_time":"2000-01-01T00:00:00Z"}
{"id":"i","aggregate_type":"a b","aggregate_id":"k","type":null,"payload":"v","headers":null,"commit_lsn":"0/400","ordinal":2,"xid":7,"commit_time":"2000-01-01T00:00:00Z","error":"'t.a b' is not a topic name that Kafka accepts (1 to 249 of a-z A-Z 0-9 . _ -, not '.' or '..')"}
)x");
  EXPECT_THAT(server_.StatementsWith(kCreate),
              ElementsAre(HasSubstr("\" TEMPORARY")));
  EXPECT_THAT(server_.StatementsWith(kStart),
              ElementsAre(HasSubstr("SLOT \"walpost_tail_")));
  EXPECT_THAT(server_.StatementsWith(kComment), IsEmpty());
}

TEST_F(TailTest, APublicationIsNeeded) {
  constexpr char kExists[] = "SELECT 1 FROM pg_catalog.pg_publication";
  constexpr char kMade[] = "CREATE PUBLICATION \"outbox\"";
  server_.Answer(kExists, {});
  const Outcome ended = Run("tail --count 1");
  EXPECT_EQ(ended.exit_code, kExitPostgres);
  EXPECT_THAT(ended.err,
              HasSubstr("publication outbox does not exist: run "
                        "walpost init -c FILE --admin CONNINFO, or CREATE"));
  EXPECT_THAT(server_.StatementsWith(kMade), IsEmpty());
  Set("postgres.create", "true");
  server_.Stream(Frames({"order"}));
  EXPECT_EQ(Run("tail --count 1").exit_code, kExitOk);
  EXPECT_THAT(server_.StatementsWith(kMade), SizeIs(1));
}

// The other relay sends while walpost reads along.
class ShadowTest : public TailTest {
 protected:
  ShadowTest() {
    Set("route.position_header", "false");
    kafka_.CreateTopic("t.order", 1);
    server_.Stream(Frames({"order"}));
    server_.Answer("pg_current_wal_flush_lsn", {{"0/410"}});
  }
  void Send(const std::string& key, const std::string& value,
            const std::string& id = "i") {
    server_.AnswerAfter(
        kCreate, {{"shadow", "0/300", std::nullopt, "pgoutput"}}, [=, this] {
          kafka_.Write("t.order", key, value, {{"id", id}});
        });
  }
  Outcome Compare(const std::string& more = "") {
    return Run("shadow --for 700ms --grace 5s" + more);
  }
};

TEST_F(ShadowTest, WhatBothSendIsEqual) {
  Send("k", "v");
  const Outcome ended = Compare();
  EXPECT_EQ(ended.exit_code, kExitOk) << ended.out << ended.err;
  EXPECT_EQ(ended.out, "compared: 1 events, 1 of them equal\n");
  EXPECT_THAT(server_.StatementsWith(kCreate),
              ElementsAre(HasSubstr("\" TEMPORARY")));
  EXPECT_THAT(server_.StatementsWith(kComment), IsEmpty());
}

TEST_F(ShadowTest, EachDifferenceIsNamed) {
  Send("k", "w");
  Outcome ended = Compare();
  EXPECT_EQ(ended.exit_code, kExitFindings) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("compared: 1 events, 0 of them equal\n"));
  EXPECT_THAT(ended.out, HasSubstr("value: 1\n"));
  Send("other", "v");
  ended = Compare(" --json");
  EXPECT_EQ(ended.exit_code, kExitFindings) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr(R"("compared":1,"equal":0)"));
  EXPECT_THAT(ended.out, HasSubstr(R"("key":1)"));
  EXPECT_THAT(ended.out, HasSubstr(R"("value":0)"));
}

TEST_F(ShadowTest, AnEventThatCannotBeSentIsNoAgreement) {
  server_.Stream(Frames({"a b"}));
  Send("k", "v", "other");
  const Outcome ended = Compare();
  EXPECT_EQ(ended.exit_code, kExitFindings) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("undeliverable: 1, the last one: 't.a b'"));
}

TEST_F(ShadowTest, EachEndHasItsExitCode) {
  server_.Fail(kCreate, "53400", "all replication slots are in use");
  EXPECT_EQ(Compare().exit_code, kExitPostgres);
  EXPECT_EQ(Run("shadow --for soon").exit_code, kExitUsage);
}

class LetterTopicTest : public testing::VerbFixture {
 protected:
  LetterTopicTest() {
    Set("route.topic", "'t.{aggregate_type}'");
    Set("dead_letter.topic", "dead");
    kafka_.CreateTopic("dead", 1);
    kafka_.CreateTopic("t.order", 1);
    Write("i1", "a", "order", kReasonRecordTooLarge);
    Write("i2", "b", "order", kReasonTopicIllegal);
    Write("i3", "c", "a b", kReasonTopicIllegal);
    kafka_.Write("dead", "k", "not a dead letter");
  }

  void Write(const std::string& id, const std::string& key,
             const std::string& type, std::string_view code) {
    OutboxOptions outbox;
    outbox.tables.resize(1);
    outbox.route.topic = "t.{aggregate_type}";
    outbox.dead_letter.topic = "dead";
    const auto builder = RecordBuilder::Create(outbox);
    const std::vector<Value> references = {type};
    const std::string payload = "v" + id;
    Event event;
    event.position = {Lsn(0x400), 1};
    event.commit_time = WallTime(std::chrono::seconds(1'600'000'000));
    event.id = id;
    event.aggregate_type = type;
    event.aggregate_id = key;
    event.payload = payload;
    event.references = references;
    const auto record =
        (*builder)->BuildDeadLetter(event, Undeliverable(code, "so"), 3);
    ASSERT_TRUE(record.ok()) << record.status();
    std::vector<std::pair<std::string, std::string>> headers;
    for (const RecordHeader& header : record->headers) {
      if (header.value) headers.emplace_back(header.name, *header.value);
    }
    kafka_.Write("dead", key, std::string(record->value.value_or("")), headers);
  }
};

TEST_F(LetterTopicTest, ListsAndShowsThem) {
  Outcome ended = Run("dead-letters list");
  EXPECT_EQ(ended.exit_code, kExitOk) << ended.err;
  EXPECT_EQ(ended.out, R"(dead/0/0  record_too_large  id i1  key a
    committed 2020-09-13 12:26:40Z in public.outbox, 3 bytes, for topic t.order
    so
dead/0/1  topic_illegal  id i2  key b
    committed 2020-09-13 12:26:40Z in public.outbox, 3 bytes, for topic t.order
    so
dead/0/2  topic_illegal  id i3  key c
    committed 2020-09-13 12:26:40Z in public.outbox, 3 bytes
    so
3 dead letters: 1 record_too_large, 2 topic_illegal
)");
  ended = Run("dead-letters list --class topic_illegal --json");
  EXPECT_EQ(
      ended.out,
      R"({"place":"dead/0/1","class":"topic_illegal","reason":"so","topic":"t.order","source":"public.outbox","position":"00000003-0000000000000400-0000000000000001","id":"i2","key":"b","aggregate_type":"order","type":null,"committed_at":"2020-09-13 12:26:40Z","payload_bytes":3,"copies":1,"state":"open"}
{"place":"dead/0/2","class":"topic_illegal","reason":"so","topic":"","source":"public.outbox","position":"00000003-0000000000000400-0000000000000001","id":"i3","key":"c","aggregate_type":"a b","type":null,"committed_at":"2020-09-13 12:26:40Z","payload_bytes":3,"copies":1,"state":"open"}
)");
  ended = Run("dead-letters show --id i1");
  EXPECT_EQ(ended.exit_code, kExitOk) << ended.err;
  EXPECT_THAT(ended.out, StartsWith("dead/0/0\n"));
  EXPECT_THAT(ended.out, HasSubstr("\nvi1\n"));
  ended = Run("dead-letters show --id i9");
  EXPECT_EQ(ended.exit_code, kExitFindings);
  EXPECT_EQ(ended.err, "walpost: no such dead letter is open\n");
}

TEST_F(LetterTopicTest, ADryRunTriesToBuildThem) {
  const Outcome ended =
      Run("dead-letters retry --all --out-of-order --dry-run");
  EXPECT_EQ(ended.exit_code, kExitFindings);
  EXPECT_EQ(
      ended.out,
      "2 would be retried\ndead/0/2 stays as it is: 't.a b' is not a topic "
      "name that Kafka accepts (1 to 249 of a-z A-Z 0-9 . _ -, not '.' "
      "or '..')\n");
  EXPECT_THAT(kafka_.Log("t.order"), IsEmpty());
}

TEST_F(LetterTopicTest, WhatIsRetriedIsSettled) {
  Outcome ended =
      Run("dead-letters retry --class record_too_large --out-of-order --why x");
  EXPECT_EQ(ended.exit_code, kExitOk) << ended.err;
  EXPECT_EQ(ended.out, "1 retried\n");
  EXPECT_THAT(kafka_.Log("t.order"), ElementsAre(Pair("a", "vi1")));
  ended = Run("dead-letters discard --id i2 --why x --by carol");
  EXPECT_EQ(ended.exit_code, kExitOk) << ended.err;
  EXPECT_EQ(ended.out, "1 discarded\n");
  ended = Run("dead-letters list");
  EXPECT_THAT(ended.out, HasSubstr("1 dead letters: 1 topic_illegal\n"));
  ended = Run("dead-letters list --all");
  EXPECT_THAT(ended.out, HasSubstr("    retried "));
  EXPECT_THAT(ended.out, HasSubstr(" by alice: x\n"));
  EXPECT_THAT(ended.out, HasSubstr("    discarded "));
  EXPECT_THAT(ended.out, HasSubstr(" by carol: x\n"));
  ended = Run("dead-letters retry --id i1 --out-of-order --why again");
  EXPECT_EQ(ended.exit_code, kExitFindings);
  EXPECT_THAT(kafka_.Log("t.order"), SizeIs(1));
}

}  // namespace
}  // namespace walpost
