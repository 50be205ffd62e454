// What code makes of an error of each of its statements.
//
//   EXPECT_THAT(UnreportedFailures(server, [&] { return Prune(); }),
//               IsEmpty());
//
// Runs the code as it is, which must succeed, and then once for each of its
// statements, which fails. Answers that come in turn must be given by `run`.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "support/fake_postgres.h"

namespace walpost::testing {

// The statements, in order, of which an error is not one of `run`, which
// returns an absl::Status.
template <typename Run>
std::vector<std::string> UnreportedFailures(FakePostgres& server, Run run) {
  const size_t before = server.statements().size();
  const absl::Status whole = run();
  EXPECT_TRUE(whole.ok()) << whole;
  const size_t count = server.statements().size() - before;
  EXPECT_GT(count, 0u);
  std::vector<std::string> unreported;
  for (size_t i = 0; i < count; ++i) {
    const size_t begin = server.statements().size();
    server.FailAfter(i);
    if (run().ok()) unreported.push_back(server.statements()[begin + i]);
  }
  return unreported;
}

}  // namespace walpost::testing
