// ReloadableText: a configured text that is read again for each use.
//
// A password in a file changes while walpost runs. So a text with ${file:PATH}
// or ${env:NAME} in it is kept as it was configured, and whoever makes a
// connection reads it then:
//
//   WALPOST_ASSIGN_OR_RETURN(std::string conninfo, options.conninfo.Read());
//
// A value; copies read the same sources. Any thread may read.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"

namespace walpost {

class ReloadableText {
 public:
  using Reader = std::function<absl::StatusOr<std::string>()>;

  ReloadableText() = default;
  // A text without references.
  ReloadableText(std::string text) : text_(std::move(text)) {}
  ReloadableText(const char* text) : text_(text) {}
  // `text` is the configured one, with its references; `reader` replaces them.
  ReloadableText(std::string text, Reader reader)
      : text_(std::move(text)), reader_(std::move(reader)) {}

  // kUnavailable: a source cannot be read just now; names the key and source,
  // never a value. Reads small files, and does not wait for anything else.
  absl::StatusOr<std::string> Read() const {
    if (reader_) return reader_();
    return text_;
  }

  // As it stands in the file, with its references.
  const std::string& configured() const { return text_; }
  bool has_references() const { return reader_ != nullptr; }
  bool empty() const { return text_.empty(); }

  // The same configured text.
  bool operator==(const ReloadableText& other) const {
    return text_ == other.text_ && has_references() == other.has_references();
  }

 private:
  std::string text_;
  Reader reader_;
};

}  // namespace walpost
