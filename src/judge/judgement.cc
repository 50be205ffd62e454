#include "judge/judgement.h"

#include "base/status_macros.h"
#include "fmt/format.h"

namespace walpost {
namespace {

constexpr uint64_t kMostExamples = 5;

// Every query gives one line of text per finding.

constexpr char kMissing[] = R"(
  SELECT 'id ' || id || ifnull(', topic ' || topic, '') FROM expected
  WHERE must_be_there
    AND NOT EXISTS (SELECT 1 FROM found WHERE found.id = expected.id))";

constexpr char kUnconfirmed[] = R"(
  SELECT 'id ' || id FROM expected
  WHERE NOT must_be_there
    AND NOT EXISTS (SELECT 1 FROM found WHERE found.id = expected.id))";

constexpr char kNotInTable[] = R"(
  SELECT topic || '[' || "partition" || ']@' || min("offset") || ' id ' || id
  FROM found
  WHERE id IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM expected WHERE expected.id = found.id)
    AND id NOT IN (SELECT id FROM newer)
  GROUP BY id)";

constexpr char kNewer[] = R"(
  SELECT 'id ' || id FROM newer)";

constexpr char kAltered[] = R"(
  SELECT topic || '[' || "partition" || ']@' || "offset" || ' id ' || id
  FROM unlike WHERE is_altered)";

constexpr char kWrongTopic[] = R"(
  SELECT topic || '[' || "partition" || ']@' || "offset" || ' id ' || id
    || ', expected on ' || expected_topic
  FROM unlike WHERE is_on_wrong_topic)";

constexpr char kWrongKey[] = R"(
  SELECT topic || '[' || "partition" || ']@' || "offset" || ' id ' || id
    || ': key ' || ifnull(quote(CAST(key AS TEXT)), 'NULL')
    || ', expected ' || ifnull(quote(CAST(expected_key AS TEXT)), 'NULL')
  FROM unlike WHERE has_wrong_key)";

// The first occurrence of every event is where a consumer that drops repeats
// acts on it. Ties are out of order, too: two events, one place.
constexpr char kDisorder[] = R"(
  WITH first AS (
    SELECT found.topic, found.key, "partition", "offset", found.id,
      {0} AS place
    FROM found {1}
    WHERE NOT is_replayed AND found.key IS NOT NULL AND {0} IS NOT NULL
      AND NOT EXISTS (
        SELECT 1 FROM found AS earlier
        WHERE earlier.id = found.id AND earlier.rowid < found.rowid
          AND earlier.topic = found.topic AND NOT earlier.is_replayed)),
  neighbours AS (
    SELECT *, lag(place) OVER (PARTITION BY topic, key
      ORDER BY "partition", "offset") AS before
    FROM first)
  SELECT topic || '[' || "partition" || ']@' || "offset" || ' id ' || id
    || ': ' || place || ' after ' || before
  FROM neighbours WHERE before >= place)";

constexpr char kSplitKey[] = R"(
  SELECT 'topic ' || topic || ', key ' || quote(CAST(key AS TEXT)) || ': '
    || count(DISTINCT "partition") || ' partitions'
  FROM found WHERE key IS NOT NULL
  GROUP BY topic, key HAVING count(DISTINCT "partition") > 1)";

constexpr char kDuplicates[] = R"(
  SELECT topic || '[' || "partition" || ']@' || "offset" || ' id ' || id
  FROM found
  WHERE id IS NOT NULL AND NOT is_replayed AND EXISTS (
    SELECT 1 FROM found AS earlier
    WHERE earlier.id = found.id AND earlier.rowid < found.rowid
      AND NOT earlier.is_replayed))";

constexpr char kReplayed[] = R"(
  SELECT topic || '[' || "partition" || ']@' || "offset" || ' id ' || id
  FROM found WHERE is_replayed)";

constexpr char kWithoutId[] = R"(
  SELECT topic || '[' || "partition" || ']@' || "offset"
  FROM found WHERE id IS NULL)";

absl::Status Find(const Evidence& evidence, const std::string& query,
                  bool is_error, Findings& findings) {
  findings.is_error = is_error;
  return evidence.Select(query, [&](const Evidence::Row& row) {
    ++findings.count;
    if (findings.count <= kMostExamples) {
      findings.examples.push_back(row.Text(0));
    }
  });
}

absl::Status Count(const Evidence& evidence, const std::string& query,
                   uint64_t& count) {
  return evidence.Select(query, [&](const Evidence::Row& row) {
    count = static_cast<uint64_t>(row.Number(0));
  });
}

// Which column tells the order, and where it comes from.
absl::Status JudgeOrder(const Evidence& evidence,
                        const JudgementOptions& options, Report& report) {
  uint64_t with_position = 0;
  WALPOST_RETURN_IF_ERROR(
      Count(evidence, "SELECT count(position) FROM found", with_position));
  report.order_judged_by = "not checked";
  const bool has_sequence = !options.sequence_column.empty();
  if (has_sequence) {
    report.order_judged_by = fmt::format("column {}", options.sequence_column);
  } else if (with_position > 0) {
    report.order_judged_by = "header walpost-position";
  } else {
    return absl::OkStatus();
  }
  const std::string query =
      has_sequence ? fmt::format(kDisorder, "expected.sequence",
                                 "JOIN expected ON expected.id = found.id")
                   : fmt::format(kDisorder, "found.position", "");
  return Find(evidence, query, true, report[FindingKind::kDisorder]);
}

}  // namespace

absl::StatusOr<Report> Judge(const Evidence& evidence,
                             const JudgementOptions& options) {
  struct Question {
    FindingKind kind;
    const char* query;
    bool is_error;
  };
  const Question questions[] = {
      {FindingKind::kMissing, kMissing, true},
      {FindingKind::kUnconfirmed, kUnconfirmed, false},
      {FindingKind::kNotInTable, kNotInTable, options.fail_on_not_in_table},
      {FindingKind::kNewer, kNewer, false},
      {FindingKind::kAltered, kAltered, true},
      {FindingKind::kWrongTopic, kWrongTopic, true},
      {FindingKind::kWrongKey, kWrongKey, true},
      {FindingKind::kSplitKey, kSplitKey, true},
      {FindingKind::kDuplicate, kDuplicates, options.fail_on_duplicates},
      {FindingKind::kReplayed, kReplayed, false},
      {FindingKind::kWithoutId, kWithoutId, false},
  };
  Report report;
  WALPOST_RETURN_IF_ERROR(
      Count(evidence, "SELECT count(*) FROM expected", report.expected));
  WALPOST_RETURN_IF_ERROR(
      Count(evidence, "SELECT count(*) FROM found", report.records));
  for (const Question& question : questions) {
    WALPOST_RETURN_IF_ERROR(Find(evidence, question.query, question.is_error,
                                 report[question.kind]));
  }
  WALPOST_RETURN_IF_ERROR(JudgeOrder(evidence, options, report));
  return report;
}

}  // namespace walpost
