// Ends a test program only after its threads (loop/blocking_call.h): one that
// destroys a librdkafka client must not meet destroyed globals.
#include <gtest/gtest.h>

#include <chrono>

#include "loop/blocking_call.h"

namespace walpost {
namespace {

class AwaitThreads : public testing::Environment {
 public:
  void TearDown() override { AwaitBlockedThreads(std::chrono::minutes(2)); }
};

const testing::Environment* const kAwaitThreads =
    testing::AddGlobalTestEnvironment(new AwaitThreads);

}  // namespace
}  // namespace walpost
