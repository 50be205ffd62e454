// What the TransactionAssembler makes of live servers' streams
// (tests/golden), against what SQL says was committed.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "outbox/record_builder.h"
#include "support/message_feed.h"
#include "support/transcript.h"

namespace walpost {
namespace {

using testing::RecordedFrame;

struct ExpectedEvent {
  std::string table;  // empty: a logical message
  std::map<std::string, std::optional<std::string>> columns;
  std::string content;
  size_t transaction;
  uint64_t ordinal;
};

struct ExpectedTransaction {
  std::string xid;
  std::string commit_time;
  Lsn lsn_from;
  Lsn lsn_to;
};

constexpr std::string_view kTables[] = {"public.outbox",
                                        "public.outbox_events"};

// Reads what pgNN.expected says of public.outbox, public.outbox_events and
// the transactional messages with the prefix "outbox".
class Expectation {
 public:
  explicit Expectation(const std::string& stem) {
    for (const std::string& line : testing::ReadExpected(stem)) {
      const std::vector<std::string> fields = testing::SplitFields(line);
      if (fields[0] == "begin") {
        Begin(fields);
      } else if (fields[0] == "insert" && IsOutbox(fields[1])) {
        AddInsert(fields);
      } else if (fields[0] == "message" && fields[1] == "transactional" &&
                 fields[2] == "outbox") {
        Add({}).content = testing::FromHex(fields[3].substr(2));
      }
    }
  }

  std::vector<ExpectedTransaction> transactions;
  std::vector<ExpectedEvent> events;

 private:
  static bool IsOutbox(const std::string& table) {
    return std::ranges::find(kTables, table) != std::end(kTables);
  }

  static std::string After(const std::string& field) {
    return field.substr(field.find('=') + 1);
  }

  void Begin(const std::vector<std::string>& fields) {
    const auto lsn = [&fields](size_t i) {
      return Lsn(std::stoull(After(fields[i]), nullptr, 16));
    };
    transactions.push_back(
        {After(fields[1]), After(fields[2]), lsn(3), lsn(4)});
    ordinal_ = 0;
  }

  ExpectedEvent& Add(const std::string& table) {
    events.push_back({table, {}, {}, transactions.size() - 1, ++ordinal_});
    return events.back();
  }

  void AddInsert(const std::vector<std::string>& fields) {
    ExpectedEvent& event = Add(fields[1]);
    for (size_t i = 2; i < fields.size(); ++i) {
      const std::string name = fields[i].substr(0, fields[i].find('='));
      const std::string value = After(fields[i]);
      event.columns[name] = value == "\\N"
                                ? std::nullopt
                                : std::optional(testing::Unescape(value));
    }
  }

  uint64_t ordinal_ = 0;
};

// In one step of the script the column `type` is called `kind` for a while,
// and Debezium's spelling names the same fields.
std::optional<std::string> ColumnOf(const ExpectedEvent& event,
                                    std::vector<const char*> names) {
  for (const char* name : names) {
    const auto found = event.columns.find(name);
    if (found != event.columns.end()) return found->second;
  }
  return std::nullopt;
}

std::optional<std::string> Owned(const Value& value) {
  return value ? std::optional(std::string(*value)) : std::nullopt;
}

std::string BytesOfBytea(const std::string& text) {
  return testing::FromHex(std::string_view(text).substr(2));
}

class GoldenEventsTest : public ::testing::TestWithParam<std::string> {
 protected:
  static OutboxOptions Options() {
    OutboxOptions options;
    for (const std::string_view table : kTables) {
      options.tables.emplace_back().name = table;
    }
    options.messages.prefix = "outbox";
    return options;
  }

  void ExpectEvent(const Step& step, const ExpectedEvent& expected,
                   const ExpectedTransaction& transaction) {
    const Event& event = step.event;
    EXPECT_EQ(event.position.ordinal, expected.ordinal);
    EXPECT_GE(event.position.commit_lsn, transaction.lsn_from);
    EXPECT_LT(event.position.commit_lsn, transaction.lsn_to);
    EXPECT_EQ(std::to_string(event.xid.value()), transaction.xid);
    EXPECT_EQ(std::to_string(event.commit_time.time_since_epoch().count()),
              transaction.commit_time);
    if (expected.table.empty()) {
      ExpectMessage(step, expected);
    } else {
      ExpectRow(step, expected);
    }
  }

  void ExpectRow(const Step& step, const ExpectedEvent& expected) {
    ASSERT_EQ(step.kind, Step::Kind::kEvent) << step.error;
    const Event& event = step.event;
    EXPECT_EQ(Options().tables.at(event.source).name, expected.table);
    EXPECT_EQ(Owned(event.id), ColumnOf(expected, {"id"}));
    EXPECT_EQ(Owned(event.aggregate_type),
              ColumnOf(expected, {"aggregate_type", "aggregatetype"}));
    EXPECT_EQ(Owned(event.aggregate_id),
              ColumnOf(expected, {"aggregate_id", "aggregateid"}));
    EXPECT_EQ(Owned(event.type), ColumnOf(expected, {"type"}));
    EXPECT_EQ(Owned(event.headers), ColumnOf(expected, {"headers"}));
    std::optional<std::string> payload = ColumnOf(expected, {"payload"});
    if (expected.table == "public.outbox_events" && payload) {
      payload = BytesOfBytea(*payload);
    }
    EXPECT_EQ(Owned(event.payload), payload);
  }

  void ExpectMessage(const Step& step, const ExpectedEvent& expected) {
    EXPECT_EQ(step.event.source, std::size(kTables));
    if (expected.content.starts_with("{")) {
      ASSERT_EQ(step.kind, Step::Kind::kEvent) << step.error;
      EXPECT_EQ(step.event.payload, R"({"n": 1})");
    } else {
      EXPECT_EQ(step.kind, Step::Kind::kUndeliverable);
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Recorded, GoldenEventsTest,
                         ::testing::ValuesIn(testing::Recordings("")),
                         [](const auto& stem) {
                           return testing::TestName(stem.param);
                         });

TEST_P(GoldenEventsTest, P4EventsAreWhatWasCommittedNoMoreNoLess) {
  const Expectation expected(GetParam());
  ASSERT_GT(expected.events.size(), 30u);
  testing::MessageFeed feed(Options());
  size_t next = 0;
  for (const RecordedFrame& frame : testing::ReadTranscript(GetParam())) {
    if (frame.is_keepalive()) continue;
    SCOPED_TRACE(frame.line);
    const absl::Status status = feed.Feed(frame.message());
    ASSERT_TRUE(status.ok()) << status;
    const Step& step = feed.step();
    if (step.kind != Step::Kind::kEvent &&
        step.kind != Step::Kind::kUndeliverable) {
      continue;
    }
    ASSERT_LT(next, expected.events.size()) << "one that SQL knows nothing of";
    const ExpectedEvent& event = expected.events[next++];
    ExpectEvent(step, event, expected.transactions[event.transaction]);
  }
  EXPECT_EQ(next, expected.events.size());
  EXPECT_FALSE(feed.assembler().in_transaction());
}

TEST_P(GoldenEventsTest, PositionsOnlyGrowAndEveryEndIsBehindThem) {
  testing::MessageFeed feed(Options());
  Position last;
  Lsn end;
  for (const RecordedFrame& frame : testing::ReadTranscript(GetParam())) {
    if (frame.is_keepalive()) continue;
    ASSERT_TRUE(feed.Feed(frame.message()).ok());
    const Step& step = feed.step();
    switch (step.kind) {
      case Step::Kind::kNothing:
      case Step::Kind::kPassedOver:
      case Step::Kind::kNewTable:
        break;
      case Step::Kind::kEvent:
      case Step::Kind::kUndeliverable:
        EXPECT_GT(step.event.position, last);
        // May be equal: a commit record right behind the last one.
        EXPECT_GE(step.event.position.commit_lsn, end);
        last = step.event.position;
        break;
      case Step::Kind::kTransactionEnd:
        EXPECT_GT(step.end_lsn, end);
        EXPECT_GT(step.end_lsn, last.commit_lsn);
        end = step.end_lsn;
        break;
    }
  }
}

TEST_P(GoldenEventsTest, RecordsAreBuiltOfWhatIsDeliverable) {
  const auto builder = RecordBuilder::Create(Options());
  ASSERT_TRUE(builder.ok());
  testing::MessageFeed feed(Options());
  std::string last_position;
  size_t built = 0;
  for (const RecordedFrame& frame : testing::ReadTranscript(GetParam())) {
    if (frame.is_keepalive()) continue;
    ASSERT_TRUE(feed.Feed(frame.message()).ok());
    if (feed.step().kind != Step::Kind::kEvent) continue;
    const auto record = (*builder)->Build(feed.step().event, 1);
    ASSERT_TRUE(record.ok()) << record.status();
    EXPECT_TRUE(record->topic.starts_with("outbox.event."));
    const std::string position(*record->headers.back().value);
    EXPECT_GT(position, last_position) << "text order is stream order";
    last_position = position;
    ++built;
  }
  EXPECT_GT(built, 30u);
}

}  // namespace
}  // namespace walpost
