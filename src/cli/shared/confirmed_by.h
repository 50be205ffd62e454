// How verify and recover know that a row was confirmed.
#pragma once

#include <optional>

#include "checkpoint/birth_record.h"
#include "config/config.h"
#include "verify/expectation_query.h"

namespace walpost {

inline ConfirmedBy ConfirmedByOf(const Config& config,
                                 const std::optional<BirthRecord>& birth) {
  using Kind = ConfirmedBy::Kind;
  ConfirmedBy by;
  if (config.source == Source::kWal) {
    by.name = config.postgres.slot;
  } else if (config.polling.strategy == PollingOptions::Strategy::kCursor) {
    by = {Kind::kCursor, config.polling.cursor_table};
  } else {
    by.kind = Kind::kState;
  }
  if (!birth) return by;
  by.streamed_from = birth->streamed_from;
  if (!birth->added) return by;
  for (const AddedTable& table : *birth->added) {
    by.added[table.name] = table.from_transaction;
  }
  return by;
}

}  // namespace walpost
