#include "admin/process_usage.h"

#include <sys/resource.h>
#include <unistd.h>

#include <fstream>

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
          .cpu = ToDuration(usage.ru_utime) + ToDuration(usage.ru_stime)};
}

}  // namespace walpost
