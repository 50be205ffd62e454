#include "verify/audit_queries.h"

#include "base/sql_name.h"
#include "base/status_macros.h"
#include "fmt/format.h"

namespace walpost {
namespace {

constexpr uint64_t kMaxExamples = 5;

// Every query gives one line of text per finding.

// {}: which fates.
constexpr char kHasFate[] = R"(
  EXISTS (SELECT 1 FROM fates WHERE fates.id = expected.id
    AND (NOT key_is_known OR fates.key IS expected.key){}))";

std::string Has(Disposition fate) {
  return fmt::format(kHasFate,
                     fmt::format(" AND fate = {}", static_cast<int>(fate)));
}

// {}: which of the rows without a record. A row whose record was altered is not
// missing.
constexpr char kMissing[] = R"(
  SELECT 'id ' || id || ifnull(', topic ' || topic, '') FROM expected
  WHERE NOT is_matched AND {}
    AND (can_repeat OR NOT EXISTS (
      SELECT 1 FROM found WHERE found.id = expected.id AND is_unlike)))";

constexpr char kNotInTable[] = R"(
  SELECT topic || '[' || "partition" || ']@' || min("offset") || ' id ' || id
  FROM found
  WHERE id IS NOT NULL AND NOT is_matched AND NOT is_unlike
    AND NOT EXISTS (SELECT 1 FROM newer WHERE newer.id = found.id
      AND (newer.topic IS NULL OR newer.topic = found.topic))
    AND NOT (can_repeat AND EXISTS (
      SELECT 1 FROM expected WHERE expected.id = found.id
        AND NOT expected.is_matched AND expected.topic IS found.topic))
  GROUP BY id, iif(can_repeat, topic, 0), iif(can_repeat, key, 0),
    iif(can_repeat, value_hash, 0))";

constexpr char kNewer[] = R"(
  SELECT 'id ' || id FROM newer WHERE EXISTS (
    SELECT 1 FROM found WHERE found.id = newer.id AND NOT is_matched
      AND (newer.topic IS NULL OR newer.topic = found.topic)))";

// A record with the id of a row that has no record of its own, if ids can
// repeat: the row's record, altered, or another event's.
constexpr char kUndecidedRecords[] = R"(
  SELECT topic || '[' || "partition" || ']@' || "offset" || ' id ' || id
    || ': another event of this id, or the row''s and altered'
  FROM found
  WHERE can_repeat AND NOT is_matched AND NOT is_unlike AND EXISTS (
    SELECT 1 FROM expected WHERE expected.id = found.id
      AND NOT expected.is_matched AND expected.topic IS found.topic))";

// Identical rows with fewer records than rows, not counting records that may be
// repeats of each other.
constexpr char kUndecidedRows[] = R"(
  SELECT 'id ' || id || ', topic ' || topic || ': ' || count(*)
    || ' rows with the same id, topic, key and value, and fewer records'
  FROM expected AS twin
  WHERE is_matched AND topic IS NOT NULL AND key_is_known AND value_is_known
    AND can_repeat
    AND id IN (SELECT id FROM expected GROUP BY id HAVING count(*) > 1)
  GROUP BY id, topic, key, value_hash
  HAVING count(*) > 1 AND count(*) > (
    SELECT count(DISTINCT ifnull(position, '')) FROM found
    WHERE found.id = twin.id AND found.topic = twin.topic
      AND found.key IS twin.key AND found.value_hash IS twin.value_hash))";

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

// Among records of the same event the first one counts, because there a
// consumer that drops repeats handles it.
constexpr char kEarlier[] = R"(
  EXISTS (
    SELECT 1 FROM found AS earlier
    WHERE earlier.id = found.id AND earlier.rowid < found.rowid
      AND (NOT found.can_repeat OR earlier.topic = found.topic
        AND earlier.key IS found.key
        AND earlier.value_hash IS found.value_hash)
      AND {}))";

constexpr char kWithRow[] = R"(
  JOIN expected ON expected.id = found.id
    AND (expected.topic IS NULL OR expected.topic = found.topic)
    AND (NOT found.can_repeat OR
      (NOT key_is_known OR found.key IS expected.key)
      AND (NOT value_is_known OR found.value_hash IS expected.value_hash)))";

// {0}: the place of an event, {1}: its source, {2}: which records, {3}: no
// earlier one of the same event, {4}: the comparison of the earlier place that
// means disorder, {5}: what separates runs.
constexpr char kDisorder[] = R"(
  WITH first AS (
    SELECT found.topic, found.key, "partition", "offset", found.id, repair,
      {0} AS place
    FROM found {1}
    WHERE {2} AND found.key IS NOT NULL AND {0} IS NOT NULL
      AND NOT (found.can_repeat AND is_unlike) AND NOT {3}),
  neighbours AS (
    SELECT *, lag(place) OVER (PARTITION BY topic, key, "partition", {5}
      ORDER BY "offset") AS before
    FROM first)
  SELECT topic || '[' || "partition" || ']@' || "offset" || ' id ' || id
    || ': ' || place || ' after ' || before
  FROM neighbours WHERE before {4} place)";

// {0}: the topics; {1}: whether keys are wanted that left each partition for
// good: in the order of positions, they change it once less than they have
// partitions. A position that is in two of them was sent again, and does not
// say where the key was.
constexpr char kKeyOfSeveralPartitions[] = R"(
  WITH split AS (
    SELECT topic, key, count(DISTINCT "partition") AS partitions
    FROM found WHERE key IS NOT NULL AND NOT is_replayed{0}
    GROUP BY topic, key HAVING count(DISTINCT "partition") > 1),
  places AS (
    SELECT found.topic, found.key, position, min("partition") AS place
    FROM found JOIN split
      ON split.topic = found.topic AND split.key = found.key
    WHERE position IS NOT NULL AND NOT is_replayed
    GROUP BY found.topic, found.key, position
    HAVING count(DISTINCT "partition") = 1),
  steps AS (
    SELECT *, lag(place) OVER (PARTITION BY topic, key ORDER BY position)
      AS before FROM places),
  moves AS (
    SELECT topic, key, count(DISTINCT place) AS places,
      count(*) FILTER (WHERE before <> place) AS changes
    FROM steps GROUP BY topic, key)
  SELECT 'topic ' || split.topic || ', key '
    || quote(CAST(split.key AS TEXT)) || ': ' || partitions || ' partitions'
  FROM split LEFT JOIN moves
    ON moves.topic = split.topic AND moves.key = split.key
  WHERE {1} (ifnull(places, 0) = partitions AND changes = partitions - 1))";

constexpr char kDuplicates[] = R"(
  SELECT topic || '[' || "partition" || ']@' || "offset" || ' id ' || id
  FROM found
  WHERE id IS NOT NULL AND NOT is_replayed AND )";

constexpr char kReplayed[] = R"(
  SELECT topic || '[' || "partition" || ']@' || "offset" || ' id ' || id
  FROM found WHERE is_replayed)";

constexpr char kWithoutId[] = R"(
  SELECT topic || '[' || "partition" || ']@' || "offset"
  FROM found WHERE id IS NULL)";

absl::Status Find(const AuditDatabase& evidence, const std::string& query,
                  bool is_error, FoundOfKind& findings) {
  findings.is_error = is_error;
  return evidence.Select(query, [&](const AuditDatabase::Row& row) {
    ++findings.count;
    if (findings.count <= kMaxExamples) {
      findings.examples.push_back(row.Text(0));
    }
  });
}

absl::Status Count(const AuditDatabase& evidence, const std::string& query,
                   uint64_t& count) {
  return evidence.Select(query, [&](const AuditDatabase::Row& row) {
    count = static_cast<uint64_t>(row.Number(0));
  });
}

// Records of the stream. Ties are out of order, too: two events, one place.
absl::Status JudgeStream(const AuditDatabase& evidence,
                         const JudgementOptions& options, Report& report) {
  uint64_t with_position = 0;
  WALPOST_RETURN_IF_ERROR(
      Count(evidence, "SELECT count(position) FROM found", with_position));
  report.order_judged_by = kNotChecked;
  const bool has_sequence = !options.sequence_column.empty();
  if (has_sequence) {
    report.order_judged_by = fmt::format("column {}", options.sequence_column);
  } else if (with_position > 0) {
    report.order_judged_by = "header walpost-position";
  } else {
    return absl::OkStatus();
  }
  const std::string earlier = fmt::format(
      kEarlier, "earlier.topic = found.topic AND NOT earlier.is_replayed");
  const std::string query = fmt::format(
      kDisorder, has_sequence ? "expected.sequence" : "found.position",
      has_sequence ? kWithRow : "", "NOT is_replayed", earlier, ">=", "''");
  return Find(evidence, query, true, report[FindingKind::kDisorder]);
}

// Records that `recover` and the snapshot have read from the table: their
// positions show the order of the scan, not of commits. Each run is judged by
// itself: its place among the stream's records depends on the gap.
absl::Status JudgeRepairs(const AuditDatabase& evidence,
                          const JudgementOptions& options, Report& report) {
  uint64_t repaired = 0;
  WALPOST_RETURN_IF_ERROR(Count(
      evidence, "SELECT count(*) FROM found WHERE repair <> ''", repaired));
  if (repaired == 0) return absl::OkStatus();
  const std::string& order = options.sequence_column.empty()
                                 ? options.row_order
                                 : options.sequence_column;
  report.repairs_judged_by =
      order.empty() ? kNotChecked : fmt::format("column {}", order);
  if (order.empty()) return absl::OkStatus();
  const std::string earlier =
      fmt::format(kEarlier,
                  "earlier.topic = found.topic AND earlier.repair = "
                  "found.repair");
  const std::string query =
      fmt::format(kDisorder,
                  options.sequence_column.empty() ? "expected.row_order"
                                                  : "expected.sequence",
                  kWithRow, "repair <> ''", earlier, ">", "repair");
  return Find(evidence, query, true, report[FindingKind::kDisorder]);
}

// Each one is an error: it was not checked.
absl::Status FindUndecided(const AuditDatabase& evidence,
                           const JudgementOptions& options, Report& report) {
  FoundOfKind& undecided = report[FindingKind::kUndecided];
  undecided.count = options.undecided.size();
  undecided.examples = options.undecided;
  WALPOST_RETURN_IF_ERROR(Find(evidence, kUndecidedRecords, true, undecided));
  return Find(evidence, kUndecidedRows, true, undecided);
}

// The condition that the key has chosen the partition.
std::string ChosenByKey(const JudgementOptions& options) {
  std::string condition;
  for (const auto& [topic, is_prefix] : options.chosen_partitions) {
    const std::string name = QuoteText(topic);
    condition +=
        is_prefix
            ? fmt::format(" AND substr(topic, 1, length({0})) <> {0}", name)
            : fmt::format(" AND topic <> {}", name);
  }
  return condition;
}

}  // namespace

absl::StatusOr<Report> Judge(const AuditDatabase& evidence,
                             const JudgementOptions& options) {
  const std::string by_key = ChosenByKey(options);
  struct Question {
    FindingKind kind;
    std::string query;
    bool is_error;
  };
  const std::string has_fate = fmt::format(kHasFate, "");
  const std::string is_parked = Has(Disposition::kParked);
  const std::string is_discarded = Has(Disposition::kDiscarded);
  const std::string is_skipped = Has(Disposition::kSkipped);
  const std::string is_waiting_or_discarded = is_parked + " OR " + is_discarded;
  const std::string is_settled = is_waiting_or_discarded + " OR " + is_skipped;
  const Question questions[] = {
      // One that may be of another origin is missing, too.
      {FindingKind::kMissing,
       fmt::format(kMissing,
                   "must_be_there AND NOT is_expired AND "
                   "other_origin IS NOT 1 AND NOT " +
                       has_fate),
       true},
      {FindingKind::kUnconfirmed,
       fmt::format(kMissing,
                   "NOT must_be_there AND NOT is_expired AND "
                   "other_origin IS NOT 1 AND NOT " +
                       has_fate),
       true},
      {FindingKind::kExpired,
       fmt::format(kMissing, "is_expired AND NOT " + has_fate), false},
      {FindingKind::kOtherOrigin,
       fmt::format(kMissing,
                   "other_origin IS 1 AND NOT is_expired AND NOT " + has_fate),
       false},
      {FindingKind::kParked, fmt::format(kMissing, is_parked), true},
      {FindingKind::kDeadLetter,
       fmt::format(kMissing, has_fate + " AND NOT (" + is_settled + ")"), true},
      {FindingKind::kDiscarded,
       fmt::format(kMissing, is_discarded + " AND NOT " + is_parked), true},
      {FindingKind::kSkipped,
       fmt::format(kMissing,
                   is_skipped + " AND NOT (" + is_waiting_or_discarded + ")"),
       true},
      {FindingKind::kNotInTable, kNotInTable, options.fail_on_not_in_table},
      {FindingKind::kNewer, kNewer, false},
      {FindingKind::kAltered, kAltered, true},
      {FindingKind::kWrongTopic, kWrongTopic, true},
      {FindingKind::kWrongKey, kWrongKey, true},
      {FindingKind::kSplitKey,
       fmt::format(kKeyOfSeveralPartitions, by_key, "NOT"), true},
      {FindingKind::kMovedKey, fmt::format(kKeyOfSeveralPartitions, by_key, ""),
       false},
      {FindingKind::kDuplicate,
       kDuplicates + fmt::format(kEarlier, "NOT earlier.is_replayed"),
       options.fail_on_duplicates},
      {FindingKind::kReplayed, kReplayed, false},
      {FindingKind::kWithoutId, kWithoutId, options.fail_on_without_id},
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
  WALPOST_RETURN_IF_ERROR(FindUndecided(evidence, options, report));
  WALPOST_RETURN_IF_ERROR(JudgeStream(evidence, options, report));
  WALPOST_RETURN_IF_ERROR(JudgeRepairs(evidence, options, report));
  return report;
}

}  // namespace walpost
