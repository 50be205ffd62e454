// Floating-point numbers as Java prints them: Double.toString and
// Float.toString of JDK 19 and later.
//
//   0.1, 100.0, 1.0E7, 1.0E-4, 4.9E-324, NaN, -Infinity
//
// The digits are the shortest that read back as the same number, at least two;
// of those the nearest. Between 10^-3 and 10^7 there is no exponent.
#pragma once

#include <string>

namespace walpost::debezium {

void AppendJavaDouble(double value, std::string& out);
void AppendJavaFloat(float value, std::string& out);

}  // namespace walpost::debezium
