// ReloadableText: a configured text that is read again for each use.
//
// A password in a file changes while walpost runs. So a text with ${file:PATH}
// or ${env:NAME} is stored as configured, and read when a connection is made:
//
//   WALPOST_ASSIGN_OR_RETURN(std::string conninfo, options.conninfo.Read());
//
// A value; copies read the same sources. Any thread may read.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "base/sha256.h"

namespace walpost {

class ReloadableText {
 public:
  using Reader = std::function<absl::StatusOr<std::string>()>;

  ReloadableText() = default;
  // A text without references.
  ReloadableText(std::string text) : text_(std::move(text)) {}
  ReloadableText(const char* text) : text_(text) {}
  // `text` is the configured text, with references; `reader` replaces them.
  // `digest` is of what it reads now, if that is known.
  ReloadableText(std::string text, Reader reader,
                 std::optional<Sha256Digest> digest = std::nullopt)
      : text_(std::move(text)), reader_(std::move(reader)), digest_(digest) {}

  // kUnavailable: a source cannot be read now; names the key and the source,
  // never a value. Reads small files, and waits for nothing else.
  absl::StatusOr<std::string> Read() const {
    if (reader_) return reader_();
    return text_;
  }

  // The text in the file, with its references.
  const std::string& configured() const { return text_; }
  bool has_references() const { return reader_ != nullptr; }
  bool empty() const { return text_.empty(); }
  // Digest of what the references stood for when the configuration was loaded.
  const std::optional<Sha256Digest>& digest() const { return digest_; }

  // True for the same configured text.
  bool operator==(const ReloadableText& other) const {
    return text_ == other.text_ && has_references() == other.has_references();
  }

 private:
  std::string text_;
  Reader reader_;
  std::optional<Sha256Digest> digest_;
};

}  // namespace walpost
