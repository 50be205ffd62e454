#include "redis/batch_result.h"

namespace walpost {

BatchResult BatchResult::Of(const Reply& reply) {
  constexpr size_t kParts = 5;
  BatchResult result;
  if (reply.size() != kParts) {
    result.error = reply.is_error() ? reply.text() : "ERR unexpected reply";
    return result;
  }
  result.error = reply.text(0);
  result.done = static_cast<size_t>(reply.integer(1));
  result.newest = EntryId::Parse(reply.text(2)).value_or(EntryId());
  result.displaced = reply.integers(3).size();
  result.repeated = reply.text(4);
  return result;
}

}  // namespace walpost
