// TextArena: memory of the texts that a row is converted to.
//
// A text keeps its address until Clear. Once warm, a row of the usual size
// allocates nothing.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

namespace walpost::debezium {

class TextArena {
 public:
  char* Allocate(size_t size) {
    while (block_ < blocks_.size() && blocks_[block_].size - used_ < size) {
      ++block_;
      used_ = 0;
    }
    if (block_ == blocks_.size()) {
      const size_t block_size = std::max(size, kMinBlockBytes);
      blocks_.push_back({std::make_unique<char[]>(block_size), block_size});
    }
    char* place = blocks_[block_].bytes.get() + used_;
    used_ += size;
    return place;
  }

  std::string_view Copy(std::string_view text) {
    if (text.empty()) return "";
    char* place = Allocate(text.size());
    std::memcpy(place, text.data(), text.size());
    return {place, text.size()};
  }

  void Clear() {
    size_t kept_bytes = 0;
    size_t kept = 0;
    while (kept < blocks_.size() &&
           kept_bytes + blocks_[kept].size <= kMaxKeptBytes) {
      kept_bytes += blocks_[kept++].size;
    }
    blocks_.resize(kept);
    block_ = 0;
    used_ = 0;
  }

 private:
  static constexpr size_t kMinBlockBytes = 4096;
  // Memory that is kept for the next row.
  static constexpr size_t kMaxKeptBytes = 1 << 20;

  struct Block {
    std::unique_ptr<char[]> bytes;
    size_t size = 0;
  };
  std::vector<Block> blocks_;
  size_t block_ = 0;  // the one in use
  size_t used_ = 0;   // bytes of it
};

}  // namespace walpost::debezium
