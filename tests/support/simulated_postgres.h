// A server as the pipeline sees it: committed transactions, and the stream of
// messages from any LSN on, with keepalives where a real one may send them.
#pragma once

#include <algorithm>
#include <string>
#include <variant>
#include <vector>

#include "base/lsn.h"
#include "support/message_bytes.h"
#include "support/random_seed.h"

namespace walpost::testing {

// An outbox row. Events are numbered in commit order, and so are those of a
// key.
struct SimulatedEvent {
  uint64_t number;
  int key;
  uint64_t number_in_key;
  size_t transaction;
};

class SimulatedPostgres {
 public:
  static constexpr int kKeys = 7;

  explicit SimulatedPostgres(Random& random) : random_(random) {}

  // Commits a transaction of 0 to 6 events, some rows of another table among
  // them.
  void CommitTransaction() {
    Transaction transaction;
    // Often the commit record comes right behind the one before.
    wal_end_ += random_.OneIn(2) ? 0 : random_.Between(1, 500);
    transaction.commit_lsn = Lsn(wal_end_);
    wal_end_ += random_.Between(1, 60);
    transaction.end_lsn = Lsn(wal_end_);
    transaction.first_event = events_.size();
    for (uint64_t n = random_.Below(7); n > 0; --n) {
      const int key = static_cast<int>(random_.Below(kKeys));
      events_.push_back(
          {events_.size(), key, events_of_key_[key]++, transactions_.size()});
    }
    transaction.end_event = events_.size();
    transactions_.push_back(transaction);
  }

  const std::vector<SimulatedEvent>& events() const { return events_; }

  // How many events, from the first on, lie in transactions that a stream
  // from `start` leaves out.
  uint64_t EventsBefore(Lsn start) const {
    const auto first = FirstFrom(start);
    return first == transactions_.end() ? events_.size() : first->first_event;
  }

  Lsn end_of_wal() const { return Lsn(wal_end_); }
  Lsn EndOf(size_t transaction) const {
    return transactions_[transaction].end_lsn;
  }

  // The message that could not be delivered: a logical message that is no
  // JSON in the place of that event's row.
  void Poison(uint64_t event) { poisoned_ = event; }

  // ---- The slot.

  void OnFeedback(Lsn confirmed) {
    confirmed_ = std::max(confirmed_, confirmed);
    if (random_.OneIn(3)) stored_ = confirmed_;
  }
  // A crash forgets what was confirmed since the slot was last stored.
  void Crash() { confirmed_ = stored_; }

  // ---- One connection.

  class Stream {
   public:
    Stream(const SimulatedPostgres& server, Random& random, Lsn requested)
        : server_(server), random_(random) {
      const Lsn start = std::max(requested, server.confirmed_);
      sent_to_ = start;
      next_ = static_cast<size_t>(server.FirstFrom(start) -
                                  server.transactions_.begin());
    }

    // A pgoutput message, the LSN of a keepalive, or neither: nothing new.
    using Item = std::variant<std::monostate, std::string, Lsn>;

    Item Next() {
      if (unsent_.empty()) {
        // Not at every keepalive is the walsender between transactions, but
        // what it then tells is no more than it has sent.
        if (random_.OneIn(4)) return Keepalive();
        if (next_ == server_.transactions_.size()) return {};
        Unfold(server_.transactions_[next_++]);
      }
      std::string message = std::move(unsent_.back());
      unsent_.pop_back();
      return message;
    }

    bool IsThrough() const {
      return unsent_.empty() && next_ == server_.transactions_.size();
    }

   private:
    Item Keepalive() {
      const Lsn limit = next_ == server_.transactions_.size()
                            ? Lsn(server_.wal_end_)
                            : server_.transactions_[next_].commit_lsn;
      if (sent_to_ < limit) {
        sent_to_ = Lsn(random_.Between(sent_to_.value(), limit.value()));
      }
      return sent_to_;
    }

    void Unfold(const auto& transaction) {
      unsent_.push_back(
          CommitMessage(transaction.commit_lsn, transaction.end_lsn));
      for (size_t i = transaction.end_event; i > transaction.first_event;) {
        unsent_.push_back(server_.MessageOf(server_.events_[--i]));
        if (random_.OneIn(4)) {
          unsent_.push_back(InsertMessage(kOrders, {Text("7")}));
        }
      }
      if (!is_described_ || random_.OneIn(10)) {
        unsent_.push_back(RelationMessage(
            kOutbox, "public", "outbox",
            {{"id"}, {"aggregate_type"}, {"aggregate_id"}, {"payload"}}));
        unsent_.push_back(
            RelationMessage(kOrders, "public", "orders", {{"id"}}));
        is_described_ = true;
      }
      unsent_.push_back(BeginMessage(transaction.commit_lsn));
      sent_to_ = std::max(sent_to_, transaction.end_lsn);
    }

    const SimulatedPostgres& server_;
    Random& random_;
    size_t next_;
    Lsn sent_to_;
    bool is_described_ = false;
    std::vector<std::string> unsent_;  // the next one is at the back
  };

 private:
  static constexpr uint32_t kOutbox = 16384;
  static constexpr uint32_t kOrders = 16390;

  struct Transaction {
    Lsn commit_lsn;
    Lsn end_lsn;
    size_t first_event;
    size_t end_event;
  };

  // What PostgreSQL leaves out: commit LSNs before the start.
  std::vector<Transaction>::const_iterator FirstFrom(Lsn start) const {
    return std::ranges::lower_bound(transactions_, start, {},
                                    &Transaction::commit_lsn);
  }

  std::string MessageOf(const SimulatedEvent& event) const {
    if (event.number == poisoned_) {
      return LogicalMessageMessage(true, Lsn(1), "outbox", "no JSON");
    }
    return InsertMessage(
        kOutbox,
        {Text("id-" + std::to_string(event.number)), Text("order"),
         Text(std::to_string(event.key)), Text(std::to_string(event.number))});
  }

  Random& random_;
  std::vector<Transaction> transactions_;
  std::vector<SimulatedEvent> events_;
  uint64_t events_of_key_[kKeys] = {};
  uint64_t wal_end_ = 1'000;
  uint64_t poisoned_ = UINT64_MAX;
  Lsn confirmed_;
  Lsn stored_;
};

}  // namespace walpost::testing
