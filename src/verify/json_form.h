// JsonForm: keys and values in a form in which the same JSON is the same text
// (verify --json-equal): members sorted, the last of those with one name,
// numbers by their value, no spaces. Any other bytes are their own form.
//
// Converters of Kafka Connect put more around a text of the row; its form is
// that of the text (docs/verify.md).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "debezium/options.h"

namespace walpost {

class JsonForm {
 public:
  // Keys and values are the row's own bytes.
  JsonForm() = default;
  static JsonForm OfKeys(const debezium::Options& options);
  static JsonForm OfValues(const debezium::Options& options);

  // The forms of a row and of its record are equal if the record is right.
  // nullopt: null.
  std::optional<std::string> OfRow(std::optional<std::string_view> text) const;
  std::optional<std::string> OfRecord(
      std::optional<std::string_view> bytes) const;

  // True if a key that is a text has the same bytes in the record.
  bool keeps_bytes() const { return !is_converted_; }

 private:
  static JsonForm Of(debezium::Converter converter);
  std::string Of(std::string_view bytes) const;

  bool is_converted_ = false;  // texts became JSON strings
  bool has_schema_ = false;    // {"schema": …, "payload": …}
  bool is_expanded_ = false;   // expand_json
  bool empty_is_null_ = false;
};

}  // namespace walpost
