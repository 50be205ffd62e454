#include "verify/topic_limits.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <utility>

#include "fmt/format.h"

namespace walpost {
namespace {

int64_t Limit(const TopicConfig& config, const char* name) {
  const auto found = config.find(name);
  return found == config.end()
             ? -1
             : std::strtoll(found->second.c_str(), nullptr, 10);
}

// The broker has the first of these that is set.
void SetRetention(const TopicConfig& broker, TopicConfig& topic) {
  constexpr std::array<std::pair<const char*, int64_t>, 3> kSettings = {
      {{"log.retention.ms", 1},
       {"log.retention.minutes", 60'000},
       {"log.retention.hours", 3'600'000}}};
  for (const auto& [name, millis] : kSettings) {
    if (!broker.contains(name)) continue;
    const int64_t value = Limit(broker, name);
    topic["retention.ms"] = std::to_string(value < 0 ? -1 : value * millis);
    return;
  }
}

}  // namespace

TopicLimits ParseTopicLimits(const std::string& topic, int64_t partitions,
                             const TopicConfig& config) {
  TopicLimits limits;
  limits.topic = topic;
  limits.partitions = partitions;
  const auto time = config.find("message.timestamp.type");
  limits.has_append_time =
      time != config.end() && time->second == "LogAppendTime";
  if (!limits.has_append_time) {
    limits.accepted_age_ms = Limit(config, "message.timestamp.before.max.ms");
    if (limits.accepted_age_ms == std::numeric_limits<int64_t>::max()) {
      limits.accepted_age_ms = -1;
    }
  }
  const auto policy = config.find("cleanup.policy");
  if (policy == config.end()) return limits;
  limits.cleanup_policy = policy->second;
  if (policy->second.find("delete") == std::string::npos) return limits;
  limits.retention_ms = Limit(config, "retention.ms");
  limits.retention_bytes = Limit(config, "retention.bytes");
  return limits;
}

TopicLimits LimitsOfNewTopic(const std::string& topic,
                             const TopicConfig& broker,
                             const std::optional<TopicCreation>& creation) {
  TopicConfig config;
  for (const char* name :
       {"cleanup.policy", "retention.bytes", "message.timestamp.type",
        "message.timestamp.before.max.ms"}) {
    const auto found = broker.find(fmt::format("log.{}", name));
    if (found != broker.end()) config[name] = found->second;
  }
  SetRetention(broker, config);
  int64_t partitions = std::max<int64_t>(Limit(broker, "num.partitions"), 1);
  if (creation) {
    if (creation->partitions > 0) partitions = creation->partitions;
    for (const auto& [name, value] : creation->config) config[name] = value;
  }
  TopicLimits limits = ParseTopicLimits(topic, partitions, config);
  limits.exists = false;
  return limits;
}

std::string AgeText(int64_t millis) {
  constexpr int64_t kSecond = 1000;
  constexpr int64_t kHour = 3600 * kSecond;
  constexpr int64_t kDay = 24 * kHour;
  if (millis >= kDay && millis % kDay == 0) {
    return fmt::format("{} d", millis / kDay);
  }
  if (millis >= kHour) return fmt::format("{} h", millis / kHour);
  if (millis >= kSecond) return fmt::format("{} s", millis / kSecond);
  return fmt::format("{} ms", millis);
}

Findings DescribeDeletions(const TopicLimits& limits, const RowsForTopic& rows,
                           Severity severity, const std::string& brokers) {
  Findings findings;
  const std::string subject = fmt::format("topic {}", limits.topic);
  const std::string has = limits.exists ? "has" : "would be created with";
  const auto raise = [&](std::string_view setting, int64_t value) {
    constexpr std::string_view kAlter =
        "kafka-configs.sh --bootstrap-server {} --alter --entity-type topics "
        "--entity-name {} --add-config {}={}";
    constexpr std::string_view kCreate =
        "kafka-topics.sh --bootstrap-server {} --create --topic {} --config "
        "{}={}";
    return fmt::format(fmt::runtime(limits.exists ? kAlter : kCreate), brokers,
                       limits.topic, setting, value);
  };
  const auto rows_text = [](const std::optional<uint64_t>& number) {
    return number ? fmt::format("{} rows", *number) : "rows";
  };
  if (!rows.time_column.empty() && limits.accepted_age_ms >= 0 &&
      rows.refused != 0) {
    findings.push_back(
        {severity, FindingId("records_too_old_for_topic"), subject,
         fmt::format(
             "{} message.timestamp.before.max.ms={} ({}), and {} of table {} "
             "are older by column {}, which gives records their time "
             "(columns.timestamp): the brokers refuse such records",
             has, limits.accepted_age_ms, AgeText(limits.accepted_age_ms),
             rows_text(rows.refused), rows.table, rows.time_column),
         raise("message.timestamp.before.max.ms",
               std::numeric_limits<int64_t>::max())});
  }
  const bool may_be_old = !rows.time_column.empty() &&
                          !limits.has_append_time && limits.retention_ms >= 0 &&
                          rows.too_old != 0;
  if (may_be_old) {
    findings.push_back(
        {severity, FindingId("records_older_than_retention"), subject,
         fmt::format(
             "{} retention.ms={} ({}), and {} of table {} are older by column "
             "{}, which gives records their time (columns.timestamp): Kafka "
             "deletes such records at its next sweep, although it has "
             "acknowledged them",
             has, limits.retention_ms, AgeText(limits.retention_ms),
             rows_text(rows.too_old), rows.table, rows.time_column),
         raise("retention.ms", -1)});
  }
  const bool is_small =
      limits.retention_bytes >= 0 && rows.bytes &&
      *rows.bytes >
          static_cast<uint64_t>(limits.retention_bytes * limits.partitions);
  if (is_small) {
    findings.push_back(
        {severity, FindingId("rows_exceed_retention_bytes"), subject,
         fmt::format("{} retention.bytes={} for each of {} partitions, and "
                     "the payloads of table {} have {} bytes: Kafka deletes "
                     "the first records again",
                     has, limits.retention_bytes, limits.partitions, rows.table,
                     *rows.bytes),
         raise("retention.bytes", -1)});
  }
  if (limits.is_compacted() && rows.keyless != 0) {
    const std::string which =
        rows.keyless
            ? fmt::format("{} rows of table {} have no key", *rows.keyless,
                          rows.table)
            : fmt::format("how many rows of table {} have no key is not known",
                          rows.table);
    findings.push_back(
        {rows.keyless ? severity : Severity::kWarning,
         FindingId("compacted_topic_without_keys"), subject,
         fmt::format("{} cleanup.policy={}, and {}: the brokers refuse such "
                     "records",
                     has, limits.cleanup_policy, which),
         "map outbox.tables.columns.aggregate_id to a column that is not NULL, "
         "or give these rows another topic"});
  }
  if (limits.is_compacted()) {
    findings.push_back(
        {Severity::kNote, FindingId("topic_compacted"), subject,
         fmt::format(
             "{} cleanup.policy={}: Kafka keeps the last event of a key "
             "alone, and an event that is sent again becomes the last one",
             has, limits.cleanup_policy),
         ""});
  }
  return findings;
}

}  // namespace walpost
