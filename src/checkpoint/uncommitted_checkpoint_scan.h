// UncommittedCheckpointScan: may a reader of the shared checkpoint topic stop
// before an open transaction?
//
//   committed ──── first record of the open transaction ──── end of the log
//                  hidden from here on, committed or not
//
// If a committed checkpoint of ours is hidden, the reader must wait: with an
// older one, the slot would look as if somebody else had advanced it. But the
// one record of an instance of ours that has died in its transaction is not
// waited for: whatever that has committed stands before it, and the next
// instance, which reads here, ends the transaction when it has the slot, waits
// until it has ended (SinkTransactions::TakeOver), and reads again. What stands
// behind is of a later instance, which wrote without transactions.
//
// Pure; a value.
#pragma once

#include <string>
#include <string_view>

#include "checkpoint/checkpoint_candidates.h"
#include "checkpoint/source_identity.h"

namespace walpost {

class UncommittedCheckpointScan {
 public:
  UncommittedCheckpointScan(std::string slot, const SourceIdentity& identity)
      : slot_(std::move(slot)),
        own_key_(CheckpointKey(slot_, identity.system_identifier)),
        is_system_known_(!identity.system_identifier.empty()) {}

  // Keys of the hidden records, in their order, committed or not. The first is
  // that of the open transaction.
  void Add(std::string_view key) {
    const bool is_own = is_system_known_ && key == own_key_;
    if (is_first_) is_own_transaction_ = is_own;
    is_first_ = false;
    ours_ += is_own || MayBeOurs(key);
  }

  bool must_wait() const { return ours_ > (is_own_transaction_ ? 1 : 0); }

 private:
  // Older releases wrote the slot alone.
  bool MayBeOurs(std::string_view key) const {
    return key == slot_ || (!is_system_known_ && key.starts_with(slot_ + "@"));
  }

  std::string slot_;
  std::string own_key_;
  bool is_system_known_;
  bool is_first_ = true;
  bool is_own_transaction_ = false;
  int ours_ = 0;
};

}  // namespace walpost
