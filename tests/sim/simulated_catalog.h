// SimulatedCatalog: the definitions that decide whether outbox rows are sent,
// and the publication's comment with the birth record.
//
// A flap changes nothing except the marks in the catalog rows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "checkpoint/birth_record.h"
#include "checkpoint/pause_record.h"
#include "sim/world.h"

namespace walpost::sim {

inline constexpr char kSlotName[] = "slot";
inline constexpr char kSystemIdentifier[] = "7710532146069433627";

class SimulatedCatalog {
 public:
  // True if rows that are written now are sent.
  bool covers() const { return publishes_inserts_ && has_entry_; }
  // In the format of postgres/catalog/coverage_query.cc; of a configuration
  // that also has the table `orders`.
  enum class Tables { kOutbox, kOutboxAndOrders };
  std::string coverage(Tables tables = Tables::kOutbox) const;

  // `xid`: of the transaction that makes the change.
  void TakeOut(Random& random, uint32_t xid);
  void PutBack(uint32_t xid);

  std::optional<BirthRecord> record() const {
    return FindBirthRecord(comment_, kSlotName);
  }
  void SetRecord(const BirthRecord& record) {
    comment_ = WithBirthRecord(comment_, record);
  }
  // What is on record about a pause.
  std::optional<PauseRecord> pause() const {
    return FindPause({comment_}, PauseSubject(kSlotName));
  }
  void SetPause(const PauseRecord& record) {
    comment_ = WithPause(comment_, PauseSubject(kSlotName), record);
  }

 private:
  bool publishes_inserts_ = true;
  uint32_t publication_xmin_ = 690;
  bool has_entry_ = true;
  uint32_t entry_oid_ = 16394;
  uint32_t entry_xmin_ = 691;
  std::string comment_ = "of the shop";
};

}  // namespace walpost::sim
