// What the ceilings of the sinks beside Kafka share: records of the same shape
// as those of bench/sinks.py, from no database at all.
#pragma once

#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace walpost::bench {

// A subject, a routing key, a stream.
inline constexpr char kPlace[] = "outbox.event.order";
// In flight at most: the window that walpost begins with.
inline constexpr int64_t kWindow = 2'000;

struct Arguments {
  std::string host;
  int port = 0;
  int64_t records = 0;
};

[[noreturn]] inline void Give(std::string_view what) {
  fmt::print(stderr, "{}\n", what);
  std::exit(1);
}

inline void Require(bool condition, std::string_view what) {
  if (!condition) Give(what);
}

inline Arguments Parse(int count, char** words) {
  Require(count == 4, "usage: PROGRAM HOST PORT RECORDS");
  return {words[1], std::stoi(words[2]), std::stoll(words[3])};
}

inline std::string ValueOf(int64_t n) {
  const auto at = std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::system_clock::now().time_since_epoch());
  std::string value =
      fmt::format(R"({{"at": {}, "event": {}, "note": ")", at.count(), n);
  value.resize(250, 'x');
  return value + "\"}";
}

inline std::string KeyOf(int64_t n) {
  return fmt::format("customer-{}", n % 10'000);
}

inline std::string IdOf(int64_t n) {
  return fmt::format("00000000-0000-4000-8000-{:012}", n);
}

}  // namespace walpost::bench
