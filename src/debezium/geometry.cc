#include "debezium/geometry.h"

#include <bit>
#include <charconv>
#include <utility>

namespace walpost::debezium {
namespace {

constexpr uint32_t kPointType = 1;
constexpr uint32_t kLineStringType = 2;
constexpr uint32_t kPolygonType = 3;
constexpr uint32_t kSridFlag = 0x20000000;
constexpr size_t kMinSize = 9;

// Little-endian.
template <typename Number>
void AppendNumber(Number number, std::string& out) {
  for (size_t i = 0; i < sizeof(Number); ++i) {
    out += static_cast<char>(number >> (8 * i) & 0xff);
  }
}

void AppendPoint(const Point& point, std::string& out) {
  AppendNumber(std::bit_cast<uint64_t>(point.x), out);
  AppendNumber(std::bit_cast<uint64_t>(point.y), out);
}

std::string WkbOfType(uint32_t type) {
  std::string wkb(1, '\1');  // little-endian
  AppendNumber(type, wkb);
  return wkb;
}

template <typename Number>
std::optional<std::vector<Number>> NumbersOf(std::string_view text) {
  std::vector<Number> numbers;
  while (true) {
    const size_t begin = text.find_first_not_of("()[]{}<>, ");
    if (begin == text.npos) return numbers;
    text.remove_prefix(begin);
    Number number = 0;
    const auto result =
        std::from_chars(text.data(), text.data() + text.size(), number);
    if (result.ec != std::errc()) return std::nullopt;
    numbers.push_back(number);
    text.remove_prefix(static_cast<size_t>(result.ptr - text.data()));
  }
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

uint32_t NumberAt(std::string_view bytes, size_t at, bool is_little) {
  uint32_t number = 0;
  for (size_t i = 0; i < 4; ++i) {
    const size_t place = is_little ? at + 3 - i : at + i;
    number = number << 8 | static_cast<uint8_t>(bytes[place]);
  }
  return number;
}

}  // namespace

std::optional<std::vector<double>> ParseNumbers(std::string_view text) {
  return NumbersOf<double>(text);
}

std::optional<std::vector<float>> ParseFloats(std::string_view text) {
  return NumbersOf<float>(text);
}

std::string PointWkb(const Point& point) {
  std::string wkb = WkbOfType(kPointType);
  AppendPoint(point, wkb);
  return wkb;
}

std::string ShapeWkb(Shape shape, const std::vector<Point>& points) {
  std::vector<Point> outline = points;
  if (shape == Shape::kBox && points.size() == 2) {
    const auto [first, second] = std::pair(points[0], points[1]);
    outline = {first, {first.x, second.y}, second, {second.x, first.y}, first};
  } else if (shape == Shape::kPolygon && points.size() > 1 &&
             points.front() != points.back()) {
    outline.push_back(points.front());
  }
  const bool is_ring = shape == Shape::kBox || shape == Shape::kPolygon;
  std::string wkb = WkbOfType(is_ring ? kPolygonType : kLineStringType);
  if (is_ring) AppendNumber(uint32_t{1}, wkb);
  AppendNumber(static_cast<uint32_t>(outline.size()), wkb);
  for (const Point& point : outline) AppendPoint(point, wkb);
  return wkb;
}

std::string_view ToString(Shape shape) {
  switch (shape) {
    case Shape::kBox:
      return "box";
    case Shape::kSegment:
      return "lseg";
    case Shape::kPath:
      return "path";
    case Shape::kPolygon:
      return "polygon";
  }
  return "";
}

std::optional<PostgisGeometry> ParseGeometry(std::string_view hex) {
  if (hex.size() % 2 != 0 || hex.size() < 2 * kMinSize) return std::nullopt;
  PostgisGeometry geometry;
  for (size_t i = 0; i < hex.size(); i += 2) {
    const int high = HexDigit(hex[i]);
    const int low = HexDigit(hex[i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    geometry.bytes += static_cast<char>(high << 4 | low);
  }
  const bool is_little = geometry.bytes[0] != 0;
  if ((NumberAt(geometry.bytes, 1, is_little) & kSridFlag) != 0) {
    geometry.srid =
        static_cast<int32_t>(NumberAt(geometry.bytes, 5, is_little));
  }
  return geometry;
}

}  // namespace walpost::debezium
