#include "base/fitted_name.h"

#include <gtest/gtest.h>

namespace walpost {
namespace {

TEST(FittedNameTest, ANameThatFitsStaysAsItIs) {
  EXPECT_EQ(FittedName("orders", 6, '~'), "orders");
}

TEST(FittedNameTest, ALongNameKeepsItsBeginning) {
  const std::string fitted = FittedName(std::string(60, 's'), 33, '~');
  EXPECT_EQ(fitted.size(), 33u);
  EXPECT_TRUE(fitted.starts_with(std::string(24, 's') + '~')) << fitted;
  EXPECT_EQ(FittedName("twelve bytes", 8, '~').size(), 8u);
}

TEST(FittedNameTest, NamesThatDifferBehindTheCutStayApart) {
  const std::string head(57, 's');
  EXPECT_NE(FittedName(head + "a", 57, '_'), FittedName(head + "b", 57, '_'));
  EXPECT_NE(FittedName(head, 8, '_'), FittedName(head + "b", 8, '_'));
}

}  // namespace
}  // namespace walpost
