#include "sim/simulated_catalog.h"

#include "fmt/format.h"
#include "sim/relations.h"

namespace walpost::sim {

std::string SimulatedCatalog::coverage(Tables tables) const {
  const std::string entry =
      has_entry_ ? fmt::format(".r{}:{}", entry_oid_, entry_xmin_) : "";
  const std::string orders =
      fmt::format(",public.orders={}.r16400:692", kOrdersOid);
  return fmt::format("16388:{},public.outbox={}{}{}", publication_xmin_,
                     kOutboxOid, entry,
                     tables == Tables::kOutboxAndOrders ? orders : "");
}

void SimulatedCatalog::TakeOut(Random& random, uint32_t xid) {
  if (!covers()) return;
  if (random.OneIn(2)) {
    publishes_inserts_ = false;  // ALTER PUBLICATION ... SET (publish = ...)
    publication_xmin_ = xid;
  } else {
    has_entry_ = false;  // ALTER PUBLICATION ... DROP TABLE
  }
}

void SimulatedCatalog::PutBack(uint32_t xid) {
  if (!publishes_inserts_) publication_xmin_ = xid;
  publishes_inserts_ = true;
  if (has_entry_) return;
  has_entry_ = true;
  ++entry_oid_;
  entry_xmin_ = xid;
}

}  // namespace walpost::sim
