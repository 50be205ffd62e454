// PauseGate: says whether an operator lets events go to Kafka.
//
//   not read yet ──▶ open ◀──▶ closed: paused
//
// It is closed until the record was read for the first time. A record that has
// vanished, or cannot be read, changes nothing: only `resumed` opens it again.
//
// Owned by the relay; the GatedConsumer obeys it. Pure.
#pragma once

#include <optional>
#include <utility>

#include "checkpoint/pause_record.h"

namespace walpost {

class PauseGate {
 public:
  // Takes the record that was read; nullopt: there is none. True if it has
  // changed whether events may go.
  bool Observe(const std::optional<PauseRecord>& record) {
    const bool could_send = may_send();
    const bool had_read = std::exchange(was_read_, true);
    if (record) record_ = record;
    return may_send() != could_send || (!had_read && is_paused());
  }

  bool may_send() const { return was_read_ && !is_paused(); }
  bool is_paused() const { return record_ && record_->is_paused; }
  // nullopt: not paused, as far as is known.
  std::optional<PauseRecord> pause() const {
    return is_paused() ? record_ : std::nullopt;
  }

 private:
  bool was_read_ = false;
  std::optional<PauseRecord> record_;
};

}  // namespace walpost
