// DescriptorLimit: the process can open so many more descriptors, for as long
// as this object lives.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <vector>

namespace walpost::testing {

class DescriptorLimit {
 public:
  explicit DescriptorLimit(int free) {
    EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &before_), 0);
    std::vector<int> opened;
    for (int i = 0; i <= free; ++i) {
      opened.push_back(open("/dev/null", O_RDONLY | O_CLOEXEC));
    }
    const rlimit limit{.rlim_cur = static_cast<rlim_t>(opened.back()),
                       .rlim_max = before_.rlim_max};
    for (const int descriptor : opened) close(descriptor);
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  }
  ~DescriptorLimit() { setrlimit(RLIMIT_NOFILE, &before_); }
  DescriptorLimit(const DescriptorLimit&) = delete;
  DescriptorLimit& operator=(const DescriptorLimit&) = delete;

 private:
  rlimit before_{};
};

}  // namespace walpost::testing
