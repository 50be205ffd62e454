#include "admin/process_usage.h"

#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <system_error>

namespace walpost {
namespace {

// proc(5): /proc/self/statm is "size resident shared ...", in pages.
uint64_t ReadResidentMemoryBytes() {
  std::ifstream statm("/proc/self/statm");
  uint64_t size_pages = 0;
  uint64_t resident_pages = 0;
  if (!(statm >> size_pages >> resident_pages)) return 0;
  return resident_pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

// proc(5): /proc/stat has "btime SECONDS"; /proc/self/stat has as field 22 the
// start in clock ticks since then. Field 2 is a name in brackets, which may
// have anything.
std::optional<std::chrono::milliseconds> ReadStartTime() {
  constexpr int kFieldsBetween = 19;  // from the bracket to field 22
  std::ifstream of_machine("/proc/stat");
  std::string word;
  int64_t boot_seconds = 0;
  while (of_machine >> word && word != "btime") continue;
  std::ifstream of_process("/proc/self/stat");
  std::string text;
  std::getline(of_process, text);
  const size_t bracket = text.rfind(')');
  if (!(of_machine >> boot_seconds) || bracket == std::string::npos) {
    return std::nullopt;
  }
  std::istringstream fields(text.substr(bracket + 1));
  for (int i = 0; i < kFieldsBetween; ++i) fields >> word;
  int64_t ticks = 0;
  if (!(fields >> ticks)) return std::nullopt;
  return std::chrono::milliseconds(boot_seconds * 1000 +
                                   ticks * 1000 / sysconf(_SC_CLK_TCK));
}

// One of them is that of the folder itself.
std::optional<uint64_t> CountDescriptors() {
  std::error_code error;
  std::filesystem::directory_iterator folder("/proc/self/fd", error);
  uint64_t count = 0;
  while (!error && folder != std::filesystem::directory_iterator()) {
    ++count;
    folder.increment(error);
  }
  if (error || count == 0) return std::nullopt;
  return count - 1;
}

uint64_t MaxDescriptors() {
  rlimit limit{};
  return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : 0;
}

std::chrono::microseconds ToDuration(const timeval& time) {
  return std::chrono::seconds(time.tv_sec) +
         std::chrono::microseconds(time.tv_usec);
}

}  // namespace

ProcessUsage ReadProcessUsage() {
  // Finer than the clock ticks of /proc/self/stat.
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return {.resident_memory_bytes = ReadResidentMemoryBytes(),
          .cpu = ToDuration(usage.ru_utime) + ToDuration(usage.ru_stime),
          .started_at = ReadStartTime(),
          .open_descriptors = CountDescriptors(),
          .max_descriptors = MaxDescriptors()};
}

}  // namespace walpost
