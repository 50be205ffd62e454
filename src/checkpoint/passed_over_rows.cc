#include "checkpoint/passed_over_rows.h"

#include <algorithm>
#include <limits>

namespace walpost {

void PassedOverRows::OnRow(uint32_t oid, std::string_view table,
                           Lsn commit_lsn) {
  if (given_up_.contains(oid) || known_.SinceIfUnknown(oid)) return;
  pending_.try_emplace(oid, Relation{std::string(table), commit_lsn});
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
