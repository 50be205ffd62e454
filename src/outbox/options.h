// What the configuration says about outboxes: which tables, which columns,
// which topics. Keys and defaults are documented in docs/configuration.md.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "outbox/row_state_options.h"

namespace walpost {

// Where the value of a field comes from.
struct FieldSource {
  enum class Kind {
    kUsual,     // a column of the field's usual names, if the table has one
    kColumn,    // the column (of a message: the JSON member) named in `text`
    kConstant,  // always `text`
    kAbsent,    // always null
  };
  Kind kind = Kind::kUsual;
  std::string text;
};

struct FieldSources {
  FieldSource id;
  FieldSource aggregate_type;
  FieldSource aggregate_id;
  FieldSource type;
  FieldSource payload;
  FieldSource headers;
  FieldSource timestamp;  // kUsual: none, records carry the commit time
};

struct TableOptions {
  // schema.table, spelled as the catalog spells it (no quotes, no folding).
  std::string name = "public.outbox";
  FieldSources columns;
  // Topic template of this table; empty means RouteOptions::topic.
  std::string topic;
  // The column that rows read from the table (not from the WAL) are ordered by;
  // empty: that of field `id`.
  std::string order_by = {};
  // When not empty the value is a JSON object of these columns, for rows
  // that only refer to a business row; the payload is not used.
  std::vector<std::string> value_columns;
  // Where a row keeps its state, for whoever reads the table.
  RowStateOptions state = {};
};

// Transactional pg_logical_emit_message() with this prefix.
struct MessageOptions {
  enum class Format {
    kJson,     // content is a JSON object whose members are the fields
    kPayload,  // content is the payload; the other fields are constants
  };
  std::string prefix;  // empty: messages are not read
  Format format = Format::kJson;
  FieldSources columns;
  std::string topic;

  bool enabled() const { return !prefix.empty(); }
};

// Headers of ours: the field `id`, and every name with this prefix
// (walpost-position, walpost-replay, walpost-recovered, walpost-snapshot).
inline constexpr std::string_view kIdHeader = "id";
inline constexpr std::string_view kReservedPrefix = "walpost-";

struct RouteOptions {
  // See topic_template.h.
  std::string topic = "outbox.event.{aggregate_type}";
  // Extra record headers: name, then the field or column it carries.
  std::vector<std::pair<std::string, std::string>> headers;
  // Whether records carry `walpost-position`.
  bool position_header = true;
};

enum class ValueFormat {
  kRaw,       // the payload's bytes
  kProtobuf,  // walpost.v1.Envelope (proto/)
};

struct OutboxOptions {
  std::vector<TableOptions> tables;
  MessageOptions messages;
  RouteOptions route;
  ValueFormat value_format = ValueFormat::kRaw;
};

}  // namespace walpost
