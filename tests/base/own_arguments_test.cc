#include "base/own_arguments.h"

#include <gtest/gtest.h>

namespace walpost {
namespace {

class OwnArgumentsTest : public testing::Test {
 protected:
  ~OwnArgumentsTest() override { SetOwnArguments(std::string(kOwnArguments)); }
};

TEST_F(OwnArgumentsTest, TextIsUnchangedBeforeTheyAreKnown) {
  EXPECT_EQ(WithOwnArguments("walpost check -c FILE"), "walpost check -c FILE");
}

TEST_F(OwnArgumentsTest, FillsInEachCommand) {
  SetOwnArguments("-c w.yaml --set http.listen=127.0.0.1:1");
  EXPECT_EQ(WithOwnArguments("walpost recover -c FILE --dry-run, then walpost "
                             "recover -c FILE"),
            "walpost recover -c w.yaml --set http.listen=127.0.0.1:1 "
            "--dry-run, then walpost recover -c w.yaml --set "
            "http.listen=127.0.0.1:1");
}

TEST_F(OwnArgumentsTest, LeavesOtherFilesAlone) {
  SetOwnArguments("-c w.yaml");
  EXPECT_EQ(WithOwnArguments("walpost replay -c FILE --ids FILE"),
            "walpost replay -c w.yaml --ids FILE");
}

TEST(ShellWordTest, QuotesWhatAShellWouldChange) {
  const std::pair<std::string, std::string> rows[] = {
      {"/etc/walpost/walpost.yaml", "/etc/walpost/walpost.yaml"},
      {"", "''"},
      {"two words", "'two words'"},
      {"it's", "'it'\\''s'"},
      {"$HOME", "'$HOME'"},
      {"a;b", "'a;b'"},
      {"\n", "'\n'"},
      {"\xc3\xa4", "'\xc3\xa4'"},
  };
  for (const auto& [text, word] : rows) EXPECT_EQ(ShellWord(text), word);
}

}  // namespace
}  // namespace walpost
