// The values of ColumnType: the text of the server -> Java's object. Those with
// parts are in composite_value.cc.
#include <algorithm>
#include <charconv>
#include <limits>
#include <string>
#include <utility>

#include "debezium/base64.h"
#include "debezium/column_type.h"
#include "debezium/java_time.h"
#include "debezium/not_a.h"
#include "debezium/postgres_time.h"
#include "fmt/format.h"

namespace walpost::debezium {
namespace {

constexpr int64_t kMicrosPerDay = 86'400'000'000;
constexpr int64_t kMillisPerDay = 86'400'000;
// A month has a twelfth of these.
constexpr double kDaysPerYear = 365.25;
// The days of an infinite date: 5877611-06-21 and -5877611-06-22.
constexpr int64_t kInfinityDays = 2'146'033'979;
constexpr int64_t kMinusInfinityDays = -2'147'472'691;
// In arrays: 292278994-08-16, and 292269055-12-02 without its era.
constexpr int64_t kInfinityDaysInArray = 106'751'991'166;
constexpr int64_t kMinusInfinityDaysInArray = 106'748'361'128;
// The infinite timestamp with time zone before all others, in an array.
constexpr std::string_view kMinusInfinityInArray = "292269055-12-02 23:00:00";

bool IsSpecialNumber(std::string_view text) {
  return text == "NaN" || text == "Infinity" || text == "-Infinity";
}

double SpecialNumber(std::string_view text) {
  if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  return text.starts_with('-') ? -infinity : infinity;
}

// SpecialValueDecimal.toString, which has no number to print.
std::string_view SpecialNumberName(std::string_view text) {
  if (text == "NaN") return "NAN";
  return text.starts_with('-') ? "NEGATIVE_INFINITY" : "POSITIVE_INFINITY";
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

template <typename Number>
absl::Status ReadAs(std::string_view type, std::string_view text,
                    Value& value) {
  Number number = 0;
  const auto result =
      std::from_chars(text.data(), text.data() + text.size(), number);
  if (result.ec != std::errc() || result.ptr != text.data() + text.size()) {
    return NotA(type, text);
  }
  value = number;
  return absl::OkStatus();
}

void PutText(const std::string& text, TextArena& arena, Value& value) {
  value = arena.Copy(text);
}

// PGInterval.getSeconds.
double SecondsOf(const Interval& interval) {
  const int64_t whole = interval.micros / 1'000'000;
  return static_cast<double>(whole) +
         static_cast<double>(interval.micros % 1'000'000) / 1e6;
}

// MicroDuration.durationMicros, with its rounding.
int64_t DurationMicros(const Interval& interval) {
  const double days =
      static_cast<double>(interval.years * 12 + interval.months) *
          (kDaysPerYear / 12.0) +
      static_cast<double>(interval.days);
  const double seconds = SecondsOf(interval);
  const double total =
      (((days * 24 + static_cast<double>(interval.hours)) * 60) +
       static_cast<double>(interval.minutes)) *
          60 +
      seconds;
  const double micros = total * 1e6 + 0;
  constexpr double kLimit = 9'223'372'036'854'775'808.0;
  if (micros >= kLimit) return std::numeric_limits<int64_t>::max();
  if (micros < -kLimit) return std::numeric_limits<int64_t>::min();
  return static_cast<int64_t>(micros);
}

// Interval.toIsoString; the seconds as Java prints them, without rounding, up
// to nine digits after the point.
std::string DurationText(const Interval& interval) {
  char buffer[32];
  const auto result =
      std::to_chars(buffer, buffer + sizeof(buffer), SecondsOf(interval),
                    std::chars_format::fixed);
  std::string seconds(buffer, result.ptr);
  const size_t point = seconds.find('.');
  if (point != seconds.npos) {
    seconds.resize(std::min(seconds.size(), point + 10));
    seconds.erase(seconds.find_last_not_of('0') + 1);
    if (seconds.ends_with('.')) seconds.pop_back();
  }
  return fmt::format("P{}Y{}M{}DT{}H{}M{}S", interval.years, interval.months,
                     interval.days, interval.hours, interval.minutes, seconds);
}

// The digits of an amount of money, without currency and separators.
std::string PlainAmount(std::string_view text) {
  const bool is_negative = text.starts_with('-') || text.starts_with('(');
  std::string amount = is_negative ? "-" : "";
  for (const char c : text) {
    if ((c >= '0' && c <= '9') || c == '.') amount += c;
  }
  return amount;
}

}  // namespace

absl::Status ColumnType::Read(Text text, TextArena& arena, Value& value) const {
  value = std::monostate();
  const bool is_known = text.has_value() && kind_ != Kind::kName;
  if (is_known) return ReadText(*text, arena, value);
  if (schema_->is_optional) return absl::OkStatus();
  // A value of its own, in spite of the constraint that the catalog has now.
  if (kind_ == Kind::kTimestamptz) {
    value = std::string_view("1970-01-01T00:00:00Z");
    return absl::OkStatus();
  }
  return ReadText(zero_, arena, value);
}

absl::Status ColumnType::ReadText(std::string_view text, TextArena& arena,
                                  Value& value) const {
  switch (kind_) {
    case Kind::kText:
    case Kind::kCitext:
    case Kind::kName:
      value = text;
      return absl::OkStatus();
    case Kind::kOpaque:
      PutBinary(text, arena, value);
      return absl::OkStatus();
    case Kind::kBoolean:
      value = text == "t";
      return absl::OkStatus();
    case Kind::kBit:
      if (!text.empty()) value = text.find('1') != text.npos;
      return absl::OkStatus();
    case Kind::kInt16:
    case Kind::kInt32:
    case Kind::kInt64:
    case Kind::kFloat32:
    case Kind::kFloat64:
      return ReadNumber(text, value);
    case Kind::kBytes:
      return ReadBytes(text, arena, value);
    case Kind::kBits:
      return ReadBits(text, arena, value);
    case Kind::kNumeric:
      return ReadNumeric(text, arena, value);
    case Kind::kMoney:
      return ReadMoney(text, arena, value);
    case Kind::kDate:
      return ReadDate(text, arena, value);
    case Kind::kTime:
      return ReadTime(text, arena, value);
    case Kind::kTimestamp:
      return ReadTimestamp(text, arena, value);
    case Kind::kTimestamptz:
    case Kind::kTimetz:
      return ReadZoned(text, arena, value);
    case Kind::kInterval:
      return ReadInterval(text, arena, value);
    case Kind::kHstore:
      return ReadHstore(text, arena, value);
    case Kind::kPoint:
    case Kind::kLine:
    case Kind::kCircle:
    case Kind::kShape:
      return ReadGeometric(text, arena, value);
    case Kind::kGeometry:
      ReadGeometry(text, arena, value);
      return absl::OkStatus();
    case Kind::kVector:
    case Kind::kHalfVector:
      return ReadVector(text, value);
    case Kind::kArray:
      return ReadArray(text, arena, value);
    case Kind::kBitArray:
      return absl::OkStatus();  // a list does not fit its schema
  }
  return absl::OkStatus();
}

absl::Status ColumnType::ReadNumber(std::string_view text, Value& value) const {
  switch (kind_) {
    case Kind::kInt16:
      return ReadAs<int16_t>("smallint", text, value);
    case Kind::kInt32:
      return ReadAs<int32_t>("integer", text, value);
    case Kind::kInt64:
      return ReadAs<int64_t>("bigint", text, value);
    case Kind::kFloat32:
      return ReadAs<float>("real", text, value);
    default:
      return ReadAs<double>("double precision", text, value);
  }
}

void ColumnType::PutBinary(std::string_view bytes, TextArena& arena,
                           Value& value) const {
  std::string text;
  switch (options_.binary) {
    case BinaryMode::kBytes:
      value = Bytes{bytes};
      return;
    case BinaryMode::kBase64:
      AppendBase64(bytes, Base64Alphabet::kStandard, text);
      break;
    case BinaryMode::kBase64UrlSafe:
      AppendBase64(bytes, Base64Alphabet::kUrlSafe, text);
      break;
    case BinaryMode::kHex:
      for (const char c : bytes) {
        fmt::format_to(std::back_inserter(text), "{:02x}",
                       static_cast<uint8_t>(c));
      }
      break;
  }
  PutText(text, arena, value);
}

// bytea_output = hex; walpost sets it for its sessions.
absl::Status ColumnType::ReadBytes(std::string_view text, TextArena& arena,
                                   Value& value) const {
  if (!text.starts_with("\\x") || text.size() % 2 != 0) {
    return NotA("bytea in hex", text);
  }
  const std::string_view digits = text.substr(2);
  if (options_.binary == BinaryMode::kHex) {
    value = digits;
    return absl::OkStatus();
  }
  const size_t count = digits.size() / 2;
  char* const bytes = arena.Allocate(count);
  for (size_t i = 0; i < count; ++i) {
    const int high = HexDigit(digits[2 * i]);
    const int low = HexDigit(digits[2 * i + 1]);
    if (high < 0 || low < 0) return NotA("bytea in hex", text);
    bytes[i] = static_cast<char>(high << 4 | low);
  }
  PutBinary({bytes, count}, arena, value);
  return absl::OkStatus();
}

// Little-endian bytes, the last character being the lowest bit; as many as the
// highest bit that is set needs.
absl::Status ColumnType::ReadBits(std::string_view text, TextArena& arena,
                                  Value& value) const {
  const size_t first = text.find('1');
  const size_t count = first == text.npos ? 0 : text.size() - first;
  const size_t size = (count + 7) / 8;
  char* const bytes = arena.Allocate(size);
  std::fill_n(bytes, size, '\0');
  for (size_t i = 0; i < count; ++i) {
    if (text[text.size() - 1 - i] == '1') {
      bytes[i / 8] = static_cast<char>(bytes[i / 8] | 1 << i % 8);
    }
  }
  value = Bytes{{bytes, size}};
  return absl::OkStatus();
}

void ColumnType::PutDecimal(const Decimal& decimal, TextArena& arena,
                            Value& value) const {
  switch (options_.decimal) {
    case DecimalMode::kPrecise:
      value = decimal;
      return;
    case DecimalMode::kDouble:
      value = ToDouble(decimal);
      return;
    case DecimalMode::kString: {
      std::string text;
      AppendPlainDecimal(decimal, text);
      PutText(text, arena, value);
      return;
    }
  }
}

absl::Status ColumnType::ReadNumeric(std::string_view text, TextArena& arena,
                                     Value& value) const {
  if (IsSpecialNumber(text)) {
    if (is_in_array_) return absl::OkStatus();
    if (options_.decimal == DecimalMode::kDouble) value = SpecialNumber(text);
    if (options_.decimal == DecimalMode::kString) {
      value = SpecialNumberName(text);
    }
    return absl::OkStatus();
  }
  std::optional<Decimal> decimal = ParseDecimal(text, arena);
  if (!decimal) return NotA("numeric", text);
  if (has_scale_) {
    decimal = WithScale(*decimal, scale_, Rounding::kUnnecessary, arena);
    if (!decimal) return NotA("numeric of that scale", text);
  } else if (options_.decimal == DecimalMode::kPrecise) {
    *decimal = StripTrailingZeros(*decimal);
    std::string bytes;
    AppendUnscaledBytes(*decimal, bytes);
    Struct variable;
    variable.schema = schema_;
    variable.values = {Value(decimal->scale), Value(Bytes{arena.Copy(bytes)})};
    value = std::move(variable);
    return absl::OkStatus();
  }
  PutDecimal(*decimal, arena, value);
  return absl::OkStatus();
}

absl::Status ColumnType::ReadMoney(std::string_view text, TextArena& arena,
                                   Value& value) const {
  std::optional<Decimal> decimal = ParseDecimal(PlainAmount(text), arena);
  if (!decimal) return NotA("money", text);
  if (options_.decimal == DecimalMode::kPrecise) {
    decimal = WithScale(*decimal, 2, Rounding::kHalfUp, arena);
    if (!decimal) return NotA("money", text);
  }
  PutDecimal(*decimal, arena, value);
  return absl::OkStatus();
}

absl::Status ColumnType::ReadDate(std::string_view text, TextArena& arena,
                                  Value& value) const {
  const Infinity infinity = InfinityOf(text);
  const bool is_iso = options_.time_precision == TimePrecision::kIsoString;
  std::optional<int64_t> days = ParseDate(text);
  if (infinity == Infinity::kPositive) {
    days = is_in_array_ ? kInfinityDaysInArray : kInfinityDays;
  } else if (infinity == Infinity::kNegative) {
    days = is_in_array_ ? kMinusInfinityDaysInArray : kMinusInfinityDays;
  }
  if (!days) return NotA("date", text);
  if (is_iso) {
    std::string iso;
    AppendIsoDate(*days, iso);
    iso += 'Z';
    PutText(iso, arena, value);
  } else if (options_.time_precision == TimePrecision::kConnect) {
    value = JavaDate{static_cast<int32_t>(*days) * kMillisPerDay};
  } else {
    value = static_cast<int32_t>(*days);
  }
  return absl::OkStatus();
}

absl::Status ColumnType::ReadTime(std::string_view text, TextArena& arena,
                                  Value& value) const {
  std::optional<int64_t> micros = ParseTime(text);
  if (!micros) return NotA("time", text);
  if (is_in_array_) {  // java.sql.Time has milliseconds of one day
    *micros = *micros % kMicrosPerDay / 1'000 * 1'000;
  }
  if (schema_->type == Schema::Type::kString) {
    std::string iso;
    AppendIsoTime(*micros % kMicrosPerDay, 0, iso);
    iso += 'Z';
    PutText(iso, arena, value);
  } else if (options_.time_precision == TimePrecision::kConnect) {
    value = JavaDate{*micros / 1'000};
  } else if (options_.time_precision == TimePrecision::kNanoseconds) {
    value = *micros * 1'000;
  } else if (schema_->type == Schema::Type::kInt32) {
    value = static_cast<int32_t>(*micros / 1'000);
  } else {
    value = *micros;
  }
  return absl::OkStatus();
}

absl::Status ColumnType::ReadTimestamp(std::string_view text, TextArena& arena,
                                       Value& value) const {
  const std::optional<Moment> moment = ParseTimestamp(text);
  if (!moment) return NotA("timestamp", text);
  std::optional<int64_t> number;
  switch (options_.time_precision) {
    case TimePrecision::kIsoString: {
      std::string iso;
      AppendIsoTimestamp(*moment, 0, iso);
      PutText(iso, arena, value);
      return absl::OkStatus();
    }
    case TimePrecision::kConnect:
      value = JavaDate{MillisOf(*moment)};
      return absl::OkStatus();
    case TimePrecision::kNanoseconds:
      number = NanosOf(*moment);
      if (InfinityOf(text) == Infinity::kPositive) {
        number = std::numeric_limits<int64_t>::max();
      } else if (InfinityOf(text) == Infinity::kNegative) {
        number = std::numeric_limits<int64_t>::min();
      }
      break;
    case TimePrecision::kAdaptive:
    case TimePrecision::kAdaptiveTimeMicroseconds:
      number = precision_ > 3 ? MicrosOf(*moment) : MillisOf(*moment);
      break;
    case TimePrecision::kMicroseconds:
      number = MicrosOf(*moment);
      break;
  }
  if (number) value = *number;
  return absl::OkStatus();
}

absl::Status ColumnType::ReadZoned(std::string_view text, TextArena& arena,
                                   Value& value) const {
  std::string iso;
  if (kind_ == Kind::kTimestamptz) {
    const Infinity infinity = InfinityOf(text);
    const bool is_before_all_in_array =
        infinity == Infinity::kNegative && is_in_array_;
    if (infinity != Infinity::kNone && !is_before_all_in_array) {
      value = text;
      return absl::OkStatus();
    }
    const std::optional<Moment> moment =
        is_before_all_in_array ? ParseTimestamp(kMinusInfinityInArray)
                               : ParseZonedTimestamp(text);
    if (!moment) return NotA("timestamp with time zone", text);
    AppendIsoTimestamp(*moment, precision_, iso);
  } else {
    const std::optional<ZonedTimeOfDay> time = ParseZonedTime(text);
    if (!time) return NotA("time with time zone", text);
    // Debezium logs a zone with seconds, which it cannot read.
    if (time->offset_seconds % 60 != 0) return absl::OkStatus();
    int64_t micros = time->micros;
    const bool is_midnight = micros == kMicrosPerDay;
    if (!is_midnight || time->offset_seconds != 0) {
      micros -= time->offset_seconds * int64_t{1'000'000};
      micros = (micros % kMicrosPerDay + kMicrosPerDay) % kMicrosPerDay;
    }
    AppendIsoTime(micros, 0, iso);
    iso += 'Z';
  }
  PutText(iso, arena, value);
  return absl::OkStatus();
}

absl::Status ColumnType::ReadInterval(std::string_view text, TextArena& arena,
                                      Value& value) const {
  const std::optional<Interval> interval = ParseInterval(text);
  if (!interval) return NotA("interval in the style postgres", text);
  if (options_.interval == IntervalMode::kNumeric) {
    value = DurationMicros(*interval);
  } else {
    PutText(DurationText(*interval), arena, value);
  }
  return absl::OkStatus();
}

}  // namespace walpost::debezium
