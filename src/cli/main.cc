// walpost: publishes outbox events from Postgres to Kafka.
#include <boost/system/system_error.hpp>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <string_view>
#include <system_error>

#include "cli/shared/exit_code.h"
#include "cli/shared/output.h"
#include "cli/shared/verbs.h"
#include "log/process_log.h"
#include "loop/blocking_call.h"

namespace walpost {

// If output cannot be written, a verb that found no error fails.
int MainWithOutput(int argc, char** argv) {
  int exit_code = kExitFindings;
  absl::Status written;
  try {
    exit_code = RunCommandLine(argc, argv);
    written = FlushStdout();
  } catch (const std::system_error& error) {  // from fmt::print
    written = StdoutStatus(error.code().value());
  } catch (const boost::system::system_error& error) {  // from an event loop
    errno = error.code().value();
    return Fail(NoDescriptor(), kExitUsage);
  }
  if (written.ok()) return exit_code;
  Fail(written, kExitFindings);
  return exit_code == kExitOk ? int{kExitFindings} : exit_code;
}

}  // namespace walpost

int main(int argc, char** argv) {
  using std::chrono::milliseconds;
  // Ignored until there is something to reload.
  if (argc > 1 && std::string_view(argv[1]) == "run") {
    std::signal(SIGHUP, SIG_IGN);
  }
  walpost::OpenClosedStreams();
  walpost::ProcessLog log;
  const int exit_code = walpost::MainWithOutput(argc, argv);
  walpost::AwaitBlockedThreads(milliseconds(500));
  const bool log_has_ended = log.Close(milliseconds(500));
  // A hanging thread must not see the globals destroyed.
  if (!log_has_ended || walpost::CountBlockedThreads() > 0) {
    std::_Exit(exit_code);
  }
  return exit_code;
}
