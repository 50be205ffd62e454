// ColumnJson: some columns of a row as one small JSON object; the value of
// events that only refer to a business row.
//
// Integers, booleans and json columns keep their JSON type; everything else
// is a string as the server renders it; NULL is null.
#pragma once

#include <cstdint>
#include <string_view>

#include "outbox/event.h"
#include "rapidjson/stringbuffer.h"
#include "rapidjson/writer.h"

namespace walpost {

class ColumnJson {
 public:
  ColumnJson() = default;
  ColumnJson(const ColumnJson&) = delete;
  ColumnJson& operator=(const ColumnJson&) = delete;

  void Begin();
  void Add(std::string_view name, uint32_t type_oid, const Value& value);
  // The whole object; valid until the next Begin.
  std::string_view Finish();

 private:
  rapidjson::StringBuffer buffer_;
  rapidjson::Writer<rapidjson::StringBuffer> writer_{buffer_};
};

}  // namespace walpost
