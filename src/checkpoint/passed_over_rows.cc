#include "checkpoint/passed_over_rows.h"

#include <algorithm>
#include <limits>

namespace walpost {

void PassedOverRows::Begin(const PassedOver& known, Lsn from, Lsn reached) {
  known_ = known;
  if (from >= reached) return;
  for (const auto& [oid, relation] : passed_) {
    Note(oid, relation.table, std::max(relation.since, from));
  }
}

void PassedOverRows::OnRow(uint32_t oid, std::string_view table,
                           Lsn commit_lsn) {
  passed_.try_emplace(oid, Relation{std::string(table), commit_lsn});
  Note(oid, std::string(table), commit_lsn);
}

void PassedOverRows::Note(uint32_t oid, const std::string& table, Lsn since) {
  if (given_up_.contains(oid) || known_.SinceIfUnknown(oid)) return;
  pending_.try_emplace(oid, Relation{table, since});
}

PassedOver PassedOverRows::pending() const {
  PassedOver pending;
  for (const auto& [oid, relation] : pending_) pending.Add(oid, relation.since);
  return pending;
}

void PassedOverRows::OnRecorded(const PassedOver& recorded) {
  known_.Add(recorded);
  std::erase_if(pending_, [&recorded](const auto& entry) {
    const std::optional<Lsn> since = recorded.SinceIfUnknown(entry.first);
    return since && *since <= entry.second.since;
  });
}

std::vector<std::string> PassedOverRows::OnRefused(
    const std::vector<uint32_t>& listed) {
  std::vector<std::string> names;
  for (auto& [oid, relation] : pending_) {
    relation.is_held = std::ranges::find(listed, oid) != listed.end();
    if (relation.is_held) continue;
    names.push_back(relation.table);
    given_up_.insert(oid);
  }
  std::erase_if(pending_,
                [](const auto& entry) { return !entry.second.is_held; });
  return names;
}

bool PassedOverRows::is_due() const {
  return kept_ == Kept::kOnRecord &&
         std::ranges::any_of(
             pending_, [](const auto& entry) { return !entry.second.is_held; });
}

std::vector<std::string> PassedOverRows::held() const {
  std::vector<std::string> names;
  for (const auto& [oid, relation] : pending_) {
    if (relation.is_held) names.push_back(relation.table);
  }
  return names;
}

Lsn PassedOverRows::limit() const {
  constexpr Lsn kNone(std::numeric_limits<uint64_t>::max());
  const std::optional<Lsn> first = pending().first();
  return kept_ == Kept::kOnRecord && first ? *first : kNone;
}

}  // namespace walpost
