#include "debezium/context_headers.h"

namespace walpost::debezium {

std::vector<std::pair<std::string_view, std::string>> ContextHeadersOf(
    const Options& options, const std::string& run_id) {
  std::vector<std::pair<std::string_view, std::string>> headers;
  if (options.context_headers == ContextHeaders::kNone) return headers;
  headers = {
      {"__debezium.context.connectorLogicalName", options.logical_name},
      {"__debezium.context.taskId", "0"},
      {"__debezium.context.connectorName", "postgresql"},
  };
  if (options.context_headers == ContextHeaders::kSince34 && !run_id.empty()) {
    headers.emplace_back("__debezium.context.runId", run_id);
  }
  return headers;
}

}  // namespace walpost::debezium
