#include "config/read_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "fmt/format.h"

namespace walpost {

namespace {

struct CloseFile {
  void operator()(FILE* file) const { std::fclose(file); }
};

}  // namespace

absl::StatusOr<std::string> ReadFile(const std::string& path,
                                     size_t most_bytes) {
  const std::unique_ptr<FILE, CloseFile> file(std::fopen(path.c_str(), "rb"));
  std::string content;
  char portion[1 << 16];
  while (file != nullptr && std::feof(file.get()) == 0) {
    if (content.size() > most_bytes) {
      return absl::InvalidArgumentError(
          fmt::format("it has more than {} MiB", most_bytes >> 20));
    }
    // Opening a directory succeeds, reading it does not.
    content.append(portion,
                   std::fread(portion, 1, sizeof(portion), file.get()));
    if (std::ferror(file.get()) != 0) break;
  }
  if (file != nullptr && std::ferror(file.get()) == 0) return content;
  return absl::InvalidArgumentError(std::strerror(errno));
}

}  // namespace walpost
