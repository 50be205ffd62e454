#include "base/session_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace walpost {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(PinSettingsSqlTest, NamesOnlyWhatTheServerKnows) {
  EXPECT_THAT(PinSettingsSql(160010, "UTF8", {}),
              Not(HasSubstr("transaction_timeout")));
  EXPECT_THAT(PinSettingsSql(170000, "UTF8", {}),
              HasSubstr("set_config('transaction_timeout', '0', false)"));
}

TEST(PinSettingsSqlTest, AsksForTheBytesOfADatabaseWithoutAnEncoding) {
  EXPECT_THAT(PinSettingsSql(150000, "UTF8", {}),
              Not(HasSubstr("client_encoding")));
  EXPECT_THAT(PinSettingsSql(150000, "SQL_ASCII", {}),
              HasSubstr("set_config('client_encoding', 'SQL_ASCII', false)"));
}

TEST(PinSettingsSqlTest, PinsByNameAndValue) {
  const std::string sql = PinSettingsSql(150000, "UTF8", {});
  EXPECT_THAT(sql, HasSubstr("set_config('TimeZone', 'UTC', false)"));
  EXPECT_THAT(sql, HasSubstr("set_config('default_transaction_isolation', "
                             "'read committed', false)"));
}

TEST(PinSettingsSqlTest, TheSessionsOwnTakePrecedence) {
  const std::vector<std::string> own = {"lock_timeout=5s"};
  const std::string sql = PinSettingsSql(150000, "UTF8", own);
  EXPECT_THAT(sql, HasSubstr("set_config('lock_timeout', '5s', false)"));
  EXPECT_THAT(sql, Not(HasSubstr("set_config('lock_timeout', '0'")));
  EXPECT_THAT(ReadSettingsSql(own), Not(HasSubstr("'lock_timeout'")));
  EXPECT_THAT(ReadSettingsSql({}), HasSubstr("'lock_timeout'"));
}

// Startup options are split at blanks.
TEST(PinnedSettingsTest, AreNameAndValueWithoutABareBlank) {
  for (const std::string_view setting : kPinnedSettings) {
    EXPECT_NE(setting.find('='), std::string_view::npos) << setting;
    for (size_t i = 0; i < setting.size(); ++i) {
      if (setting[i] != ' ') continue;
      EXPECT_EQ(setting[i - 1], '\\') << setting;
    }
  }
}

}  // namespace
}  // namespace walpost
