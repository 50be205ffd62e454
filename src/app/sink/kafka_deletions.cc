#include "app/sink/kafka_deletions.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>

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

// Both ends, as long as one call takes.
class TopicsOfTables {
 public:
  TopicsOfTables(const Config& config, const ReloadableText& conninfo)
      : config_(config), conninfo_(conninfo) {}

  absl::Status Connect() {
    WALPOST_ASSIGN_OR_RETURN(rows_, TableReader::Connect(conninfo_));
    WALPOST_ASSIGN_OR_RETURN(
        topics_, TopicReader::Connect(TopicReaderOptionsOf(config_)));
    return absl::OkStatus();
  }

  // Existing topics of a table's rows, with their partitions.
  absl::StatusOr<std::map<std::string, std::vector<PartitionStart>>> TopicsOf(
      const TableOptions& table) {
    WALPOST_ASSIGN_OR_RETURN(std::set<std::string> names,
                             rows_->FindTopics(table, config_.outbox.route));
    while (names.size() > kMaxTopics) names.erase(std::prev(names.end()));
    WALPOST_ASSIGN_OR_RETURN(const std::vector<PartitionStart> starts,
                             topics_->FindStarts(names));
    std::map<std::string, std::vector<PartitionStart>> found;
    for (const PartitionStart& start : starts) {
      found[start.topic].push_back(start);
    }
    return found;
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

  TableReader& rows() { return *rows_; }

 private:
  const Config& config_;
  const ReloadableText& conninfo_;
  std::unique_ptr<TableReader> rows_;
  std::unique_ptr<TopicReader> topics_;
  std::map<std::string, TopicLimits> limits_;
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
    if (!result.time_column.empty() && limits.retention_ms >= 0) {
      auto [older, is_new] = older_.try_emplace(limits.retention_ms);
      if (is_new) {
        older->second = rows_.CountOlder(table_, route_, limits.retention_ms);
      }
      result.too_old = CountOf(older->second, limits.topic);
    }
    if (limits.retention_bytes >= 0) {
      if (!bytes_) bytes_ = rows_.CountBytes(table_, route_);
      result.bytes = CountOf(*bytes_, limits.topic);
    }
    return result;
  }

 private:
  using Counted = absl::StatusOr<TableReader::ByTopic>;

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
};

bool IsMeant(const std::vector<std::string>& tables, const std::string& name) {
  return tables.empty() || std::ranges::find(tables, name) != tables.end();
}

}  // namespace

Findings FindKafkaDeletions(const Config& config,
                            const ReloadableText& conninfo,
                            const std::vector<std::string>& tables,
                            Severity severity) {
  Findings findings;
  TopicsOfTables topics(config, conninfo);
  if (!topics.Connect().ok()) return findings;
  for (const TableOptions& table : config.outbox.tables) {
    if (!IsMeant(tables, table.name)) continue;
    const auto found = topics.TopicsOf(table);
    if (!found.ok()) continue;
    RowsOfTable rows(topics.rows(), table, config.outbox.route);
    for (const auto& [topic, partitions] : *found) {
      const TopicLimits& limits = topics.LimitsOf(topic, partitions.size());
      const Findings more = DescribeDeletions(limits, rows.For(limits),
                                              severity, config.kafka.brokers);
      findings.insert(findings.end(), more.begin(), more.end());
    }
  }
  return findings;
}

Findings FindCollidingTopics(const Config& config,
                             const ReloadableText& conninfo) {
  std::set<std::string> wanted;
  const auto rows = TableReader::Connect(conninfo);
  const auto reader = TopicReader::Connect(TopicReaderOptionsOf(config));
  if (!rows.ok() || !reader.ok()) return {};
  for (const TableOptions& table : config.outbox.tables) {
    auto topics = (*rows)->FindTopics(table, config.outbox.route);
    if (topics.ok()) wanted.merge(*topics);
  }
  const auto existing = (*reader)->FindTopics({}, {""});
  return existing.ok() ? FindCollisions(wanted, *existing) : Findings();
}

Findings FindShorterTopics(const Config& config,
                           const ReloadableText& conninfo) {
  Findings findings;
  TopicsOfTables topics(config, conninfo);
  if (!topics.Connect().ok()) return findings;
  const int64_t keep = config.retention.keep.count();
  std::set<std::string> reported;
  for (const TableOptions& table : config.outbox.tables) {
    const auto found = topics.TopicsOf(table);
    if (!found.ok()) continue;
    for (const auto& [topic, partitions] : *found) {
      const TopicLimits& limits = topics.LimitsOf(topic, partitions.size());
      if (limits.retention_ms < 0 || limits.retention_ms >= keep) continue;
      if (!reported.insert(topic).second) continue;
      findings.push_back(
          {Severity::kNote, "retention.keep",
           fmt::format(
               "is {}, and topic {} has retention.ms={} ({}): rows that are "
               "older than that are the only copy of their events, until they "
               "are deleted, too",
               AgeText(keep), topic, limits.retention_ms,
               AgeText(limits.retention_ms)),
           ""});
    }
  }
  return findings;
}

absl::StatusOr<std::vector<OnlyCopies>> FindOnlyCopies(
    const Config& config, const ReloadableText& conninfo) {
  std::vector<OnlyCopies> copies;
  TopicsOfTables topics(config, conninfo);
  WALPOST_RETURN_IF_ERROR(topics.Connect());
  for (const TableOptions& table : config.outbox.tables) {
    WALPOST_ASSIGN_OR_RETURN(const auto found, topics.TopicsOf(table));
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
