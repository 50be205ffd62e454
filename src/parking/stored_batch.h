// StoredBatch: decides how stored events are sent: released parked events,
// events that wait for an isolated topic, and dead letters that are retried. It
// sends one batch at a time through a Sender.
//
//   Begin ──▶ Next ──▶ kWait ──▶ Next ──▶ ... ──▶ kEnd ──▶ TakeResult
//              └──▶ kCommit ──▶ OnCommitted ──▶ Next
//
// A row that waits holds up those of its key, and no other. If the brokers
// reject a batch, the next batches have one row each, until the rejected row is
// found. A topic that takes nothing, although the brokers answer, fails its
// rows after kMaxHold, so that others need not wait for it.
//
// With transactions, each commit has a ledger with the rows in it
// (release_ledger.h): a row that was committed, and not marked because of a
// crash, is not sent again.
//
// Pure: time comes in as a parameter. One owner drives it, beside its Sender.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/time.h"
#include "dead_letters/letter_event.h"
#include "delivery/sender.h"
#include "outbox/options.h"
#include "parking/parked_row.h"
#include "parking/release_ledger.h"

namespace walpost {

class StoredBatch {
 public:
  static constexpr size_t kMaxRows = 1'000;
  // Maximum time for which a topic may take nothing while brokers answer.
  static constexpr std::chrono::seconds kMaxHold{20};

  struct Options {
    // True: the rows of a topic that takes nothing fail. False: they wait for
    // it.
    bool topics_fail = true;
    // True: rows of one key keep their order. False: no row waits for another.
    bool keeps_order = true;
    // True: the events of the rows are not sent, and only need a commit.
    bool commits_only = false;
    // True if the sink has transactions.
    bool has_ledger = false;
  };
  struct Failure {
    size_t row = 0;  // of the batch
    absl::Status reason;
  };
  struct Result {
    std::vector<size_t> sent;  // rows of the batch, in order
    // Rows that cannot be delivered: of a key, the first one alone.
    std::vector<Failure> failed;
    // Why the rest was not sent, if no row is the cause.
    absl::Status trouble;
    bool is_new_trouble = false;  // differs from the last batch's: log it
    // True if another batch may make progress before the trouble ends, because
    // this one has, or because its rows go alone from now on.
    bool may_go_on = false;
  };
  enum class Do {
    kWait,    // for reports
    kCommit,  // what is acknowledged, with ledger()
    kEnd,
  };

  // `outbox` and `sender` outlive this object. The sender has no other source.
  StoredBatch(const OutboxOptions& outbox, Sender& sender, Options options);

  // Loads the rows that other instances have committed, each time that the sink
  // has taken over from them. kDataLoss: quotes the line that cannot be read.
  absl::Status LoadLedger(std::string_view text);

  void Begin(std::vector<ParkedRow> rows, MonotonicTime now);
  // `brokers_answer`: true if at least one broker answers now.
  Do Next(MonotonicTime now, bool brokers_answer);
  // The ledger as the commit must write it.
  std::string ledger() const { return committing_.Encode(); }
  // Rows that the commit settles.
  std::vector<size_t> committing() const;
  // After an error the sink has failed: whether the rows are sent is not known,
  // and the ledger tells.
  void OnCommitted(const absl::Status& status);
  // Ends this batch and each later one soon.
  void Stop() { is_stopped_ = true; }
  Result TakeResult(MonotonicTime now, bool brokers_answer);
  // Ends the batch, because the sink is given up.
  void GiveUpSink(const absl::Status& reason) { commit_failure_ = reason; }
  // The result of a batch that sends nothing, because the sink cannot be
  // opened.
  Result Refuse(absl::Status trouble);

  // True if the sink cannot be used for another batch: close it, then call
  // StartOver.
  bool must_replace_sink() const;
  // The sink is closed.
  void StartOver();

  const std::vector<ParkedRow>& rows() const { return rows_; }
  // Maximum rows of the next batch: one, while the record is searched that the
  // brokers reject.
  size_t max_rows() const { return one_by_one_ > 0 ? 1 : kMaxRows; }
  bool is_stopped() const { return is_stopped_; }
  // Why a topic has taken nothing for some seconds, to be logged. Empty if that
  // is the trouble of the last batch, or was returned before.
  std::string TakeNewTrouble(MonotonicTime now);
  // What the batch waits for, if it has made no progress for some seconds:
  // "orders takes no records for 12 s: unknown topic"; else empty.
  std::string waits_for(MonotonicTime now) const;

 private:
  struct Entry {
    enum class State { kToOffer, kTaken, kSent };
    State state = State::kToOffer;
    Sequence sequence = 0;  // if it is taken
    std::string topic;      // empty: not known
    std::string key;        // that orders it; empty: it waits for no other
    std::string ledger;     // of its row
  };
  enum class Offered { kAccepted, kNotNow, kNotToTopic };

  Entry MakeEntry(const ParkedRow& row);
  void NoteProgress(MonotonicTime now, bool brokers_answer);
  void OfferAll();
  Offered Offer(size_t row);
  void NextLedger();
  void SettleAcknowledged();
  void FailUntaken();
  absl::Status WhyUntaken(const Entry& entry) const;
  bool IsAcknowledged(const Entry& entry) const;
  bool IsAtFault(const absl::Status& trouble, bool brokers_answer) const;
  bool TakesNothing(MonotonicTime now) const;
  bool HasUncommitted() const;
  bool IsOffered() const;
  absl::Status Trouble() const;
  bool IsThrough(const Entry& entry) const;
  std::string WhyTopicWaits() const;
  bool IsNewTrouble(std::string trouble);

  Sender& sender_;
  const Options options_;
  LetterEvent event_;
  std::vector<ParkedRow> rows_;
  std::vector<Entry> entries_;  // of rows_
  std::vector<Failure> failed_;
  std::map<std::string, absl::Status> topic_troubles_;  // why they take nothing
  absl::Status commit_failure_;
  uint64_t ordinal_ = 0;               // of the event offered last
  uint64_t progress_ = 0;              // events taken and acknowledged
  MonotonicTime progress_at_{};        // when it moved last, in this batch
  uint64_t not_delivered_before_ = 0;  // the batch
  size_t one_by_one_ = 0;              // rows that are still to be sent alone
  std::string trouble_;                // said last
  bool is_stopped_ = false;

  // The rows of earlier batches are marked by now. So a commit writes what was
  // inherited, and the rows of this batch.
  ReleaseLedger inherited_;   // as it was when the sink took over
  ReleaseLedger committed_;   // as committed last
  ReleaseLedger committing_;  // of the rows so far
};

}  // namespace walpost
