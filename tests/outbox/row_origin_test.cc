#include "outbox/row_origin.h"

#include <gtest/gtest.h>

namespace walpost {
namespace {

TEST(RowOriginTest, P11WhatTheServerDoesNotSayIsUnknown) {
  EXPECT_EQ(RowOriginOf(std::nullopt), RowOrigin::kUnknown);
  EXPECT_EQ(RowOriginOf("t"), RowOrigin::kOther);
  EXPECT_EQ(RowOriginOf("true"), RowOrigin::kOther);
  EXPECT_EQ(RowOriginOf("f"), RowOrigin::kOwn);
  EXPECT_EQ(RowOriginOf("false"), RowOrigin::kOwn);
}

TEST(RowOriginTest, QuotesTheName) {
  const std::string sql = IsOfOtherOriginSql("\"it's\".\"o\"");
  EXPECT_NE(sql.find("'\"it''s\".\"o\"'::regclass"), std::string::npos) << sql;
}

// Each condition is one that tests/e2e/test_origins.py has seen to matter.
TEST(RowOriginTest, P11UpdatesAndMovesHideAnOrigin) {
  const std::string sql = IsOfOtherOriginSql("o");
  EXPECT_TRUE(sql.starts_with(
      "CASE WHEN "
      "pg_catalog.current_setting('track_commit_timestamp')::boolean THEN"))
      << sql;
  for (const char* piece :
       {"WHEN written.roident = 0 THEN false WHEN written.roident > 0 AND",
        "own.roname LIKE 'walpost%') AND", "_updated(relid)), 0)",
        "tree) = 0 THEN true END FROM"}) {
    EXPECT_NE(sql.find(piece), std::string::npos) << piece << "\n" << sql;
  }
}

}  // namespace
}  // namespace walpost
