#include "polling/polling_strategy.h"

#include <cstdlib>

namespace walpost {

std::unique_ptr<PollingStrategy> MakePollingStrategy(
    const RowStateOptions& state, PollingContext context) {
  switch (context.options.strategy) {
    case PollingOptions::Strategy::kClaim:
      return state.has_lease() || context.options.has_lease_table()
                 ? MakeLeaseStrategy(context)
                 : MakeLockStrategy(context);
    case PollingOptions::Strategy::kDelete:
      return context.options.has_lease_table() ? MakeLeaseStrategy(context)
                                               : MakeLockStrategy(context);
    case PollingOptions::Strategy::kCursor:
      return MakeCursorStrategy(context);
  }
  std::abort();  // no other strategy
}

}  // namespace walpost
