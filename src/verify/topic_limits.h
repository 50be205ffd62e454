// Limits of what a topic keeps, and the check whether it would keep records
// that are about to be sent. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/finding.h"
#include "outbox/topic_creation.h"

namespace walpost {

using TopicConfig = std::map<std::string, std::string>;

// Settings of a topic, as the brokers describe them. -1: no limit.
struct TopicLimits {
  std::string topic;
  bool exists = true;
  int64_t partitions = 1;
  std::string cleanup_policy;  // empty: not known
  int64_t retention_ms = -1;
  int64_t retention_bytes = -1;  // of each partition
  // True if records get the time of their arrival instead of their own.
  bool has_append_time = false;
  int64_t accepted_age_ms = -1;  // older records are refused

  bool is_compacted() const {
    return cleanup_policy.find("compact") != std::string::npos;
  }
};

// Limits count only with cleanup.policy=delete.
TopicLimits ParseTopicLimits(const std::string& topic, int64_t partitions,
                             const TopicConfig& config);

// Limits of a topic that a broker with these settings creates: `creation` has
// precedence.
TopicLimits LimitsOfNewTopic(const std::string& topic,
                             const TopicConfig& broker,
                             const std::optional<TopicCreation>& creation);

// Rows of a table for one topic.
struct RowsForTopic {
  std::string table;
  // The column that gives records their time; empty: records are new.
  std::string time_column;
  // Rows that are older than retention.ms; nullopt: not known.
  std::optional<uint64_t> too_old;
  std::optional<uint64_t> bytes;  // of payloads
  // Rows that are older than what is accepted; nullopt: not known.
  std::optional<uint64_t> refused = 0;
  // Rows whose records have no key; nullopt: not known.
  std::optional<uint64_t> keyless = 0;
};

// Findings about rows that Kafka would reject, or delete soon after it has
// acknowledged them.
Findings DescribeDeletions(const TopicLimits& limits, const RowsForTopic& rows,
                           Severity severity, const std::string& brokers);

// Milliseconds as "7 d", "36 h", "90 s" or "500 ms".
std::string AgeText(int64_t millis);

}  // namespace walpost
