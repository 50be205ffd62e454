#include "verify/nats_records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nats/nats.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "nats/nats_server.h"
#include "verify/published_text.h"

namespace walpost {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class NatsRecordsTest : public ::testing::Test {
 protected:
  NatsRecordsTest() {
    EXPECT_EQ(natsConnection_ConnectTo(&connection_, server_.url().c_str()),
              NATS_OK);
  }
  ~NatsRecordsTest() override { natsConnection_Destroy(connection_); }

  NatsRecords Records() {
    natsConnection* connection = nullptr;
    EXPECT_EQ(natsConnection_ConnectTo(&connection, server_.url().c_str()),
              NATS_OK);
    return NatsRecords(connection, "");
  }
  using Headers = std::vector<std::pair<std::string, std::string>>;
  void Publish(const std::string& subject, const std::string& payload,
               const Headers& headers = {}) {
    natsMsg* message = nullptr;
    ASSERT_EQ(natsMsg_Create(&message, subject.c_str(), nullptr, payload.data(),
                             static_cast<int>(payload.size())),
              NATS_OK);
    for (const auto& [name, value] : headers) {
      natsMsgHeader_Add(message, name.c_str(), value.c_str());
    }
    natsMsg* answer = nullptr;
    EXPECT_EQ(natsConnection_RequestMsg(&answer, connection_, message, 5000),
              NATS_OK);
    natsMsg_Destroy(answer);
    natsMsg_Destroy(message);
  }
  void Delete(const std::string& stream, uint64_t sequence) {
    const std::string answer =
        server_.Ask("$JS.API.STREAM.MSG.DELETE." + stream,
                    fmt::format(R"({{"seq":{}}})", sequence));
    ASSERT_THAT(answer, HasSubstr("success"));
  }

  testing::NatsServer server_;
  natsConnection* connection_ = nullptr;
};

TEST_F(NatsRecordsTest, SubjectsAreFoundByNameAndByTheirBeginning) {
  server_.MakeStream("A", "shop.>");
  server_.MakeStream("B", "other");
  Publish("shop.orders", "");
  Publish("shop.orders.new", "");
  Publish("shop.invoices", "");
  NatsRecords records = Records();
  EXPECT_THAT(*records.FindTopics({}, {"shop.ord"}),
              ElementsAre("shop.orders", "shop.orders.new"));
  // One exists if it would be taken; and no wildcard is a name.
  EXPECT_THAT(*records.FindTopics({"other", "none", "shop.*", "a b"}, {}),
              ElementsAre("other"));
  EXPECT_THAT(*records.FindTopics({}, {""}),
              ElementsAre("shop.invoices", "shop.orders", "shop.orders.new"));
}

TEST_F(NatsRecordsTest, P11AllPartsOfAMessageAreRead) {
  server_.MakeStream("A", "s");
  Publish("s", "",
          {{"id", "7"},
           {"id", "other"},
           {"walpost-key", "=?UTF-8?B?YQpi?="},
           {"walpost-position", "no"},
           {"walpost-position", "p"},
           {"walpost-replay", "r"}});
  Publish("s", "", {{"walpost-tombstone", "true"}});
  NatsRecords records = Records();
  ASSERT_THAT(*records.FindTopics({"s"}, {}), ElementsAre("s"));
  EXPECT_THAT(testing::TextsOf(records, {"s"}),
              ElementsAre("s@1 id=7 key=a\nb value= position=p replayed",
                          "s@2 id=- key=- value=- position=-"));
  EXPECT_EQ(records.total(), 2);
}

TEST_F(NatsRecordsTest, P11TheEndIsThatOfTheBeginning) {
  server_.MakeStream("A", "shop.>");
  for (int i = 1; i <= 700; ++i) {
    Publish(i % 2 == 0 ? "shop.even" : "shop.odd", std::to_string(i));
  }
  // Neither the first nor the last one is left.
  Delete("A", 1);
  Delete("A", 350);
  Delete("A", 700);
  NatsRecords records = Records();
  ASSERT_TRUE(records.FindTopics({"shop.even"}, {}).ok());
  int64_t count = 0;
  const absl::Status read =
      records.Read({"shop.even"}, [&](FoundRecord& record) {
        EXPECT_EQ(record.topic, "shop.even");
        EXPECT_EQ(std::to_string(record.offset), *record.value);
        if (++count == 1) Publish("shop.even", "new");
        return absl::OkStatus();
      });
  EXPECT_TRUE(read.ok()) << read;
  EXPECT_EQ(count, 348);
}

// A subject that has moved from one stream to another.
TEST_F(NatsRecordsTest, P11ASubjectOfTwoStreamsIsReadFromBoth) {
  server_.MakeStream("Z", "s");
  Publish("s", "old");
  const std::string edited =
      server_.Ask("$JS.API.STREAM.UPDATE.Z",
                  R"({"name":"Z","subjects":["x"],"storage":"file",)"
                  R"("num_replicas":1})");
  ASSERT_THAT(edited, ::testing::Not(HasSubstr("\"error\"")));
  server_.MakeStream("A", "s");
  Publish("s", "new");
  NatsRecords records = Records();
  ASSERT_THAT(*records.FindTopics({"s", "x"}, {}), ElementsAre("s", "x"));
  EXPECT_THAT(testing::TextsOf(records, {"s"}),
              ElementsAre("s@1 id=- key=- value=new position=-",
                          "s@1 id=- key=- value=old position=-"));
  bool may_be_some = false;
  EXPECT_THAT(testing::DeletedFrom(records, {"s"}, &may_be_some),
              ElementsAre("s 0", "s 0"));
}

// It leaves while messages stream in.
TEST_F(NatsRecordsTest, P11ItEndsWhileOthersWrite) {
  server_.MakeStream("A", "s");
  for (int i = 0; i < 100; ++i) Publish("s", "before");
  std::atomic<bool> is_over = false;
  std::thread writer([&] {
    while (!is_over) {
      natsConnection_PublishString(connection_, "s", "more");
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
  });
  for (int i = 0; i < 20; ++i) {
    NatsRecords records = Records();
    EXPECT_TRUE(records.FindTopics({"s"}, {}).ok());
    int64_t last = 0;
    const absl::Status read = records.Read({"s"}, [&](FoundRecord& record) {
      EXPECT_EQ(record.offset, ++last);
      return absl::OkStatus();
    });
    EXPECT_TRUE(read.ok()) << read;
    EXPECT_GE(last, 100);
  }
  is_over = true;
  writer.join();
}

// Whoever empties it meanwhile does not make it wait for ever.
TEST_F(NatsRecordsTest, P11AStreamThatIsEmptiedMeanwhileEnds) {
  server_.MakeStream("A", "s");
  Publish("s", "1");
  NatsRecords records = Records();
  ASSERT_TRUE(records.FindTopics({"s"}, {}).ok());
  server_.Ask("$JS.API.STREAM.PURGE.A", "");
  EXPECT_THAT(testing::TextsOf(records, {"s"}), ElementsAre());
}

TEST_F(NatsRecordsTest, P11WhatWasDeletedIsCounted) {
  server_.MakeStream("A", "a.>");
  server_.MakeStream("B", "b");
  server_.MakeStream("C", "c");
  for (int i = 0; i < 5; ++i) {
    Publish("a.x", "");
    Publish("b", "");
  }
  Publish("a.y", "");
  Delete("A", 1);
  Delete("A", 4);
  NatsRecords records = Records();
  ASSERT_TRUE(records.FindTopics({"b", "c"}, {"a."}).ok());
  bool may_be_some = false;
  EXPECT_THAT(
      testing::DeletedFrom(records, {"a.x", "a.y", "b", "c"}, &may_be_some),
      ElementsAre("a.x 2", "a.y 2", "b 0", "c 0"));
  EXPECT_TRUE(may_be_some);
  testing::DeletedFrom(records, {"b", "c"}, &may_be_some);
  EXPECT_FALSE(may_be_some);
}

TEST_F(NatsRecordsTest, P11AStreamThatForgetsIsNoWitness) {
  server_.MakeStream("A", "s", R"(,"retention":"workqueue")");
  NatsRecords records = Records();
  ASSERT_TRUE(records.FindTopics({"s"}, {}).ok());
  const absl::Status read =
      records.Read({"s"}, [](FoundRecord&) { return absl::OkStatus(); });
  EXPECT_TRUE(absl::IsFailedPrecondition(read)) << read;
}

}  // namespace
}  // namespace walpost
