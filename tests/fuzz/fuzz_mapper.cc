// A stream of messages, each prefixed with two bytes of length, through
// decoding, mapping and routing: every event ends as a record or an error.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "outbox/event_json.h"
#include "outbox/record_builder.h"
#include "outbox/transaction_assembler.h"
#include "pgoutput/decoder.h"

namespace {

walpost::OutboxOptions Options(uint8_t variant) {
  walpost::OutboxOptions options;
  options.tables.emplace_back();
  options.tables.back().columns.timestamp = {
      walpost::FieldSource::Kind::kColumn, "created_at"};
  options.messages.prefix = "outbox";
  if (variant & 1) options.value_format = walpost::ValueFormat::kProtobuf;
  if (variant & 2) options.tables.back().value_columns = {"id", "payload"};
  if (variant & 4) options.tables.back().columns.timestamp = {};
  if (variant & 8) {
    options.route.topic = "{aggregate_type|lower|replace:_:-}.{id}";
  }
  return options;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace walpost;
  if (size == 0) return 0;
  const OutboxOptions options = Options(data[0]);
  std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  auto builder = RecordBuilder::Create(options);
  if (!builder.ok()) __builtin_trap();
  std::vector<std::vector<std::string>> references;
  for (const Route& route : (*builder)->routes()) {
    references.push_back(route.references());
  }
  TransactionAssembler assembler(options, std::move(references));
  Step step;
  while (rest.size() > 2) {
    const size_t length = std::min<size_t>(
        static_cast<uint8_t>(rest[0]) << 8 | static_cast<uint8_t>(rest[1]),
        rest.size() - 2);
    const auto message = pgoutput::Decode(rest.substr(2, length));
    rest.remove_prefix(2 + length);
    if (!message.ok() || !assembler.Apply(*message, step).ok()) return 0;
    if (step.kind != Step::Kind::kEvent) continue;
    const auto record = (*builder)->Build(step.event, 1);
    EventJson(step.event, record.ok() ? record->topic : "", record.status());
  }
  return 0;
}
