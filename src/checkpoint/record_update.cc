#include "checkpoint/record_update.h"

#include "fmt/format.h"

namespace walpost {
namespace {

// Tables that were left out, are listed again, or have another name.
void UpdateAdded(BirthRecord& record, const StreamState& state) {
  if (!record.added) return;
  for (AddedTable& table : *record.added) {
    const std::string text =
        Coverage{"", {{table.name, table.definition}}}.ToString();
    const Coverage updated = Coverage::Parse(WithStateOf(text, state.coverage));
    table.name = updated.tables.front().name;
    table.definition = updated.tables.front().definition;
  }
}

// Puts the tables on record that are sent from now on. They were not covered
// all along. Returns those that were not even announced.
std::string AddTables(BirthRecord& record, const StreamState& state,
                      const RecordFence& fence) {
  const Coverage known = Coverage::Parse(CoverageOf(record, Announced::kNo));
  const Coverage announced =
      Coverage::Parse(CoverageOf(record, Announced::kYes));
  if (!record.added) record.added.emplace();
  std::string names;
  for (const Coverage::Table& table : AddedTables(announced, state.listed)) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", table.name);
  }
  for (const Coverage::Table& table : AddedTables(known, state.listed)) {
    std::erase_if(*record.added, [&table](const AddedTable& other) {
      return other.name == table.name;
    });
    record.added->push_back({table.name, table.definition, fence.transaction,
                             state.slot, fence.time});
  }
  return names;
}

// With a checkpoint store, the checkpoint has the later ones; a role that may
// not write the record has them nowhere, also if its owner writes this one.
void KeepPassedOver(BirthRecord& record, const StreamState& state) {
  Coverage coverage = Coverage::Parse(record.coverage);
  if (state.record_is_alone && state.may_write_record) {
    coverage.passed_over = Coverage::Parse(state.coverage).passed_over;
  } else {
    coverage.passed_over.SetComplete(false);
    for (const uint32_t oid : TableOids(state.listed)) {
      coverage.passed_over.Remove(oid);
    }
  }
  record.coverage = coverage.ToString();
}

}  // namespace

// If our role does not own the publication, the checkpoint holds the facts, or
// nothing does. But a record that vouches for rows which are skipped from now
// on has to be corrected.
std::optional<RecordUpdate> UpdateRecord(const BirthRecord& before,
                                         const StreamState& state,
                                         const RecordFence& fence) {
  RecordUpdate update{before, ""};
  BirthRecord& record = update.record;
  record.timeline = state.timeline;
  if (!state.kafka_cluster.empty()) record.kafka_cluster = state.kafka_cluster;
  const bool vouches = !before.coverage.empty();
  record.coverage =
      vouches ? WithStateOf(before.coverage, state.coverage) : state.coverage;
  record.coverage = WithPublicationOf(record.coverage, state.coverage);
  UpdateAdded(record, state);
  if (vouches && LeavesOutMore(CoverageOf(before, Announced::kYes),
                               CoverageOf(record, Announced::kYes))) {
    update.consequence =
        "tables that were left out of outbox.tables: the record would vouch "
        "for their rows, which are passed over from now on";
  }
  const std::string added = AddTables(record, state, fence);
  if (state.record_is_alone && before.added && !added.empty()) {
    update.consequence = fmt::format(
        "outbox.tables has a new table {}: without a checkpoint store, the "
        "next start would not know since when its rows are sent",
        added);
  }
  KeepPassedOver(record, state);
  if (record == before) return std::nullopt;
  return update;
}

}  // namespace walpost
