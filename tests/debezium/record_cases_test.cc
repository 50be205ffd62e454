// The cases in cases/: facts of the records that Debezium makes.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/reason_code.h"
#include "debezium/case_file.h"
#include "debezium/message_encoder.h"
#include "debezium/options.h"
#include "debezium/row_encoder.h"
#include "gtest/gtest.h"

namespace walpost::debezium {
namespace {

using ::walpost::testing::Case;
using ::walpost::testing::CaseLine;
using ::walpost::testing::LoadCases;
using ::walpost::testing::SetType;
using ::walpost::testing::TestNameOf;

constexpr std::string_view kNull = "∅";

template <typename Enum, size_t n>
Enum ChoiceOf(const Choices<Enum, n>& choices, const std::string& name) {
  for (const auto& [known, value] : choices) {
    if (known == name) return value;
  }
  ADD_FAILURE() << name;
  return choices[0].second;
}

std::vector<std::string> Split(const std::string& text, char separator,
                               size_t max_parts) {
  std::vector<std::string> parts;
  size_t from = 0;
  while (parts.size() + 1 < max_parts) {
    const size_t at = text.find(separator, from);
    if (at == text.npos) break;
    parts.push_back(text.substr(from, at - from));
    from = at + 1;
  }
  parts.push_back(text.substr(from));
  return parts;
}

std::string Trim(std::string text) {
  text.erase(0, std::min(text.find_first_not_of(' '), text.size()));
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

struct RowOfCase {
  Options options;
  Table table;
  std::map<std::string, std::string> fields = {{"id", "id"},
                                               {"key", "aggregateid"},
                                               {"route", "aggregatetype"},
                                               {"payload", "payload"},
                                               {"timestamp", ""}};
  std::map<std::string, std::string> values;
  std::set<std::string> nulls;
  std::string message;
  std::string old_key_name;
  std::string old_key;
};

void AddColumn(const std::string& text, RowOfCase& row) {
  const std::vector<std::string> parts = Split(text, '|', 4);
  Column column;
  column.name = Trim(parts[0]);
  SetType(Trim(parts[1]), column);
  column.is_not_null = parts.size() > 2 && Trim(parts[2]) == "not null";
  if (parts.size() > 3) column.default_expression = Trim(parts[3]);
  const auto known =
      std::ranges::find(row.table.columns, column.name, &Column::name);
  if (known == row.table.columns.end()) {
    row.table.columns.push_back(column);
  } else {
    *known = column;
  }
}

void SetOption(const std::string& text, Options& options) {
  const std::vector<std::string> parts = Split(text, ' ', 2);
  const std::string& name = parts[0];
  const std::string value = parts.size() > 1 ? parts[1] : "";
  const bool is_true = value == "true";
  if (name == "placements") {
    options.placements.clear();
    for (const std::string& entry : Split(value, ',', 100)) {
      const std::vector<std::string> part = Split(entry, ':', 3);
      Placement placement;
      placement.column = part[0];
      placement.place = ChoiceOf(Placement::kPlaces, part[1]);
      if (part.size() > 2) placement.name = part[2];
      options.placements.push_back(placement);
    }
  } else if (name == "expand_json") {
    options.expand_json = is_true;
  } else if (name == "tombstone_on_empty") {
    options.tombstone_on_empty = is_true;
  } else if (name == "message_nulls") {
    options.message_nulls = is_true;
  } else if (name == "unknown_types") {
    options.unknown_types = is_true;
  } else if (name == "schema_version") {
    options.schema_version = value;
  } else if (name == "missing_columns") {
    options.missing_columns = ChoiceOf(kMissingColumns, value);
  } else if (name == "json_nulls") {
    options.json_nulls = ChoiceOf(kJsonNulls, value);
  } else if (name == "json_empty_arrays") {
    options.json_empty_arrays = ChoiceOf(kJsonEmptyArrays, value);
  } else if (name == "json_decimals") {
    options.json_decimals = ChoiceOf(kJsonDecimals, value);
  } else if (name == "binary") {
    options.binary = ChoiceOf(kBinaryModes, value);
  } else if (name == "decimal") {
    options.decimal = ChoiceOf(kDecimalModes, value);
  } else if (name == "time_precision") {
    options.time_precision = ChoiceOf(kTimePrecisions, value);
  } else if (name == "interval") {
    options.interval = ChoiceOf(kIntervalModes, value);
  } else if (name == "hstore") {
    options.hstore = ChoiceOf(kHstoreModes, value);
  } else if (name == "runtime") {
    options.runtime = ChoiceOf(kRuntimes, value);
  } else {
    ADD_FAILURE() << name;
  }
}

RowOfCase ReadCase(const Case& test) {
  RowOfCase row;
  row.options.logical_name = "srv";
  row.options.key_converter = Converter::kString;
  row.options.value_converter = Converter::kString;
  row.table.schema = "ob";
  row.table.name = "outbox";
  for (const CaseLine& line : test.lines) {
    const std::vector<std::string> parts = Split(line.text, ' ', 2);
    const std::string rest = parts.size() > 1 ? parts[1] : "";
    if (line.key == "column") {
      AddColumn(line.text, row);
    } else if (line.key == "labels") {
      for (Column& column : row.table.columns) {
        if (column.name == parts[0]) {
          column.enum_labels = Split(rest, ',', 100);
          column.has_enum_elements = column.element_oid != 0;
        }
      }
    } else if (line.key == "value") {
      row.values[parts[0]] = rest;
      row.nulls.erase(parts[0]);
      if (rest == kNull) row.nulls.insert(parts[0]);
    } else if (line.key == "field") {
      row.fields[parts[0]] = rest;
    } else if (line.key == "option") {
      SetOption(line.text, row.options);
    } else if (line.key == "message") {
      row.message = line.text;
    } else if (line.key == "oldkey") {
      row.old_key_name = parts[0];
      row.old_key = rest;
    }
  }
  return row;
}

// An encoder with the options of a case, and what it makes of its row.
class EncodedCase {
 public:
  EncodedCase(const RowOfCase& row, const Options& options) : row_(row) {
    status_ = row.message.empty() ? EncodeRow(options) : EncodeMessage(options);
  }

  const absl::Status& status() const { return status_; }
  const Encoded& encoded() const { return encoded_; }
  const MessageTexts& texts() const { return texts_; }

 private:
  std::optional<size_t> Find(const std::string& field) const {
    const auto& columns = row_.table.columns;
    const auto found =
        std::ranges::find(columns, row_.fields.at(field), &Column::name);
    if (found == columns.end()) return std::nullopt;
    return static_cast<size_t>(found - columns.begin());
  }

  absl::Status EncodeRow(const Options& options) {
    Fields fields;
    fields.id = Find("id");
    fields.key = Find("key");
    fields.route = Find("route");
    fields.payload = Find("payload");
    fields.timestamp = Find("timestamp");
    auto made = RowEncoder::Create(options, row_.table, fields);
    if (!made.ok()) return made.status();
    encoder_ = *std::move(made);
    std::vector<Text> texts;
    for (const Column& column : row_.table.columns) {
      const auto value = row_.values.find(column.name);
      if (value == row_.values.end() || row_.nulls.contains(column.name)) {
        texts.push_back(std::nullopt);
      } else {
        texts.push_back(value->second);
      }
    }
    if (row_.old_key_name.empty()) return encoder_->Encode(texts, encoded_);
    const KeyColumn key[] = {{row_.old_key_name, row_.old_key}};
    return encoder_->Encode(texts, key, encoded_);
  }

  absl::Status EncodeMessage(const Options& options) {
    MessageFields fields;
    fields.id = row_.fields.at("id");
    fields.key = row_.fields.at("key");
    fields.route = row_.fields.at("route");
    fields.payload = row_.fields.at("payload");
    fields.timestamp = row_.fields.at("timestamp");
    auto made = MessageEncoder::Create(options, fields);
    if (!made.ok()) return made.status();
    message_encoder_ = *std::move(made);
    return message_encoder_->Encode(row_.message, encoded_, texts_);
  }

  const RowOfCase& row_;
  std::unique_ptr<RowEncoder> encoder_;
  std::unique_ptr<MessageEncoder> message_encoder_;
  Encoded encoded_;
  MessageTexts texts_;
  absl::Status status_;
};

Converter ConverterOf(const std::string& letters) {
  static const std::map<std::string, Converter> kLetters = {
      {"S", Converter::kString},
      {"J", Converter::kJson},
      {"JS", Converter::kJsonSchemas},
      {"B", Converter::kBytes},
      {"DS", Converter::kBytesOrString},
      {"DJ", Converter::kBytesOrJson},
      {"DJS", Converter::kBytesOrJsonSchemas}};
  return kLetters.at(letters);
}

HeaderConverter HeaderConverterOf(const std::string& letters) {
  static const std::map<std::string, HeaderConverter> kLetters = {
      {"S", HeaderConverter::kString},
      {"J", HeaderConverter::kJson},
      {"JS", HeaderConverter::kJsonSchemas}};
  return kLetters.at(letters);
}

// The options with the converter of an expectation: value.JS, header.id.J.
Options OptionsFor(const std::vector<std::string>& name, Options options) {
  if (name[0] == "key" && name.size() > 1) {
    options.key_converter = ConverterOf(name[1]);
  } else if (name[0] == "value" && name.size() > 1) {
    options.value_converter = ConverterOf(name[1]);
  } else if (name[0] == "header" && name.size() > 2) {
    options.header_converter = HeaderConverterOf(name[2]);
  }
  return options;
}

std::string Shown(Text bytes) {
  return bytes ? std::string(*bytes) : std::string(kNull);
}

// The `nth` header of that name; nullopt: there is none.
std::optional<std::string> HeaderOf(const Encoded& encoded,
                                    const std::string& name, size_t nth) {
  for (const Encoded::Header& header : encoded.headers) {
    if (header.name == name && nth-- == 0) return Shown(header.value);
  }
  return std::nullopt;
}

// header.NAME.JS: NAME may have points.
std::vector<std::string> PartsOf(const std::string& key) {
  std::vector<std::string> parts = Split(key, '.', 2);
  if (parts.size() < 2 || parts[0] != "header") return parts;
  const size_t point = parts[1].rfind('.');
  if (point == parts[1].npos) return parts;
  const std::string converter = parts[1].substr(point + 1);
  if (converter == "S" || converter == "J" || converter == "JS") {
    parts[1].resize(point);
    parts.push_back(converter);
  }
  return parts;
}

// Other lines say what the row and the options are.
bool IsCheck(const std::vector<std::string>& name) {
  static const std::set<std::string> kChecks = {
      "header", "headers", "partition", "timestamp", "route", "text"};
  if (name[0] == "key" || name[0] == "value") return name.size() > 1;
  return kChecks.contains(name[0]);
}

class RecordCaseTest : public ::testing::TestWithParam<Case> {};

TEST_P(RecordCaseTest, IsAsDebeziumMakesIt) {
  const RowOfCase row = ReadCase(GetParam());
  std::map<std::string, size_t> headers_seen;
  size_t checks = 0;
  for (const CaseLine& line : GetParam().lines) {
    SCOPED_TRACE(line.key + " " + line.text);
    const bool fails = line.key == "fails" || line.key == "rejected";
    const std::vector<std::string> name =
        PartsOf(line.key == "fails" ? line.text : line.key);
    if (!fails && !IsCheck(name)) continue;
    ++checks;
    const EncodedCase made(row, OptionsFor(name, row.options));
    if (fails) {
      EXPECT_EQ(made.status().code(),
                line.key == "rejected" ? absl::StatusCode::kFailedPrecondition
                                       : absl::StatusCode::kInvalidArgument)
          << made.status();
      if (line.key == "fails") {
        EXPECT_EQ(ReasonCodeOf(made.status()), "conversion_failed");
      }
      continue;
    }
    ASSERT_TRUE(made.status().ok()) << made.status();
    const Encoded& encoded = made.encoded();
    if (name[0] == "key") {
      EXPECT_EQ(Shown(encoded.key), line.text);
    } else if (name[0] == "value") {
      EXPECT_EQ(Shown(encoded.value), line.text);
    } else if (name[0] == "header") {
      EXPECT_EQ(HeaderOf(encoded, name[1], headers_seen[line.key]++),
                line.text);
    } else if (name[0] == "headers") {
      std::string names;
      for (const auto& header : encoded.headers) {
        if (!names.empty()) names += ' ';
        names += header.name;
      }
      EXPECT_EQ(names, line.text);
    } else if (name[0] == "partition") {
      EXPECT_EQ(encoded.partition ? std::to_string(*encoded.partition)
                                  : std::string(kNull),
                line.text);
    } else if (name[0] == "timestamp") {
      EXPECT_EQ(encoded.timestamp
                    ? std::to_string(
                          encoded.timestamp->time_since_epoch().count() / 1'000)
                    : std::string(kNull),
                line.text);
    } else if (name[0] == "route") {
      EXPECT_EQ(Shown(encoded.route), line.text);
    } else {
      EXPECT_EQ(Shown(made.texts().id) + " " + Shown(made.texts().key) + " " +
                    Shown(made.texts().route),
                line.text);
    }
  }
  EXPECT_GT(checks, 0u);
}

INSTANTIATE_TEST_SUITE_P(Listed, RecordCaseTest,
                         ::testing::ValuesIn(LoadCases("listed.txt")),
                         TestNameOf);
INSTANTIATE_TEST_SUITE_P(Recorded, RecordCaseTest,
                         ::testing::ValuesIn(LoadCases("recorded.txt")),
                         TestNameOf);
INSTANTIATE_TEST_SUITE_P(Further, RecordCaseTest,
                         ::testing::ValuesIn(LoadCases("further.txt")),
                         TestNameOf);

}  // namespace
}  // namespace walpost::debezium
