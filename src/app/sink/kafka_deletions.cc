#include "app/sink/kafka_deletions.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <set>

#include "app/sink/sinks.h"
#include "app/sink/topic_reader_options.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "verify/table_reader.h"
#include "verify/topic_collisions.h"
#include "verify/topic_limits.h"
#include "verify/topic_reader.h"

namespace walpost {
namespace {

// Topics that are asked about.
constexpr size_t kMaxTopics = 1000;

using Starts = std::map<std::string, std::vector<PartitionStart>>;

// Both ends, as long as one call takes. What is asked is asked once.
class TopicsOfTables {
 public:
  TopicsOfTables(const Config& config, const ReloadableText& conninfo)
      : config_(config), conninfo_(conninfo) {}

  absl::Status Connect() {
    WALPOST_RETURN_IF_ERROR(RequireKafka(config_, "this"));
    WALPOST_ASSIGN_OR_RETURN(rows_, TableReader::Connect(conninfo_));
    WALPOST_ASSIGN_OR_RETURN(
        topics_, TopicReader::Connect(TopicReaderOptionsOf(config_)));
    return absl::OkStatus();
  }

  // Topics of a table's rows, whether they exist or not.
  const absl::StatusOr<std::set<std::string>>& NamesOf(
      const TableOptions& table) {
    const auto [names, is_new] = names_.try_emplace(table.name);
    if (is_new) {
      names->second = rows_->FindTopics(table, config_.outbox.route);
    }
    return names->second;
  }

  // Those that exist, with their partitions.
  const absl::StatusOr<Starts>& TopicsOf(const TableOptions& table) {
    const auto [starts, is_new] = starts_.try_emplace(table.name);
    if (is_new) starts->second = FindStarts(table);
    return starts->second;
  }

  absl::StatusOr<std::set<std::string>> Existing() {
    return topics_->FindTopics({}, {""});
  }

  // Asked once for each topic.
  const TopicLimits& LimitsOf(const std::string& topic, size_t partitions) {
    const auto known = limits_.find(topic);
    if (known != limits_.end()) return known->second;
    return limits_
        .emplace(topic,
                 ParseTopicLimits(topic, static_cast<int64_t>(partitions),
                                  topics_->Describe(topic)))
        .first->second;
  }

  // Limits of a topic that does not exist yet.
  TopicLimits LimitsOfNew(const std::string& topic, const TableOptions& table) {
    if (!broker_) broker_ = topics_->DescribeBroker();
    return LimitsOfNewTopic(topic, *broker_,
                            table.create_topics
                                ? table.create_topics
                                : config_.outbox.route.create_topics);
  }

  const Config& config() const { return config_; }
  TableReader& rows() { return *rows_; }

 private:
  absl::StatusOr<Starts> FindStarts(const TableOptions& table) {
    WALPOST_ASSIGN_OR_RETURN(std::set<std::string> names, NamesOf(table));
    while (names.size() > kMaxTopics) names.erase(std::prev(names.end()));
    WALPOST_ASSIGN_OR_RETURN(const std::vector<PartitionStart> starts,
                             topics_->FindStarts(names));
    Starts found;
    for (const PartitionStart& start : starts) {
      found[start.topic].push_back(start);
    }
    return found;
  }

  const Config& config_;
  const ReloadableText& conninfo_;
  std::unique_ptr<TableReader> rows_;
  std::unique_ptr<TopicReader> topics_;
  std::map<std::string, absl::StatusOr<std::set<std::string>>> names_;
  std::map<std::string, absl::StatusOr<Starts>> starts_;  // by the table
  std::map<std::string, TopicLimits> limits_;             // by the topic
  std::optional<TopicConfig> broker_;
};

// Counts what the limits of a table's topics make worth counting.
class RowsOfTable {
 public:
  RowsOfTable(TableReader& rows, const TableOptions& table,
              const RouteOptions& route)
      : rows_(rows), table_(table), route_(route) {}

  RowsForTopic For(const TopicLimits& limits) {
    RowsForTopic result;
    result.table = table_.name;
    if (table_.columns.timestamp.kind == FieldSource::Kind::kColumn) {
      result.time_column = table_.columns.timestamp.text;
    }
    if (!result.time_column.empty()) {
      result.too_old = Older(limits, limits.retention_ms);
      result.refused = Older(limits, limits.accepted_age_ms);
    }
    if (limits.retention_bytes >= 0) {
      if (!bytes_) bytes_ = rows_.CountBytes(table_, route_);
      result.bytes = CountOf(*bytes_, limits.topic);
    }
    if (limits.is_compacted()) {
      if (!keyless_) keyless_ = rows_.CountKeyless(table_, route_);
      result.keyless = CountOf(*keyless_, limits.topic);
    }
    return result;
  }

 private:
  using Counted = absl::StatusOr<TableReader::ByTopic>;

  // A negative age is no limit.
  std::optional<uint64_t> Older(const TopicLimits& limits, int64_t age_ms) {
    if (age_ms < 0 || limits.has_append_time) return 0;
    auto [older, is_new] = older_.try_emplace(age_ms);
    if (is_new) older->second = rows_.CountOlder(table_, route_, age_ms);
    return CountOf(older->second, limits.topic);
  }

  static std::optional<uint64_t> CountOf(const Counted& counted,
                                         const std::string& topic) {
    if (!counted.ok()) return std::nullopt;
    const auto found = counted->find(topic);
    return found == counted->end() ? 0 : found->second;
  }

  TableReader& rows_;
  const TableOptions& table_;
  const RouteOptions& route_;
  std::map<int64_t, Counted> older_;  // by the age
  std::optional<Counted> bytes_;
  std::optional<Counted> keyless_;
};

bool IsMeant(const std::vector<std::string>& tables, const std::string& name) {
  return tables.empty() || std::ranges::find(tables, name) != tables.end();
}

// See FindKafkaDeletions.
Findings FindDeletions(TopicsOfTables& topics,
                       const std::vector<std::string>& tables,
                       Severity severity) {
  const Config& config = topics.config();
  Findings findings;
  for (const TableOptions& table : config.outbox.tables) {
    if (!IsMeant(tables, table.name)) continue;
    const auto& found = topics.TopicsOf(table);
    // What the role may not read is named by other checks.
    if (!topics.NamesOf(table).ok()) continue;
    if (!found.ok()) {
      findings.push_back(
          {Severity::kWarning, FindingId("kafka_deletions_unknown"), table.name,
           fmt::format("whether Kafka would keep its rows is not known: {}",
                       std::string(found.status().message())),
           "ask again when the brokers answer"});
      continue;
    }
    RowsOfTable rows(topics.rows(), table, config.outbox.route);
    const auto describe = [&](const TopicLimits& limits) {
      const Findings more = DescribeDeletions(limits, rows.For(limits),
                                              severity, config.kafka.brokers);
      findings.insert(findings.end(), more.begin(), more.end());
    };
    for (const auto& [topic, partitions] : *found) {
      describe(topics.LimitsOf(topic, partitions.size()));
    }
    size_t left = kMaxTopics;
    for (const std::string& topic : *topics.NamesOf(table)) {
      if (left-- == 0) break;
      if (!found->contains(topic)) describe(topics.LimitsOfNew(topic, table));
    }
  }
  return findings;
}

// Topics of rows that the brokers will not create beside another one.
Findings FindCollidingTopics(TopicsOfTables& topics) {
  std::set<std::string> wanted;
  for (const TableOptions& table : topics.config().outbox.tables) {
    const auto& names = topics.NamesOf(table);
    if (names.ok()) wanted.insert(names->begin(), names->end());
  }
  const auto existing = topics.Existing();
  return existing.ok() ? FindCollisions(wanted, *existing) : Findings();
}

// Topics that keep events for a shorter time than retention.keep keeps rows.
Findings FindShorterTopics(TopicsOfTables& topics) {
  Findings findings;
  const int64_t keep = topics.config().retention.keep.count();
  std::set<std::string> reported;
  for (const TableOptions& table : topics.config().outbox.tables) {
    const auto& found = topics.TopicsOf(table);
    if (!found.ok()) continue;
    for (const auto& [topic, partitions] : *found) {
      const TopicLimits& limits = topics.LimitsOf(topic, partitions.size());
      if (limits.retention_ms < 0 || limits.retention_ms >= keep) continue;
      if (!reported.insert(topic).second) continue;
      findings.push_back(
          {Severity::kNote, FindingId("topic_retention_below_keep"),
           "retention.keep",
           fmt::format(
               "is {}, and topic {} has retention.ms={} ({}): rows that are "
               "older than that are the only copy of their events, until they "
               "are also deleted",
               AgeText(keep), topic, limits.retention_ms,
               AgeText(limits.retention_ms)),
           ""});
    }
  }
  return findings;
}

}  // namespace

Findings FindKafkaDeletions(const Config& config,
                            const ReloadableText& conninfo,
                            const std::vector<std::string>& tables,
                            Severity severity) {
  TopicsOfTables topics(config, conninfo);
  if (!topics.Connect().ok()) return {};
  return FindDeletions(topics, tables, severity);
}

Findings CompareRowsAndTopics(const Config& config,
                              const ReloadableText& conninfo,
                              Severity severity) {
  TopicsOfTables topics(config, conninfo);
  if (!topics.Connect().ok()) return {};
  Findings findings = FindDeletions(topics, {}, severity);
  for (Findings more :
       {FindCollidingTopics(topics),
        config.retention.enabled() ? FindShorterTopics(topics) : Findings()}) {
    std::ranges::move(more, std::back_inserter(findings));
  }
  return findings;
}

absl::StatusOr<std::vector<OnlyCopies>> FindOnlyCopies(
    const Config& config, const ReloadableText& conninfo) {
  std::vector<OnlyCopies> copies;
  TopicsOfTables topics(config, conninfo);
  WALPOST_RETURN_IF_ERROR(topics.Connect());
  for (const TableOptions& table : config.outbox.tables) {
    WALPOST_ASSIGN_OR_RETURN(const Starts found, topics.TopicsOf(table));
    for (const auto& [topic, partitions] : found) {
      OnlyCopies copy{table.name, topic};
      for (const PartitionStart& start : partitions) {
        copy.deleted_records += static_cast<uint64_t>(start.begin);
        copy.left_records += static_cast<uint64_t>(start.end - start.begin);
      }
      if (copy.deleted_records > 0) copies.push_back(std::move(copy));
    }
  }
  return copies;
}

}  // namespace walpost
