#include "verify/topic_limits.h"

#include <cstdlib>

#include "fmt/format.h"

namespace walpost {
namespace {

int64_t Limit(const TopicConfig& config, const char* name) {
  const auto found = config.find(name);
  return found == config.end()
             ? -1
             : std::strtoll(found->second.c_str(), nullptr, 10);
}

}  // namespace

TopicLimits ParseTopicLimits(const std::string& topic, int64_t partitions,
                             const TopicConfig& config) {
  TopicLimits limits;
  limits.topic = topic;
  limits.partitions = partitions;
  const auto policy = config.find("cleanup.policy");
  if (policy == config.end()) return limits;
  limits.cleanup_policy = policy->second;
  if (policy->second.find("delete") == std::string::npos) return limits;
  limits.retention_ms = Limit(config, "retention.ms");
  limits.retention_bytes = Limit(config, "retention.bytes");
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
  const auto raise = [&](std::string_view setting) {
    return fmt::format(
        "kafka-configs.sh --bootstrap-server {} --alter --entity-type topics "
        "--entity-name {} --add-config {}=-1",
        brokers, limits.topic, setting);
  };
  const bool may_be_old = !rows.time_column.empty() &&
                          limits.retention_ms >= 0 && rows.too_old != 0;
  if (may_be_old) {
    findings.push_back(
        {severity, subject,
         fmt::format(
             "has retention.ms={} ({}), and {} of table {} are older by column "
             "{}, which gives records their time (columns.timestamp): Kafka "
             "deletes such records at its next sweep, although it has "
             "acknowledged them",
             limits.retention_ms, AgeText(limits.retention_ms),
             rows.too_old ? fmt::format("{} rows", *rows.too_old) : "rows",
             rows.table, rows.time_column),
         raise("retention.ms")});
  }
  const bool is_small =
      limits.retention_bytes >= 0 && rows.bytes &&
      *rows.bytes >
          static_cast<uint64_t>(limits.retention_bytes * limits.partitions);
  if (is_small) {
    findings.push_back(
        {severity, subject,
         fmt::format("has retention.bytes={} for each of {} partitions, and "
                     "the payloads of table {} have {} bytes: Kafka deletes "
                     "the first records again",
                     limits.retention_bytes, limits.partitions, rows.table,
                     *rows.bytes),
         raise("retention.bytes")});
  }
  if (limits.is_compacted()) {
    findings.push_back(
        {Severity::kNote, subject,
         fmt::format(
             "has cleanup.policy={}: Kafka keeps the last event of a key "
             "alone, and an event that is sent again becomes the last one",
             limits.cleanup_policy),
         ""});
  }
  return findings;
}

}  // namespace walpost
