// append_entries.lua on a real server: what is written of a batch, and in which
// order.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "redis/entry_id.h"
#include "support/random_seed.h"
#include "support/redis_server.h"
#include "walpost_redis_script.h"

namespace walpost {
namespace {

// A record: its place, or "", and the id of its event.
struct Sent {
  std::string place;
  std::string event;
};

class AppendEntriesTest : public ::testing::Test {
 protected:
  // The parts of the result.
  std::string Append(const std::vector<Sent>& records,
                     const std::string& newest = "",
                     const std::string& repeated = "",
                     const std::string& max_entries = "0",
                     const std::string& creation = "1") {
    std::vector<std::string> command = {
        "EVAL",   std::string(kScript_append_entries_lua),
        "1",      "s",
        newest,   max_entries,
        creation, repeated};
    for (const Sent& sent : records) {
      command.insert(command.end(),
                     {sent.place, "4", "id", sent.event, "payload", "p"});
    }
    return server_.Ask(command);
  }
  // The ids and events of the stream.
  std::string Stream() {
    std::string text = server_.Ask({"XRANGE", "s", "-", "+"});
    for (size_t at; (at = text.find(" payload p")) != std::string::npos;) {
      text.erase(at, 10);
    }
    for (size_t at; (at = text.find(" id ")) != std::string::npos;) {
      text.replace(at, 4, ":");
    }
    return text;
  }

  testing::RedisServer server_;
};

TEST_F(AppendEntriesTest, P5AReSendIsThereOnce) {
  EXPECT_EQ(Append({{"5-1", "a"}, {"5-2", "b"}}), " 2 5-2  ");
  EXPECT_EQ(Append({{"5-1", "a"}, {"5-2", "b"}, {"6-1", "c"}}), " 3 6-1  ");
  EXPECT_EQ(Stream(), "5-1:a 5-2:b 6-1:c");
}

// WAIT of the connection that finds an entry would not wait for it, and it may
// be lost with the server.
TEST_F(AppendEntriesTest, P1AReSendIsAWriteThatReplicasMustHave) {
  const auto changes = [this] {
    const std::string info = server_.Ask({"INFO", "persistence"});
    const std::string name = "rdb_changes_since_last_save:";
    return std::stoi(info.substr(info.find(name) + name.size()));
  };
  Append({{"5-1", "a"}, {"5-2", "b"}});
  const int before = changes();
  EXPECT_EQ(Append({{"5-1", "a"}}), " 1 5-2  ");
  EXPECT_GT(changes(), before);
  EXPECT_EQ(Append({{"6-1", "c"}}), " 1 6-1  ");
  EXPECT_EQ(Stream(), "5-1:a 5-2:b 6-1:c");
}

TEST_F(AppendEntriesTest, ARecordWithoutAPlaceGoesBehindTheNewest) {
  EXPECT_EQ(Append({{"", "x"}}), " 1 0-1  ");
  EXPECT_EQ(Append({{"5-1048576", "a"}, {"", "y"}, {"5-2097152", "b"}}),
            " 3 5-2097152  ");
  EXPECT_EQ(Stream(), "0-1:x 5-1048576:a 5-1048577:y 5-2097152:b");
}

// Whoever has written there, the event is not lost.
TEST_F(AppendEntriesTest, P1AnotherEventOfThePlaceIsNotTakenForIt) {
  Append({{"5-1", "other"}});
  EXPECT_EQ(Append({{"5-1", "a"}}), " 1 5-2 0 5-1");
  EXPECT_EQ(Stream(), "5-1:other 5-2:a");
}

// Two relays of a database, one for each of two tables, whose ids are numbers.
TEST_F(AppendEntriesTest, P1AnotherEventOfThatIdIsNotTakenForIt) {
  Append({{"5-1", "7"}});
  server_.Ask({"XADD", "s", "6-1", "id", "8", "payload", "another"});
  EXPECT_EQ(Append({{"5-1", "7"}, {"6-1", "8"}}), " 2 6-2 1 6-1");
  EXPECT_EQ(server_.Ask({"XRANGE", "s", "6-2", "+"}), "6-2 id 8 payload p");
}

// After a promotion: the same event, from another timeline.
TEST_F(AppendEntriesTest, P5AReSendOfAnotherTimelineIsThereOnce) {
  const auto append = [this](const std::string& position) {
    return server_.Ask({"EVAL", std::string(kScript_append_entries_lua), "1",
                        "s", "", "0", "1", "", "5-1", "4", "id", "a",
                        "header.walpost-position", position});
  };
  EXPECT_EQ(append("00000001-0000000000000005-0000000000000001"), " 1 5-1  ");
  EXPECT_EQ(append("00000002-0000000000000005-0000000000000001"), " 1 5-1  ");
  EXPECT_EQ(append("00000002-0000000000000006-0000000000000001"),
            " 1 5-2 0 5-1");
}

// P3: the entries were trimmed, so the run is repeated, and not its middle
// alone behind its end.
TEST_F(AppendEntriesTest, P3ARepeatedRunIsRepeatedToItsEnd) {
  Append({{"5-1", "a"}, {"6-1", "b"}, {"7-1", "c"}});
  server_.Ask({"XTRIM", "s", "MAXLEN", "1"});
  EXPECT_EQ(Append({{"5-1", "a"}, {"6-1", "b"}}), " 2 7-3 0 1 7-1");
  EXPECT_EQ(Append({{"7-1", "c"}, {"8-1", "d"}}, "", "7-1"), " 2 8-1 0 7-1");
  EXPECT_EQ(Stream(), "7-1:c 7-2:a 7-3:b 7-4:c 8-1:d");
}

TEST_F(AppendEntriesTest, P9AStreamThatLacksWhatItHadTakesNothing) {
  EXPECT_EQ(Append({{"6-1", "b"}}, "5-1"), "BEHIND 0 0-0  ");
  Append({{"4-1", "a"}});
  EXPECT_EQ(Append({{"6-1", "b"}}, "5-1"), "BEHIND 0 4-1  ");
  EXPECT_EQ(Stream(), "4-1:a");
  EXPECT_EQ(Append({}, "4-1"), " 0 4-1  ");
}

TEST_F(AppendEntriesTest, IdsAreComparedAsNumbersOf64Bits) {
  Append({{"9-18446744073709551615", "a"}});
  EXPECT_EQ(Append({{"10-1", "b"}}, "9-18446744073709551615"), " 1 10-1  ");
  Append({{"18446744073709551614-1", "c"}});
  EXPECT_EQ(Append({{"18446744073709551615-1", "d"}}, "18446744073709551613-9"),
            " 1 18446744073709551615-1  ");
}

TEST_F(AppendEntriesTest, P3NothingIsWrittenBehindAnError) {
  server_.Ask({"CONFIG", "SET", "maxmemory", "1"});
  EXPECT_THAT(Append({{"5-1", "a"}, {"5-2", "b"}}),
              ::testing::StartsWith("OOM "));
  server_.Ask({"CONFIG", "SET", "maxmemory", "0"});
  EXPECT_EQ(Stream(), "");
  // In the middle: the second record has no fields.
  const std::string said = server_.Ask(
      {"EVAL", std::string(kScript_append_entries_lua), "1", "s", "", "0", "1",
       "", "5-1", "2", "id", "a", "5-2", "1", "id", "5-3", "2", "id", "c"});
  EXPECT_THAT(said, ::testing::HasSubstr(" 1 5-1"));
  EXPECT_EQ(Stream(), "5-1:a");
}

TEST_F(AppendEntriesTest, AnotherTypeIsAnError) {
  server_.Ask({"SET", "s", "text"});
  EXPECT_THAT(Append({{"5-1", "a"}}), ::testing::StartsWith("WRONGTYPE "));
}

TEST_F(AppendEntriesTest, AMissingStreamIsCreatedOnlyIfWanted) {
  EXPECT_EQ(Append({{"5-1", "a"}}, "", "", "0", "0"), "MISSING 0 0-0  ");
  server_.Ask({"XGROUP", "CREATE", "s", "g", "0", "MKSTREAM"});
  EXPECT_EQ(Append({{"5-1", "a"}}, "", "", "0", "0"), " 1 5-1  ");
}

TEST_F(AppendEntriesTest, TrimsTheStream) {
  std::vector<Sent> records;
  for (int i = 1; i <= 1'000; ++i) {
    records.push_back({std::to_string(i) + "-1", "e"});
  }
  Append(records, "", "", "100");
  const int length = std::stoi(server_.Ask({"XLEN", "s"}));
  EXPECT_GE(length, 100);
  EXPECT_LT(length, 400);
}

// Events of the WAL and records without a place, in any order: no event's
// place is ever taken by a record without one.
TEST_F(AppendEntriesTest, P5RecordsWithoutAPlaceLeaveRoomForTheOthers) {
  const uint64_t seed = testing::RandomSeeds(1).front();
  SCOPED_TRACE(testing::ReplayWith(seed));
  testing::Random random(seed);
  uint64_t lsn = 100;
  uint64_t ordinal = 0;
  std::vector<std::string> expected;
  for (int round = 0; round < 100; ++round) {
    std::vector<Sent> records;
    for (int i = 0; i < 20; ++i) {
      const std::string event = std::to_string(expected.size());
      expected.push_back(event);
      if (random.OneIn(3)) {
        records.push_back({"", event});
        continue;
      }
      const bool is_new_transaction = random.OneIn(2);
      lsn += is_new_transaction ? random.Between(1, 100) : 0;
      ordinal = is_new_transaction ? 1 : ordinal + 1;
      records.push_back({EntryId::Of({Lsn(lsn), ordinal})->ToString(), event});
    }
    const std::string said = Append(records);
    ASSERT_THAT(said, ::testing::MatchesRegex(" 20 [0-9]+-[0-9]+  ")) << said;
    // A re-send of those with a place adds nothing.
    std::erase_if(records, [](const Sent& sent) { return sent.place.empty(); });
    Append(records);
  }
  EXPECT_EQ(server_.Ask({"XLEN", "s"}), std::to_string(expected.size()));
}

}  // namespace
}  // namespace walpost
