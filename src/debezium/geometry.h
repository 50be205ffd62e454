// Geometric values as PostgreSQL and PostGIS print them, and the well-known
// binary form (WKB) that Debezium makes of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace walpost::debezium {

// GEOMETRYCOLLECTION EMPTY, as PostGIS prints it.
inline constexpr std::string_view kEmptyGeometry = "010700000000000000";

struct Point {
  double x = 0;
  double y = 0;

  friend bool operator==(const Point&, const Point&) = default;
};

enum class Shape { kBox, kSegment, kPath, kPolygon };

// The numbers of "(1,2.5)", "{1,-1,0}", "<(1,2),3>", "[(0,0),(1,1)]", in order;
// nullopt: there is something else.
std::optional<std::vector<double>> ParseNumbers(std::string_view text);
std::optional<std::vector<float>> ParseFloats(std::string_view text);

std::string PointWkb(const Point& point);
// A box of its two corners and a polygon are rings, the others are lines.
std::string ShapeWkb(Shape shape, const std::vector<Point>& points);

// "type" in the extensions of io.debezium.data.geometry.Geometry.
std::string_view ToString(Shape shape);

// Hexadecimal EWKB; nullopt: it is none.
struct PostgisGeometry {
  std::string bytes;
  std::optional<int32_t> srid;
};
std::optional<PostgisGeometry> ParseGeometry(std::string_view hex);

}  // namespace walpost::debezium
