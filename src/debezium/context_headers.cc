#include "debezium/context_headers.h"

#include "base/check.h"
#include "debezium/connect_value.h"
#include "debezium/record_converter.h"

namespace walpost::debezium {

std::vector<ContextHeader> MakeContextHeaders(const Options& options,
                                              std::string_view run_id) {
  std::vector<ContextHeader> headers;
  if (options.context_headers == ContextHeaders::kNone) return headers;
  const RecordConverter converter(options.header_converter, options);
  const Schema schema = PlainSchema(Schema::Type::kString);
  const auto add = [&](std::string_view name, std::string_view text) {
    const Value value(text);
    std::string buffer;
    Text bytes;
    WALPOST_CHECK(converter.Convert({&schema, &value}, buffer, bytes).ok());
    headers.push_back({"__debezium.context." + std::string(name),
                       std::string(bytes.value_or(""))});
  };
  add("connectorLogicalName", options.logical_name);
  add("taskId", "0");
  add("connectorName", "postgresql");
  if (options.context_headers == ContextHeaders::kSince34 && !run_id.empty()) {
    add("runId", run_id);
  }
  return headers;
}

}  // namespace walpost::debezium
