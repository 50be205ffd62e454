// ParkingSql: dead letters, which share the table of parked events.
#include "fmt/format.h"
#include "postgres/parking/parking_sql.h"

namespace walpost {

std::string ParkingSql::ReadRetries(size_t max_events, size_t max_bytes) const {
  return fmt::format(
      "WITH chosen AS (SELECT number, system_identifier, position, event, "
      "payload, error_class, committed_at FROM {} WHERE {} AND state = "
      "'dead_letter_retry' ORDER BY committed_at, position LIMIT {}) "
      "SELECT number, system_identifier, position, event, payload, error_class "
      "FROM (SELECT *, sum(octet_length(coalesce(payload, ''))) OVER (ORDER BY "
      "committed_at, position, number) AS total FROM chosen) AS summed WHERE "
      "total - octet_length(coalesce(payload, '')) < {} ORDER BY "
      "committed_at, position, number",
      Table(), OfSlot(), max_events, max_bytes);
}

std::string ParkingSql::SettleRetries(
    std::span<const ParkedNumber> rows) const {
  return fmt::format(
      "UPDATE {} SET state = 'dead_letter_retried' WHERE {} AND state IN "
      "('dead_letter_retry', 'dead_letter_discarded')",
      Table(), At(rows));
}

std::string ParkingSql::FailRetry(ParkedNumber row,
                                  std::string_view error_class,
                                  std::string_view reason) const {
  return fmt::format(
      "UPDATE {} SET state = 'dead_letter', sending_since = NULL, error_class "
      "= {}, reason = {} WHERE {} AND state = 'dead_letter_retry'",
      Table(), quote_(error_class), Reason(reason), At({&row, 1}));
}

std::string ParkingSql::ListLetters(Settled settled) const {
  const bool all = settled == Settled::kIncluded;
  return ListWhere(all ? "state LIKE 'dead_letter%'"
                       : "state IN ('dead_letter', 'dead_letter_retry')");
}

std::string ParkingSql::DecideLetters(std::span<const ParkedNumber> rows,
                                      ParkedState state, std::string_view by,
                                      std::string_view why) const {
  const bool takes_back = state == ParkedState::kLetterDiscarded;
  return DecideAbout(
      takes_back ? "'dead_letter', 'dead_letter_retry'" : "'dead_letter'", rows,
      state, by, why);
}

}  // namespace walpost
