#include "config/keys.h"

#include <string_view>

#include "config/checks.h"
#include "config/secrets.h"
#include "outbox/fields.h"

namespace walpost {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::string_view kMessageFormats[] = {"json", "payload"};
constexpr std::string_view kValueFormats[] = {"raw", "protobuf"};
constexpr std::string_view kLogLevels[] = {"debug", "info", "warn", "error"};

constexpr size_t kKiB = size_t{1} << 10;
constexpr size_t kGiB = size_t{1} << 30;

void VisitPostgres(KeyVisitor& visitor, WalSourceOptions& postgres) {
  visitor.Text("conninfo", postgres.conninfo,
               {CheckConninfo, HideConninfoSecrets});
  visitor.Text("slot", postgres.slot, {CheckSlotName});
  visitor.Text("publication", postgres.publication, {CheckIdentifier});
  visitor.Flag("create", postgres.create);
  visitor.Flag("failover", postgres.failover);
  // A server takes as much as 24 days; a day without a word is no stream.
  visitor.Duration("wal_sender_timeout", postgres.wal_sender_timeout,
                   {seconds(1), hours(24)});
  visitor.Duration("status_interval", postgres.status_interval,
                   {milliseconds(1), seconds(10)});
}

void VisitColumns(KeyVisitor& visitor, FieldSources& columns,
                  SourceRule payload_rule, SourceRule rule) {
  visitor.Section("columns", [&] {
    for (const FieldDescription& field : kFields) {
      const bool is_payload = field.source == &FieldSources::payload;
      visitor.Source(field.name, columns.*field.source,
                     is_payload ? payload_rule : rule);
    }
    visitor.Source("timestamp", columns.timestamp, rule);
  });
}

void VisitTable(KeyVisitor& visitor, TableOptions& table) {
  visitor.Text("name", table.name, {CheckTableName});
  VisitColumns(visitor, table.columns, SourceRule::kAny, SourceRule::kAny);
  visitor.Text("topic", table.topic, {CheckOptionalTopic});
  visitor.Section("value",
                  [&] { visitor.Texts("columns", table.value_columns); });
}

void VisitMessages(KeyVisitor& visitor, MessageOptions& messages) {
  visitor.Text("prefix", messages.prefix, {});
  visitor.Choice("format", messages.format, kMessageFormats);
  switch (messages.format) {
    case MessageOptions::Format::kJson:
      VisitColumns(visitor, messages.columns, SourceRule::kAny,
                   SourceRule::kAny);
      break;
    case MessageOptions::Format::kPayload:
      VisitColumns(visitor, messages.columns, SourceRule::kFixed,
                   SourceRule::kConstantOnly);
      break;
  }
  visitor.Text("topic", messages.topic, {CheckOptionalTopic});
}

void VisitOutbox(KeyVisitor& visitor, OutboxOptions& outbox) {
  visitor.Tables("tables", outbox.tables, [&](TableOptions& table) {
    VisitTable(visitor, table);
  });
  visitor.Section("messages", [&] { VisitMessages(visitor, outbox.messages); });
}

void VisitRoute(KeyVisitor& visitor, RouteOptions& route) {
  visitor.Text("topic", route.topic, {CheckTopic});
  visitor.PairsOf("headers", route.headers, {{CheckNotEmpty}});
  visitor.Flag("position_header", route.position_header);
}

void VisitKafka(KeyVisitor& visitor, ProducerOptions& kafka) {
  visitor.Text("brokers", kafka.brokers, {});
  visitor.PairsOf("properties", kafka.properties, {{}, IsSecretProperty});
}

void VisitDelivery(KeyVisitor& visitor, Config& config) {
  visitor.Count("max_in_flight_records", config.window.max_records,
                {1, size_t{1} << 20});
  visitor.Size("max_in_flight_bytes", config.window.max_bytes,
               {64 * kKiB, 64 * kGiB});
  visitor.Duration("shutdown_timeout", config.shutdown_timeout,
                   {seconds(0), hours(1)});
}

}  // namespace

void VisitKeys(KeyVisitor& visitor, Config& config) {
  visitor.Section("postgres", [&] { VisitPostgres(visitor, config.postgres); });
  visitor.Section("outbox", [&] { VisitOutbox(visitor, config.outbox); });
  visitor.Section("route", [&] { VisitRoute(visitor, config.outbox.route); });
  visitor.Section("value", [&] {
    visitor.Choice("format", config.outbox.value_format, kValueFormats);
  });
  visitor.Section("kafka", [&] { VisitKafka(visitor, config.kafka); });
  visitor.Section("delivery", [&] { VisitDelivery(visitor, config); });
  visitor.Section("http", [&] {
    visitor.Text("listen", config.http.listen, {CheckListen});
  });
  visitor.Section("log", [&] {
    visitor.Choice("level", config.log_level, kLogLevels);
  });
}

}  // namespace walpost
