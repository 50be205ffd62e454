#include "loop/descriptors.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

namespace walpost {
namespace {

// Restores the limit of open files.
class DescriptorsTest : public ::testing::Test {
 protected:
  DescriptorsTest() { getrlimit(RLIMIT_NOFILE, &before_); }
  ~DescriptorsTest() override { setrlimit(RLIMIT_NOFILE, &before_); }

  // The lowest `count` numbers that are free stay so, and no others.
  void LeaveFree(int count) {
    rlimit limit = before_;
    limit.rlim_cur = 0;
    for (int fd = 0; count > 0; ++fd) {
      const bool is_free = IsFree(fd);
      count -= is_free;
      limit.rlim_cur = static_cast<rlim_t>(fd + 1);
    }
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  }

 private:
  static bool IsFree(int fd) {
    const int copy = dup(fd);
    if (copy < 0) return true;
    close(copy);
    return false;
  }

  rlimit before_{};
};

TEST_F(DescriptorsTest, AsManyAsAreFree) {
  LeaveFree(5);
  EXPECT_TRUE(RequireDescriptors(5).ok());
  const absl::Status lacks = RequireDescriptors(6);
  EXPECT_TRUE(absl::IsUnavailable(lacks));
  EXPECT_NE(lacks.message().find("Too many open files"), std::string::npos);
  EXPECT_TRUE(RequireDescriptors(5).ok()) << "none is kept";
}

}  // namespace
}  // namespace walpost
