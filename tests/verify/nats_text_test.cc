#include <gtest/gtest.h>

#include "nats/message.h"
#include "verify/nats_records.h"

namespace walpost {
namespace {

using namespace std::literals;

// What nats/ writes, this reads.
TEST(NatsTextTest, P11EveryValueComesBack) {
  for (const std::string_view value :
       {""sv, "plain"sv, " a "sv, "two\nlines"sv, "nul\0"sv,
        "=?UTF-8?B?YQ==?="sv, "=?"sv, "=?=?="sv, "\xff\xfe"sv, "\u00e9"sv,
        "=?binary?B?"sv, "\r\n\r\n"sv}) {
    EXPECT_EQ(NatsHeaderValue(HeaderValue(value)), value);
  }
  for (int byte = 0; byte < 256; ++byte) {
    const std::string value{'a', static_cast<char>(byte), 'b'};
    EXPECT_EQ(NatsHeaderValue(HeaderValue(value)), value) << byte;
  }
}

TEST(NatsTextTest, WhatIsNotEncodedIsItself) {
  for (const char* text : {"=?UTF-8?Q?a?=", "=?UTF-8?B?not base64?=",
                           "=?UTF-8?B?=", "=?latin1?B?YQ==?="}) {
    EXPECT_EQ(NatsHeaderValue(text), text);
  }
}

TEST(NatsTextTest, WholeTokensOfAPrefixAreASubject) {
  EXPECT_EQ(SubjectsOfPrefix("events."), "events.>");
  EXPECT_EQ(SubjectsOfPrefix("shop.events.ord"), "shop.events.>");
  EXPECT_EQ(SubjectsOfPrefix("orders"), ">");
  EXPECT_EQ(SubjectsOfPrefix(""), ">");
}

}  // namespace
}  // namespace walpost
