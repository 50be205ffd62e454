#include "backfill/scan_cursor.h"

#include <utility>

namespace walpost {

void ScanCursor::OnRow(Key key, Content content, uint64_t ordinal) {
  pending_.push_back({std::move(key), content, ordinal});
}

void ScanCursor::OnAcknowledged(uint64_t ordinal) {
  while (!pending_.empty() && pending_.front().ordinal <= ordinal) {
    Row& row = pending_.front();
    if (!key_ || *key_ != row.key) {
      key_ = std::move(row.key);
      ties_.clear();
    }
    if (ties_.size() < kMaxTies) ++ties_[row.content];
    ++done_;
    pending_.pop_front();
  }
}

void ScanCursor::Restore(State state) {
  pending_.clear();
  key_ = std::move(state.key);
  ties_ = std::move(state.ties);
  done_ = state.done;
}

void ScanCursor::StartScan() {
  pending_.clear();
  pass_over_ = ties_;
}

bool ScanCursor::WasAcknowledged(const Key& key, Content content) {
  if (!key_ || pass_over_.empty() || *key_ != key) return false;
  const auto found = pass_over_.find(content);
  if (found == pass_over_.end()) return false;
  if (--found->second == 0) pass_over_.erase(found);
  return true;
}

}  // namespace walpost
