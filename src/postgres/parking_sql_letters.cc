// ParkingSql: dead letters, which share the table of parked events.
#include "fmt/format.h"
#include "parking/parked_codec.h"
#include "postgres/parking_sql.h"
#include "postgres/relation_oid.h"

namespace walpost {

std::string ParkingSql::HasLetterColumns() const {
  return fmt::format(
      "SELECT count(*) = 3 FROM pg_catalog.pg_attribute WHERE attrelid = {} "
      "AND attname IN ('id', 'type', 'headers') AND NOT attisdropped",
      RelationOidSql(quote_, names_.table));
}

std::string ParkingSql::IsInUse(Lsn from) const {
  return fmt::format(
      "SELECT EXISTS (SELECT 1 FROM {0} WHERE {1} AND state IN ('dead', "
      "'waiting', 'retry', 'dead_letter_retry')) OR EXISTS (SELECT 1 FROM {0} "
      "WHERE {1} AND system_identifier = {2} AND position >= {3} AND state "
      "LIKE 'dead_letter%')",
      Table(), OfSlot(), quote_(names_.system_identifier),
      quote_(SortableText({from, 0})));
}

std::string ParkingSql::ReadRetries(size_t max_events, size_t max_bytes) const {
  return fmt::format(
      "WITH chosen AS (SELECT system_identifier, position, event, payload, "
      "error_class, committed_at FROM {} WHERE {} AND state = "
      "'dead_letter_retry' ORDER BY committed_at, position LIMIT {}) "
      "SELECT system_identifier, position, event, payload, error_class FROM "
      "(SELECT *, sum(octet_length(coalesce(payload, ''))) OVER (ORDER BY "
      "committed_at, position) AS total FROM chosen) AS summed WHERE total - "
      "octet_length(coalesce(payload, '')) < {} ORDER BY committed_at, "
      "position",
      Table(), OfSlot(), max_events, max_bytes);
}

std::string ParkingSql::SettleRetries(
    std::span<const ParkedPlace> places) const {
  return fmt::format(
      "UPDATE {} SET state = 'dead_letter_retried' WHERE {} AND state = "
      "'dead_letter_retry'",
      Table(), At(places));
}

std::string ParkingSql::FailRetry(const ParkedPlace& place,
                                  std::string_view error_class,
                                  std::string_view reason) const {
  return fmt::format(
      "UPDATE {} SET state = 'dead_letter', error_class = {}, reason = {} "
      "WHERE {} AND state = 'dead_letter_retry'",
      Table(), quote_(error_class), Reason(reason), At({&place, 1}));
}

std::string ParkingSql::ListLetters(Settled settled) const {
  const bool all = settled == Settled::kIncluded;
  return ListWhere(all ? "state LIKE 'dead_letter%'"
                       : "state IN ('dead_letter', 'dead_letter_retry')");
}

std::string ParkingSql::DecideLetters(std::span<const ParkedPlace> places,
                                      ParkedState state, std::string_view by,
                                      std::string_view why) const {
  return DecideAbout("dead_letter", places, state, by, why);
}

}  // namespace walpost
