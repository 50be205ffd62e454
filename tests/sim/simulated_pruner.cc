#include "sim/simulated_pruner.h"

#include "checkpoint/coverage.h"
#include "retention/record_proof.h"

namespace walpost::sim {

SimulatedPruner::SimulatedPruner(World& world, SimulatedPostgres& postgres,
                                 Checker& checker)
    : world_(world), postgres_(postgres), checker_(checker) {
  options_.tables.resize(1);
  options_.tables[0].name = "public.outbox";
}

void SimulatedPruner::Step() {
  if (!mark_) {
    mark_ = postgres_.TakeMark();
  } else if (postgres_.confirmed() >= mark_->wal_end) {
    Prune();
    mark_.reset();
  } else if (world_.random.OneIn(20)) {
    mark_.reset();  // not acknowledged in time
  }
}

void SimulatedPruner::Prune() {
  const SimulatedCatalog& catalog = postgres_.catalog();
  RecordProof proof;
  const absl::Status taken = proof.Take(
      catalog.record(), Coverage::Parse(catalog.coverage()), options_.tables);
  if (!taken.ok() || !proof.Covers(0)) {
    return world_.Note(kNobody, "retention has no proof");
  }
  world_.Note(kNobody, "retention deletes rows");
  checker_.OnDeleted(postgres_.Delete(*mark_, proof.RuleOf(0).streamed_from));
}

}  // namespace walpost::sim
