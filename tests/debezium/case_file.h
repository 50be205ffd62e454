// Cases of records as Debezium makes them, from files in cases/.
//
//   == 11 An integer key
//   use TT
//   column k | integer | not null | 7::integer   name, type, nullable, DEFAULT
//   value k 42
//   field key k
//   option json_nulls optional_bytes
//   key.S 42              the key with the converter string
//   value.JS {"schema":…  the value with json_schemas
//   header.id 5           the first header `id`, with the converter simple
//   header.id.JS …        with json_schemas
//   partition 3
//   timestamp 1553460779123
//   fails value.B         with that converter; alone: with the one of strings
//   rejected              the table does not fit the options
//   message {"id":…       instead of a row
//
// ∅ is null of Kafka, or a column's NULL; a # behind a name (value.B#) says
// that the text is in hex. `define TT` begins lines for `use TT`, up to a blank
// line.
#pragma once

#include <fstream>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "debezium/row_encoder.h"
#include "gtest/gtest.h"

namespace walpost::testing {

struct CaseLine {
  std::string key;
  std::string text;
};

struct Case {
  std::string name;
  std::string file;
  std::vector<CaseLine> lines;
};

inline void PrintTo(const Case& test, std::ostream* out) { *out << test.name; }

inline std::string FromHex(std::string_view digits) {
  std::string bytes;
  for (size_t i = 0; i + 1 < digits.size(); i += 2) {
    bytes += static_cast<char>(
        std::stoi(std::string(digits.substr(i, 2)), nullptr, 16));
  }
  return bytes;
}

inline std::vector<Case> LoadCases(const std::string& file) {
  std::ifstream in(std::string(WALPOST_SOURCE_DIR) + "/tests/debezium/cases/" +
                   file);
  EXPECT_TRUE(in.is_open()) << file;
  std::map<std::string, std::vector<CaseLine>> definitions;
  std::vector<Case> cases;
  std::vector<CaseLine>* target = nullptr;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("# ")) continue;
    if (line.empty()) {
      target = nullptr;
    } else if (line.starts_with("== ")) {
      cases.push_back({line.substr(3), file, {}});
      target = &cases.back().lines;
    } else if (line.starts_with("define ")) {
      target = &definitions[line.substr(7)];
    } else if (line.starts_with("use ")) {
      const auto& lines = definitions[line.substr(4)];
      EXPECT_FALSE(lines.empty()) << line;
      target->insert(target->end(), lines.begin(), lines.end());
    } else {
      const size_t blank = line.find(' ');
      std::string text =
          blank == line.npos ? std::string() : line.substr(blank + 1);
      std::string key = line.substr(0, blank);
      if (key.ends_with('#')) {
        key.pop_back();
        text = FromHex(text);
      }
      target->push_back({key, text});
    }
  }
  EXPECT_FALSE(cases.empty()) << file;
  return cases;
}

inline std::string TestNameOf(const ::testing::TestParamInfo<Case>& info) {
  std::string name;
  for (const char c : info.param.name) {
    name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  }
  return name;
}

// A type as format_type prints it.
inline void SetType(std::string_view text, debezium::Column& column) {
  static const std::map<std::string_view, uint32_t> kOids = {
      {"boolean", 16},
      {"bytea", 17},
      {"\"char\"", 18},
      {"name", 19},
      {"bigint", 20},
      {"smallint", 21},
      {"integer", 23},
      {"text", 25},
      {"oid", 26},
      {"json", 114},
      {"xml", 142},
      {"pg_lsn", 3220},
      {"cidr", 650},
      {"real", 700},
      {"double precision", 701},
      {"macaddr8", 774},
      {"money", 790},
      {"macaddr", 829},
      {"inet", 869},
      {"character", 1042},
      {"character varying", 1043},
      {"date", 1082},
      {"time without time zone", 1083},
      {"timestamp without time zone", 1114},
      {"timestamp with time zone", 1184},
      {"interval", 1186},
      {"time with time zone", 1266},
      {"bit", 1560},
      {"bit varying", 1562},
      {"numeric", 1700},
      {"uuid", 2950},
      {"tsvector", 3614},
      {"tsquery", 3615},
      {"jsonb", 3802},
      {"int4range", 3904},
      {"numrange", 3906},
      {"tsrange", 3908},
      {"tstzrange", 3910},
      {"daterange", 3912},
      {"int8range", 3926},
      {"point", 600},
      {"lseg", 601},
      {"path", 602},
      {"box", 603},
      {"polygon", 604},
      {"line", 628},
      {"circle", 718},
      {"refcursor", 1790}};
  if (text.ends_with("[]")) {
    SetType(text.substr(0, text.size() - 2), column);
    column.element_oid = column.type_name.empty() ? column.type_oid : 16384;
    column.element_name = column.type_name;
    column.type_oid = 0;
    column.type_name.clear();
    return;
  }
  std::string base(text);
  const size_t open = base.find('(');
  int first = -1;
  int second = 0;
  if (open != base.npos) {
    const size_t close = base.find(')');
    first = std::stoi(base.substr(open + 1));
    const size_t comma = base.find(',', open);
    if (comma != base.npos) second = std::stoi(base.substr(comma + 1));
    base.erase(open, close + 1 - open);
  }
  const auto found = kOids.find(base);
  if (found == kOids.end()) {  // a named type
    column.type_oid = 25;
    column.type_name = base;
    return;
  }
  column.type_oid = found->second;
  if (first < 0) {
    if (base == "bit" || base == "character") column.type_modifier = 1;
    return;
  }
  column.type_modifier = first;
  if (base.starts_with("numeric")) {
    column.type_modifier = (first << 16 | (second & 0x7ff)) + 4;
  } else if (base.starts_with("character")) {
    column.type_modifier = first + 4;
  }
}

}  // namespace walpost::testing
