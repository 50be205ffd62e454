#include "pgoutput/decoder.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "support/message_bytes.h"
#include "support/truncation_twin.h"

namespace walpost::pgoutput {
namespace {

using namespace walpost::testing;  // the builders of bytes
using std::literals::operator""sv;

// Decodes what must be a message of type T. The bytes must outlive it.
template <typename T>
T MustDecode(std::string_view bytes) {
  const auto message = Decode(bytes);
  EXPECT_TRUE(message.ok()) << message.status();
  if (!message.ok() || !std::holds_alternative<T>(*message)) {
    ADD_FAILURE() << "another kind of message";
    return T();
  }
  return std::get<T>(*message);
}

struct OwnedValue {
  ValueKind kind;
  std::string bytes;
  friend bool operator==(const OwnedValue&, const OwnedValue&) = default;
};

std::vector<OwnedValue> ValuesOf(const TupleData& row) {
  std::vector<OwnedValue> values;
  row.ForEach([&values](size_t i, const ColumnValue& value) {
    EXPECT_EQ(i, values.size());
    values.push_back({value.kind, std::string(value.bytes)});
  });
  EXPECT_EQ(values.size(), row.column_count());
  return values;
}

TEST(DecoderTest, ReadsBegin) {
  const auto begin = MustDecode<Begin>(
      "B"
      "\0\0\0\x16\xb3\x74\xd8\x48"
      "\0\0\0\0\0\0\0\x01"
      "\x89\xab\xcd\xef"sv);
  EXPECT_EQ(begin.commit_lsn.ToString(), "16/B374D848");
  EXPECT_EQ(begin.commit_time, FromPostgresMicros(1));
  EXPECT_EQ(begin.xid, Xid(0x89ABCDEF));
}

TEST(DecoderTest, ReadsCommit) {
  const std::string bytes = CommitMessage(Lsn(0x100), Lsn(0x130), -5);
  const auto commit = MustDecode<Commit>(bytes);
  EXPECT_EQ(commit.commit_lsn, Lsn(0x100));
  EXPECT_EQ(commit.end_lsn, Lsn(0x130));
  EXPECT_EQ(commit.commit_time, FromPostgresMicros(-5));
}

TEST(DecoderTest, ReadsOrigin) {
  const std::string bytes = OriginMessage(Lsn(0xA0B00000C), "upstream");
  const auto origin = MustDecode<Origin>(bytes);
  EXPECT_EQ(origin.commit_lsn, Lsn(0xA0B00000C));
  EXPECT_EQ(origin.name, "upstream");
}

TEST(DecoderTest, ReadsRelation) {
  const std::string bytes = RelationMessage(
      16384, "public", "outbox",
      {{"id", 2950, true, -1}, {"kind", 1043, false, 68}, {"Größe", 25}}, 'f');
  const auto relation = MustDecode<Relation>(bytes);
  EXPECT_EQ(relation.oid, 16384u);
  EXPECT_EQ(relation.schema, "public");
  EXPECT_EQ(relation.name, "outbox");
  EXPECT_EQ(relation.replica_identity, 'f');
  ASSERT_EQ(relation.column_count, 3u);
  std::vector<Column> columns;
  relation.ForEachColumn([&](const Column& c) { columns.push_back(c); });
  ASSERT_EQ(columns.size(), 3u);
  EXPECT_TRUE(columns[0].is_key);
  EXPECT_EQ(columns[0].name, "id");
  EXPECT_EQ(columns[0].type_oid, 2950u);
  EXPECT_EQ(columns[0].type_modifier, -1);
  EXPECT_FALSE(columns[1].is_key);
  EXPECT_EQ(columns[1].type_modifier, 68);
  EXPECT_EQ(columns[2].name, "Größe");
}

TEST(DecoderTest, ReadsRelationWithoutColumns) {
  const std::string bytes = RelationMessage(1, "", "t", {});
  const auto relation = MustDecode<Relation>(bytes);
  EXPECT_EQ(relation.schema, "") << "pg_catalog";
  EXPECT_EQ(relation.column_count, 0u);
  EXPECT_TRUE(relation.column_bytes.empty());
}

TEST(DecoderTest, ReadsType) {
  const std::string bytes = TypeMessage(16400, "public", "mood");
  const auto type = MustDecode<Type>(bytes);
  EXPECT_EQ(type.oid, 16400u);
  EXPECT_EQ(type.schema, "public");
  EXPECT_EQ(type.name, "mood");
}

TEST(DecoderTest, ReadsInsertWithEveryKindOfColumn) {
  const std::string bytes = InsertMessage(
      16384, {Text("42"), Null(), Text(""), Binary("\0\x01"sv), Unchanged()});
  const auto insert = MustDecode<Insert>(bytes);
  EXPECT_EQ(insert.relation_oid, 16384u);
  EXPECT_EQ(
      ValuesOf(insert.row),
      (std::vector<OwnedValue>{{ValueKind::kText, "42"},
                               {ValueKind::kNull, ""},
                               {ValueKind::kText, ""},
                               {ValueKind::kBinary, std::string("\0\1", 2)},
                               {ValueKind::kUnchanged, ""}}));
}

TEST(DecoderTest, CopiesNothing) {
  const std::string bytes = InsertMessage(1, {Text("payload")});
  const auto insert = MustDecode<Insert>(bytes);
  insert.row.ForEach([&bytes](size_t, const ColumnValue& value) {
    EXPECT_GE(value.bytes.data(), bytes.data());
    EXPECT_LE(value.bytes.data() + value.bytes.size(),
              bytes.data() + bytes.size());
  });
}

TEST(DecoderTest, ReadsInsertOfATableWithoutColumns) {
  const std::string bytes = InsertMessage(1, {});
  EXPECT_EQ(MustDecode<Insert>(bytes).row.column_count(), 0u);
}

TEST(DecoderTest, ReadsInsertOfTheMostColumns) {
  const Cells cells(65535, Null());
  const std::string bytes = InsertMessage(1, cells);
  EXPECT_EQ(ValuesOf(MustDecode<Insert>(bytes).row).size(), 65535u);
}

TEST(DecoderTest, ReadsUpdateWithAndWithoutTheOldRow) {
  struct Row {
    const char* name;
    char marker;
    OldRow kind;
    size_t old_columns;
  };
  constexpr Row kRows[] = {{"no old row", 0, OldRow::kNone, 0},
                           {"old key", 'K', OldRow::kKey, 2},
                           {"old row", 'O', OldRow::kFull, 2}};
  for (const Row& row : kRows) {
    SCOPED_TRACE(row.name);
    const std::string bytes = UpdateMessage(9, row.marker, {Text("1"), Null()},
                                            {Text("2"), Unchanged()});
    const auto update = MustDecode<Update>(bytes);
    EXPECT_EQ(update.relation_oid, 9u);
    EXPECT_EQ(update.old_row_kind, row.kind);
    EXPECT_EQ(update.old_row.column_count(), row.old_columns);
    EXPECT_EQ(ValuesOf(update.new_row),
              (std::vector<OwnedValue>{{ValueKind::kText, "2"},
                                       {ValueKind::kUnchanged, ""}}));
  }
}

TEST(DecoderTest, ReadsDeleteByKeyAndByRow) {
  const std::string by_key = DeleteMessage(9, 'K', {Text("1"), Null()});
  EXPECT_EQ(MustDecode<Delete>(by_key).old_row_kind, OldRow::kKey);
  EXPECT_EQ(MustDecode<Delete>(by_key).old_row.column_count(), 2u);
  const std::string by_row = DeleteMessage(9, 'O', {Text("1"), Text("x")});
  EXPECT_EQ(MustDecode<Delete>(by_row).old_row_kind, OldRow::kFull);
  EXPECT_EQ(MustDecode<Delete>(by_row).relation_oid, 9u);
}

TEST(DecoderTest, ReadsTruncateAndItsOptions) {
  for (uint8_t bits = 0; bits < 4; ++bits) {
    const std::string bytes = TruncateMessage(bits, {16384, 16390});
    const auto truncate = MustDecode<Truncate>(bytes);
    EXPECT_EQ(truncate.cascade, bits == 1 || bits == 3);
    EXPECT_EQ(truncate.restart_identity, bits >= 2);
    ASSERT_EQ(truncate.relation_count, 2u);
    ByteReader oids(truncate.relation_oids);
    EXPECT_EQ(oids.ReadUint32(), 16384u);
    EXPECT_EQ(oids.ReadUint32(), 16390u);
  }
}

TEST(DecoderTest, ReadsLogicalMessages) {
  const std::string bytes =
      LogicalMessageMessage(true, Lsn(0x77), "outbox", "{\"a\":\0}"sv);
  const auto message = MustDecode<LogicalMessage>(bytes);
  EXPECT_TRUE(message.transactional);
  EXPECT_EQ(message.lsn, Lsn(0x77));
  EXPECT_EQ(message.prefix, "outbox");
  EXPECT_EQ(message.content, "{\"a\":\0}"sv);
  const std::string other = LogicalMessageMessage(false, Lsn(1), "", "");
  EXPECT_FALSE(MustDecode<LogicalMessage>(other).transactional);
}

TEST(DecoderTest, PassesOverKindsItDoesNotKnow) {
  // Those of protocols 2 to 4, and what a future server may invent.
  for (const char kind :
       "SEcAbPKrp"
       "Zz?\x01\xff"sv) {
    for (const std::string_view body : {""sv, "\0\0\0\x07"sv, "anything"sv}) {
      const std::string bytes = kind + std::string(body);
      EXPECT_EQ(MustDecode<Unknown>(bytes).kind, kind);
    }
  }
}

struct Damage {
  const char* name;
  std::string bytes;
};

TEST(DecoderTest, DamagedMessagesAreDataLoss) {
  const Damage rows[] = {
      {"no byte at all", ""},
      {"insert without N",
       ByteWriter().Char('I').Uint32(1).Char('K').Raw(TupleBytes({})).bytes()},
      {"insert with an unknown column kind", InsertMessage(1, {{'x', ""}})},
      {"insert with fewer columns than it says",
       ByteWriter().Char('I').Uint32(1).Char('N').Uint16(2).Char('n').bytes()},
      {"insert with a length beyond its end", ByteWriter()
                                                  .Char('I')
                                                  .Uint32(1)
                                                  .Char('N')
                                                  .Uint16(1)
                                                  .Char('t')
                                                  .Uint32(5)
                                                  .Raw("abcd")
                                                  .bytes()},
      {"insert with the longest length", ByteWriter()
                                             .Char('I')
                                             .Uint32(1)
                                             .Char('N')
                                             .Uint16(1)
                                             .Char('t')
                                             .Uint32(UINT32_MAX)
                                             .Raw("abcd")
                                             .bytes()},
      {"update with an unknown marker",
       UpdateMessage(1, 'X', {Null()}, {Null()})},
      {"update with two old rows", ByteWriter()
                                       .Char('U')
                                       .Uint32(1)
                                       .Char('K')
                                       .Raw(TupleBytes({}))
                                       .Char('O')
                                       .Raw(TupleBytes({}))
                                       .Char('N')
                                       .Raw(TupleBytes({}))
                                       .bytes()},
      {"update without a new row",
       ByteWriter().Char('U').Uint32(1).Char('K').Raw(TupleBytes({})).bytes()},
      {"delete with a new row", DeleteMessage(1, 'N', {Null()})},
      {"relation with fewer columns than it says", ByteWriter()
                                                       .Char('R')
                                                       .Uint32(1)
                                                       .CString("s")
                                                       .CString("t")
                                                       .Char('d')
                                                       .Uint16(65535)
                                                       .bytes()},
      {"relation without NUL in its name",
       ByteWriter().Char('R').Uint32(1).Raw("public").bytes()},
      {"truncate of the most relations",
       ByteWriter().Char('T').Uint32(UINT32_MAX).Uint8(0).Uint32(1).bytes()},
      {"message longer than its bytes", ByteWriter()
                                            .Char('M')
                                            .Uint8(1)
                                            .Uint64(1)
                                            .CString("p")
                                            .Uint32(UINT32_MAX)
                                            .Raw("x")
                                            .bytes()},
  };
  for (const Damage& row : rows) {
    const ExactBytes bytes(row.bytes);
    EXPECT_TRUE(absl::IsDataLoss(Decode(bytes.view()).status())) << row.name;
  }
}

TEST(DecoderTest, DamageNamesKindAndSize) {
  const absl::Status status = Decode("B123").status();
  EXPECT_EQ(std::string(status.message()),
            "pgoutput message 'B' of 4 bytes is damaged or cut short");
}

class DecoderTwinTest : public ::testing::TestWithParam<Damage> {};

INSTANTIATE_TEST_SUITE_P(
    Whole, DecoderTwinTest,
    ::testing::Values(
        Damage{"Begin", BeginMessage(Lsn(1), 2, 3)},
        Damage{"Commit", CommitMessage(Lsn(1), Lsn(2), 3)},
        Damage{"Origin", OriginMessage(Lsn(1), "upstream")},
        Damage{"Relation", RelationMessage(1, "public", "outbox",
                                           {{"id", 20, true}, {"payload"}})},
        Damage{"Type", TypeMessage(1, "public", "mood")},
        Damage{"Insert", InsertMessage(1, {Text("abc"), Null(), Binary("de")})},
        Damage{"Update", UpdateMessage(1, 0, {}, {Text("a"), Unchanged()})},
        Damage{"UpdateWithKey",
               UpdateMessage(1, 'K', {Text("a"), Null()}, {Text("b"), Null()})},
        Damage{"UpdateWithRow",
               UpdateMessage(1, 'O', {Text("a"), Null()}, {Text("b"), Null()})},
        Damage{"Delete", DeleteMessage(1, 'K', {Text("a"), Null()})},
        Damage{"Truncate", TruncateMessage(3, {1, 2, 3})},
        Damage{"LogicalMessage",
               LogicalMessageMessage(true, Lsn(1), "outbox", "content")}),
    [](const auto& row) { return row.param.name; });

TEST_P(DecoderTwinTest, DecodesWhole) {
  const ExactBytes bytes(GetParam().bytes);
  EXPECT_TRUE(Decode(bytes.view()).ok());
}

TEST_P(DecoderTwinTest, EveryPrefixIsDataLoss) {
  ExpectEveryPrefixFails(Decode, GetParam().bytes);
}

TEST_P(DecoderTwinTest, TrailingByteIsDataLoss) {
  ExpectTrailingByteFails(Decode, GetParam().bytes);
}

}  // namespace
}  // namespace walpost::pgoutput
