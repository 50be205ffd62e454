// The fields of an event by name: for configuration, templates and mappers.
// (`timestamp` is mapped separately, because it becomes a time.)
#pragma once

#include <array>
#include <string_view>

#include "outbox/event.h"
#include "outbox/options.h"

namespace walpost {

struct FieldDescription {
  std::string_view name;
  FieldSource FieldSources::*source;
  Value Event::*value;
  // Usual column names for it; the first existing one is used.
  std::array<std::string_view, 2> usual_names;
};

inline constexpr std::array<FieldDescription, 6> kFields = {{
    {"id", &FieldSources::id, &Event::id, {"id"}},
    {"aggregate_type",
     &FieldSources::aggregate_type,
     &Event::aggregate_type,
     {"aggregate_type", "aggregatetype"}},
    {"aggregate_id",
     &FieldSources::aggregate_id,
     &Event::aggregate_id,
     {"aggregate_id", "aggregateid"}},
    {"type", &FieldSources::type, &Event::type, {"type", "event_type"}},
    {"payload", &FieldSources::payload, &Event::payload, {"payload"}},
    {"headers", &FieldSources::headers, &Event::headers, {"headers"}},
}};

// Index into kFields; kFields.size(): there is no such field.
constexpr size_t FindField(std::string_view name) {
  size_t i = 0;
  while (i < kFields.size() && kFields[i].name != name) ++i;
  return i;
}

}  // namespace walpost
