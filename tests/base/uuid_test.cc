#include "base/uuid.h"

#include <gtest/gtest.h>

#include <chrono>

namespace walpost {
namespace {

// The example of RFC 9562, A.6.
TEST(UuidTest, TheExampleOfTheStandard) {
  const WallTime time(std::chrono::milliseconds(0x017F22E279B0));
  EXPECT_EQ(UuidV7(time, {0x98C40CC3, 0xDC0C, 0x0C07398F}),
            "017f22e2-79b0-7cc3-98c4-dc0c0c07398f");
}

}  // namespace
}  // namespace walpost
