// ByteReader: reads big-endian fields off the front of a byte string.
//
// A read past the end returns zero or an empty view and makes the reader
// `failed` for good, so a decoder reads a whole fixed layout and checks once:
//
//   ByteReader reader(bytes);
//   const uint32_t oid = reader.ReadUint32();
//   const std::string_view name = reader.ReadCString();
//   if (reader.failed()) return Truncated();
//
// Returned views are valid as long as the bytes that it was given.
#pragma once

#include <cstdint>
#include <string_view>

namespace walpost {

class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}

  uint8_t ReadUint8() { return ReadBigEndian<uint8_t>(); }
  uint16_t ReadUint16() { return ReadBigEndian<uint16_t>(); }
  uint32_t ReadUint32() { return ReadBigEndian<uint32_t>(); }
  uint64_t ReadUint64() { return ReadBigEndian<uint64_t>(); }
  int64_t ReadInt64() { return static_cast<int64_t>(ReadUint64()); }

  std::string_view ReadBytes(size_t count) {
    if (count > rest_.size()) return Fail();
    const std::string_view bytes = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return bytes;
  }

  // Reads up to and including the next NUL byte; the view excludes it.
  std::string_view ReadCString() {
    const size_t end = rest_.find('\0');
    if (end == std::string_view::npos) return Fail();
    const std::string_view text = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return text;
  }

  std::string_view rest() const { return rest_; }
  bool failed() const { return failed_; }

 private:
  template <typename T>
  T ReadBigEndian() {
    if (rest_.size() < sizeof(T)) {
      Fail();
      return 0;
    }
    T value = 0;
    for (size_t i = 0; i < sizeof(T); ++i) {
      value = static_cast<T>((uint64_t{value} << 8) |
                             static_cast<uint8_t>(rest_[i]));
    }
    rest_.remove_prefix(sizeof(T));
    return value;
  }

  std::string_view Fail() {
    failed_ = true;
    rest_ = {};
    return {};
  }

  std::string_view rest_;
  bool failed_ = false;
};

}  // namespace walpost
