// Any text as a configuration: accepted or refused with one line. What is
// accepted prints, and the print is accepted too.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "config/loader.h"
#include "config/printer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace walpost;
  Environment nothing;
  nothing.variable = [](const std::string&) { return std::nullopt; };
  nothing.file = [](const std::string&) {
    return absl::NotFoundError("No such file or directory");
  };
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto config = ParseConfig(text, "fuzz.yaml", {}, nothing);
  if (!config.ok()) {
    const std::string message(config.status().message());
    if (message.empty()) __builtin_trap();
    return 0;
  }
  const std::string printed = PrintConfig(*config);
  if (!ParseConfig(printed, "printed.yaml", {}, nothing).ok()) {
    __builtin_trap();
  }
  return 0;
}
