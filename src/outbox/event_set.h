// EventSet: events that are recognised when they come again, on another way.
//
// By their content, because the transaction does not tell: a row that was
// inserted after a savepoint has another transaction id in its table than in
// the WAL. Times do not count, either: only the WAL has that of the commit.
// Events without an id are not recognised, nor are those beyond kMax.
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

  // False: it cannot be recognised.
  bool Add(const Event& event);
  bool Has(const Event& event) const;
  size_t size() const { return digests_.size(); }

  // What an event is recognised by; nullopt: it has no id.
  static std::optional<absl::uint128> DigestOf(const Event& event);

 private:
  absl::flat_hash_set<absl::uint128> digests_;
};

}  // namespace walpost
