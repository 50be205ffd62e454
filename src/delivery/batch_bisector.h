// BatchBisector: finds the record that the brokers reject, among those of a
// batch that they reject as a whole.
//
//   rejected in company     all of them are suspects, and are sent alone
//   rejected alone          it is the cause
//
// `Id` is what a record has again when it is sent again. Pure.
#pragma once

#include <set>

namespace walpost {

template <typename Id>
class BatchBisector {
 public:
  bool empty() const { return ids_.empty(); }
  // True if `id` lies between the first and the last of them: the report of a
  // batch does not always name all of its records.
  bool Span(const Id& id) const {
    return !empty() && *ids_.begin() <= id && id <= *ids_.rbegin();
  }
  // True if all of them lie before `id`. Requires some.
  bool LieBefore(const Id& id) const { return *ids_.rbegin() < id; }

  // A record was rejected; `was_alone`: no other was in flight with it. True if
  // it is the cause.
  bool OnRejected(const Id& id, bool was_alone) {
    if (was_alone) {
      ids_.erase(id);
    } else {
      ids_.insert(id);
    }
    return was_alone;
  }
  void Add(const Id& id) { ids_.insert(id); }
  // The record is acknowledged, or no longer sent: it is not a suspect any
  // more.
  void Clear(const Id& id) { ids_.erase(id); }
  void Clear() { ids_.clear(); }

 private:
  std::set<Id> ids_;
};

}  // namespace walpost
