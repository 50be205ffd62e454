#include "rabbitmq/confirms.h"

#include "fmt/format.h"

namespace walpost::rabbitmq {

void Confirms::Add(Sequence sequence, uint64_t identity, MonotonicTime now) {
  by_identity_.emplace(identity, end());
  entries_.push_back({sequence, identity, now});
  ++open_;
}

absl::Status Confirms::OnReturn(uint64_t identity, std::string reason) {
  const auto found = by_identity_.lower_bound({identity, 0});
  if (found == by_identity_.end() || found->first != identity) {
    return absl::DataLossError(
        "the server has returned a message that was not sent");
  }
  At(found->second).returned = std::move(reason);
  by_identity_.erase(found);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Confirms::Settled>> Confirms::Settle(
    uint64_t tag, bool is_multiple, Settled::Outcome outcome) {
  // 0, with multiple: all so far.
  if (tag == 0 && is_multiple) tag = end() - 1;
  if (tag == 0 || tag >= end()) {
    return absl::DataLossError(fmt::format(
        "the server has confirmed message {} of {}", tag, end() - 1));
  }
  std::vector<Settled> settled;
  for (uint64_t at = is_multiple ? first_ : tag; at <= tag; ++at) {
    SettleOne(at, outcome, settled);
  }
  while (!entries_.empty() && entries_.front().is_settled) {
    entries_.pop_front();
    ++first_;
  }
  return settled;
}

void Confirms::SettleOne(uint64_t tag, Settled::Outcome outcome,
                         std::vector<Settled>& settled) {
  if (tag < first_) return;
  Entry& entry = At(tag);
  if (entry.is_settled) return;
  entry.is_settled = true;
  --open_;
  by_identity_.erase({entry.identity, tag});
  if (!entry.returned) {
    settled.push_back({entry.sequence, outcome});
    return;
  }
  settled.push_back({entry.sequence, Settled::Outcome::kUnroutable,
                     std::move(*entry.returned)});
}

std::optional<Confirms::Waiting> Confirms::oldest() const {
  if (entries_.empty()) return std::nullopt;
  return Waiting{entries_.front().sequence, entries_.front().since};
}

void Confirms::Clear() {
  first_ = 1;
  entries_.clear();
  open_ = 0;
  by_identity_.clear();
}

}  // namespace walpost::rabbitmq
