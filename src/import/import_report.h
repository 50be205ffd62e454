// ImportReport: what became of each setting that is not simply carried over.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace walpost {

struct ImportNote {
  enum class Kind {
    kNotNeeded,  // walpost does without it, and records are the same
    kRemark,     // carried over; what is different, or must be done for it
    kOpen,       // not carried over; the configuration is safe without it
    kRefused,    // not carried over; records or events would be others
  };
  Kind kind;
  std::string key;  // as the file has it
  std::string text;
};

class ImportReport {
 public:
  void Add(ImportNote::Kind kind, std::string key, std::string text) {
    notes_.push_back({kind, std::move(key), std::move(text)});
  }
  void NotNeeded(std::string key, std::string text) {
    Add(ImportNote::Kind::kNotNeeded, std::move(key), std::move(text));
  }
  void Remark(std::string key, std::string text) {
    Add(ImportNote::Kind::kRemark, std::move(key), std::move(text));
  }
  void Open(std::string key, std::string text) {
    Add(ImportNote::Kind::kOpen, std::move(key), std::move(text));
  }
  void Refuse(std::string key, std::string text) {
    Add(ImportNote::Kind::kRefused, std::move(key), std::move(text));
  }

  bool has(ImportNote::Kind kind) const {
    return std::ranges::count(notes_, kind, &ImportNote::kind) > 0;
  }
  const std::vector<ImportNote>& notes() const { return notes_; }

 private:
  std::vector<ImportNote> notes_;
};

}  // namespace walpost
