// EventSet: recognises events when they come again from another source.
//
// It compares their content, because the transaction is no identification: a
// row that was inserted after a savepoint has another transaction id in its
// table than in the WAL. Nor are times compared, because only the WAL has the
// commit time. Events without an id are not recognised, nor are those beyond
// kMax.
//
// Memory: 36 bytes per event. Pure; a value.
#pragma once

#include <cstddef>
#include <optional>

#include "absl/container/flat_hash_set.h"
#include "absl/numeric/int128.h"
#include "outbox/event.h"

namespace walpost {

class EventSet {
 public:
  static constexpr size_t kMax = 500'000;

  // False: the event cannot be recognised, and is not added.
  bool Add(const Event& event);
  bool Has(const Event& event) const;
  size_t size() const { return digests_.size(); }

  // Digest by which an event is recognised; nullopt: it has no id.
  static std::optional<absl::uint128> DigestOf(const Event& event);

 private:
  absl::flat_hash_set<absl::uint128> digests_;
};

}  // namespace walpost
