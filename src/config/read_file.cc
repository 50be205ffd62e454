#include "config/read_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace walpost {

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  const std::unique_ptr<FILE, decltype(&std::fclose)> file(
      std::fopen(path.c_str(), "rb"), &std::fclose);
  std::string content;
  char portion[1 << 16];
  while (file != nullptr && std::feof(file.get()) == 0) {
    // Opening a folder succeeds, reading it does not.
    content.append(portion,
                   std::fread(portion, 1, sizeof(portion), file.get()));
    if (std::ferror(file.get()) != 0) break;
  }
  if (file != nullptr && std::ferror(file.get()) == 0) return content;
  return absl::InvalidArgumentError(std::strerror(errno));
}

}  // namespace walpost
