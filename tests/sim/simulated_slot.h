// SimulatedSlot: a logical slot, as its walsender sees it.
#pragma once

#include "base/lsn.h"

namespace walpost::sim {

class SimulatedSlot {
 public:
  virtual ~SimulatedSlot() = default;

  // Its position.
  virtual Lsn confirmed() const = 0;
  // A status update with this LSN was read.
  virtual void OnFeedback(Lsn confirmed) = 0;
};

}  // namespace walpost::sim
