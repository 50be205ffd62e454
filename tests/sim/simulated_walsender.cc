#include "sim/simulated_walsender.h"

#include <algorithm>
#include <utility>

#include "sim/relations.h"
#include "support/message_bytes.h"

namespace walpost::sim {

SimulatedWalsender::SimulatedWalsender(World& world,
                                       const SimulatedPostgres& server,
                                       SimulatedSlot& slot, Lsn requested)
    : world_(world), server_(server), slot_(slot), last_reply_(world.now) {
  // It reads from the slot's restart_lsn on.
  const uint64_t at = slot.confirmed().value();
  sent_to_ = Lsn(at - world.random.Below(std::min<uint64_t>(at, 400) + 1));
  next_ = server.FirstFrom(std::max(requested, slot.confirmed()));
}

void SimulatedWalsender::Send() {
  if (has_ended_) return;
  const auto silence = world_.now - last_reply_;
  if (silence > kTimeout) {
    world_.Note(kNobody, "wal_sender_timeout");
    return Terminate();
  }
  if (frames_.size() >= kMaxFrames) return;
  if (silence > kTimeout / 2 && !has_asked_) {
    has_asked_ = true;
    return SendKeepalive(true);
  }
  // A keepalive may come during a transaction, but reports only what was sent
  // completely.
  if (is_quiet_ ? std::exchange(must_reply_, false) : world_.random.OneIn(5)) {
    return SendKeepalive(false);
  }
  if (unsent_.empty()) {
    if (IsThrough()) return;
    Unfold(server_.transactions()[next_++]);
  }
  frames_.push_back(std::move(unsent_.back()));
  unsent_.pop_back();
  if (unsent_.empty()) {
    sent_to_ = std::max(sent_to_, server_.transactions()[next_ - 1].end_lsn);
  }
}

void SimulatedWalsender::Receive() {
  if (has_ended_ || is_cut_) return;
  if (!statuses_.empty()) {
    slot_.OnFeedback(statuses_.front().confirmed);
    must_reply_ |= statuses_.front().reply_requested;
    statuses_.pop_front();
    last_reply_ = world_.now;
    has_asked_ = false;
  } else if (is_closed_) {
    has_ended_ = true;
  }
}

bool SimulatedWalsender::IsThrough() const {
  return unsent_.empty() &&
         (next_ == server_.transactions().size() ||
          server_.transactions()[next_].end_lsn > server_.send_limit());
}

std::optional<SimulatedWalsender::Frame> SimulatedWalsender::Read() {
  if (is_cut_ || frames_.empty()) return std::nullopt;
  Frame frame = std::move(frames_.front());
  frames_.pop_front();
  return frame;
}

void SimulatedWalsender::SendKeepalive(bool reply_requested) {
  Lsn limit = server_.send_limit();
  if (!unsent_.empty()) {
    limit = server_.transactions()[next_ - 1].commit_lsn;
  } else if (next_ < server_.transactions().size()) {
    limit = std::min(limit, server_.transactions()[next_].commit_lsn);
  }
  if (sent_to_ < limit) {
    sent_to_ = Lsn(world_.random.Between(sent_to_.value(), limit.value()));
  }
  frames_.push_back(Keepalive{sent_to_, reply_requested});
}

void SimulatedWalsender::Unfold(
    const SimulatedPostgres::Transaction& transaction) {
  using testing::InsertMessage;
  using testing::Text;
  unsent_.push_back(
      testing::CommitMessage(transaction.commit_lsn, transaction.end_lsn));
  if (transaction.has_order) {
    unsent_.push_back(InsertMessage(kOrdersOid, {Text("7")}));
  }
  for (size_t i = transaction.end_event; i > transaction.first_event;) {
    unsent_.push_back(server_.MessageOf(server_.Numbered(--i)));
    if (!server_.has_orders() && world_.random.OneIn(4)) {
      unsent_.push_back(InsertMessage(kOrdersOid, {Text("7")}));
    }
  }
  if (!has_described_ || world_.random.OneIn(10)) {
    unsent_.push_back(OutboxRelation());
    unsent_.push_back(OrdersRelation());
    has_described_ = true;
  }
  unsent_.push_back(testing::BeginMessage(
      transaction.commit_lsn, ToPostgresMicros(transaction.committed_at),
      transaction.xid));
}

}  // namespace walpost::sim
