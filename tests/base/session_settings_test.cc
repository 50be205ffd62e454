#include "base/session_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace walpost {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(PinLateSettingsSqlTest, NamesOnlyWhatTheServerKnows) {
  EXPECT_THAT(PinLateSettingsSql(160010, "UTF8"),
              Not(HasSubstr("transaction_timeout")));
  EXPECT_THAT(PinLateSettingsSql(170000, "UTF8"),
              HasSubstr("set_config('transaction_timeout', '0', false)"));
}

TEST(PinLateSettingsSqlTest, AsksForTheBytesOfADatabaseWithoutAnEncoding) {
  EXPECT_THAT(PinLateSettingsSql(150000, "UTF8"),
              Not(HasSubstr("client_encoding")));
  EXPECT_THAT(PinLateSettingsSql(150000, "SQL_ASCII"),
              HasSubstr("set_config('client_encoding', 'SQL_ASCII', false)"));
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
