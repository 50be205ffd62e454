#include "base/utf8.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace walpost {
namespace {

using std::string_view_literals::operator""sv;

constexpr size_t kPlenty = 100;

TEST(Utf8Test, ValidTextStaysAsItIs) {
  for (const std::string_view text :
       {""sv, "abc"sv, "\u00e4\u20ac\U0001F600"sv, "\u0080\u07ff\u0800"sv,
        "\ud7ff\ue000\uffff\U00010000\U0010FFFF"sv}) {
    EXPECT_EQ(ValidUtf8(text, kPlenty), text);
  }
}

TEST(Utf8Test, TellsTextFromBytes) {
  for (const std::string_view text :
       {""sv, "abc"sv, "a\0b"sv, "\u00e4\u20ac\U0001F600"sv}) {
    EXPECT_TRUE(IsUtf8(text)) << text;
  }
  for (const std::string_view text :
       {"\x80"sv, "a\xff"sv, "\xe2\x82"sv, "\xc0\xaf"sv, "\xed\xa0\x80"sv}) {
    EXPECT_FALSE(IsUtf8(text)) << text;
  }
}

TEST(Utf8Test, NoCharacterIsCutInTwo) {
  const std::string text = "a\u00e4\u20ac\U0001F600";  // 1 + 2 + 3 + 4 bytes
  const size_t fits[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 10};
  for (size_t most = 0; most < std::size(fits); ++most) {
    EXPECT_EQ(ValidUtf8(text, most), text.substr(0, fits[most])) << most;
  }
}

TEST(Utf8Test, BytesOfNoCharacterBecomeQuestionMarks) {
  struct Case {
    std::string_view text;
    std::string_view valid;
  };
  for (const auto& [text, valid] : {
           Case{"\x80", "?"},  // goes on with nothing
           Case{"a\xff"
                "b",
                "a?b"},             // is in no text
           Case{"\xe2\x82", "??"},  // ends too early
           Case{"\xe2\x82"
                "a",
                "??a"},                       // likewise
           Case{"\xc0\xaf", "??"},            // a long form of '/'
           Case{"\xe0\x80\xaf", "???"},       // likewise
           Case{"\xf0\x80\x80\xaf", "????"},  // likewise
           Case{"\xed\xa0\x80", "???"},       // a surrogate
           Case{"\xf4\x90\x80\x80", "????"},  // beyond the last one
           Case{"a\0b"sv, "a?b"},             // no text of Postgres has it
       }) {
    EXPECT_EQ(ValidUtf8(text, kPlenty), valid);
  }
}

}  // namespace
}  // namespace walpost
