#include "admin/status_json.h"

#include "rapidjson/prettywriter.h"
#include "rapidjson/stringbuffer.h"

namespace walpost {
namespace {

using Writer = rapidjson::PrettyWriter<rapidjson::StringBuffer>;

void Put(Writer& writer, std::string_view key, std::string_view value) {
  writer.Key(key.data(), static_cast<rapidjson::SizeType>(key.size()));
  writer.String(value.data(), static_cast<rapidjson::SizeType>(value.size()));
}
void Put(Writer& writer, std::string_view key, uint64_t value) {
  writer.Key(key.data(), static_cast<rapidjson::SizeType>(key.size()));
  writer.Uint64(value);
}
void PutSeconds(Writer& writer, std::string_view key,
                std::chrono::microseconds value) {
  writer.Key(key.data(), static_cast<rapidjson::SizeType>(key.size()));
  writer.Double(static_cast<double>(value.count()) / 1e6);
}
void Put(Writer& writer, std::string_view key, Lsn value) {
  Put(writer, key, value.ToString());
}

}  // namespace

std::string StatusJson(const RelayStatus& status, std::string_view version) {
  rapidjson::StringBuffer buffer;
  Writer writer(buffer);
  writer.SetIndent(' ', 2);
  writer.StartObject();
  Put(writer, "version", version);
  Put(writer, "state", ToString(status.state));
  Put(writer, "reason", status.reason);
  PutSeconds(writer, "in_state_seconds", status.in_state_for);
  Put(writer, "slot", status.slot);
  Put(writer, "system_identifier", status.system_identifier);
  Put(writer, "timeline", uint64_t{status.timeline});
  Put(writer, "server_version", static_cast<uint64_t>(status.server_version));
  Put(writer, "server_wal_end", status.server_wal_end);
  Put(writer, "received_lsn", status.received);
  Put(writer, "confirmed_lsn", status.confirmed);
  Put(writer, "lag_bytes", status.lag_bytes());
  if (status.retained_wal_bytes) {
    Put(writer, "retained_wal_bytes", *status.retained_wal_bytes);
  }
  if (status.wal_status) Put(writer, "wal_status", *status.wal_status);
  Put(writer, "in_flight_records", status.in_flight_records);
  Put(writer, "in_flight_bytes", status.in_flight_bytes);
  Put(writer, "max_in_flight_records", status.max_in_flight_records);
  Put(writer, "max_in_flight_bytes", status.max_in_flight_bytes);
  PutSeconds(writer, "oldest_in_flight_seconds", status.oldest_in_flight);
  Put(writer, "events", status.counters.events);
  Put(writer, "repeats", status.counters.repeats);
  Put(writer, "produced", status.counters.produced);
  Put(writer, "acknowledged", status.counters.acknowledged);
  Put(writer, "value_bytes", status.counters.value_bytes);
  Put(writer, "not_delivered", status.counters.not_delivered);
  Put(writer, "transactions", status.counters.transactions);
  Put(writer, "rewinds", status.counters.rewinds);
  Put(writer, "reconnects", status.reconnects);
  PutSeconds(writer, "commit_to_acknowledgement_p50_seconds",
             status.latency.Quantile(0.5));
  PutSeconds(writer, "commit_to_acknowledgement_p99_seconds",
             status.latency.Quantile(0.99));
  writer.EndObject();
  return std::string(buffer.GetString(), buffer.GetSize()) + "\n";
}

}  // namespace walpost
