// ContinuityState: earlier knowledge of the source, and whether the present
// server continues from it.
//
// Before each stream, with the state that a connection has read:
//
//   Observe  ─▶ OnSlotInUse, while another process has the slot
//            ─▶ Continue: is there a gap? (checkpoint/continuity.h) Then it is
//               latched (checkpoint/gap_latch.h), and RecordOfGap is to be
//               written
//            ─▶ Begin: does the slot stand where there is evidence from?
//            ─▶ UpdatedRecord, or OnBirth on a first start
//            ─▶ OnStreaming
//
// Owned by the SourceSetup. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "checkpoint/birth_record.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/checkpoint_scope.h"
#include "checkpoint/continuity.h"
#include "checkpoint/coverage.h"
#include "checkpoint/gap_latch.h"
#include "checkpoint/passed_over.h"
#include "checkpoint/record_update.h"
#include "delivery/gap.h"
#include "delivery/wal_progress.h"

namespace walpost {

class ContinuityState {
 public:
  // Where to continue after a promotion. kAtCheckpoint: behind the event of the
  // checkpoint, if the new primary also has that event. Rows that walpost
  // itself has written into the old primary may be missing there. A caller that
  // depends on such rows continues at the slot.
  enum class AfterPromotion { kAtSlot, kAtCheckpoint };

  // `progress` outlives the object.
  ContinuityState(std::string slot, WalProgress& progress,
                  AfterPromotion after_promotion = AfterPromotion::kAtSlot)
      : slot_(std::move(slot)),
        progress_(progress),
        after_promotion_(after_promotion) {}

  // Checkpoint in the store, before each stream; nullopt: none, or no store.
  void SetCheckpoint(std::optional<Checkpoint> checkpoint) {
    checkpoint_ = std::move(checkpoint);
  }
  // There is no checkpoint store: the birth record alone says which tables were
  // taken up, and which relations were passed over.
  void RelyOnRecord() { relies_on_record_ = true; }
  // A gap was found while streaming: from the next Continue on, nothing is
  // streamed until an operator acts.
  void Latch(const Gap& gap);
  // A gap of a table is judged again each time: the record is its latch.
  const std::optional<Gap>& gap() const {
    return table_gap_ ? table_gap_ : latch_.gap();
  }

  // State of the server now, and its birth record.
  void Observe(ObservedSource observed, std::optional<BirthRecord> record);
  const ObservedSource& observed() const { return observed_; }
  // The timeline of what is known, if the server is on a later one; else 0.
  uint32_t left_timeline() const;
  void SetFork(std::optional<Lsn> fork) { observed_.fork = fork; }

  // A table that came to the configuration after everything that is known.
  struct NewTable {
    std::string name;
    // It is not on record whether its rows were passed over.
    bool is_unknown = false;
    // `walpost init` has announced it, and our role cannot say more: rows of
    // transactions before this one are not sent. 0: it was not announced.
    uint64_t announced_from = 0;
  };
  std::vector<NewTable> NewTables() const;
  // LSN where the stream would resume: it sends no transaction that committed
  // before.
  Lsn resumes_at() const;
  // Findings about such a table: the number of rows that the slot does not
  // send, for people, and whether the slot did send some of them.
  void SetUnsentRows(const std::string& table, std::string rows,
                     bool was_passed_over);

  // The slot is in use, so no check is needed: its user has checked it, and
  // another walpost may move it, under a different publication. kAborted: the
  // server was promoted meanwhile; start over.
  absl::Status OnSlotInUse(bool by_walpost);

  // kAborted: start over, after a promotion or because an operator has resolved
  // the gap. kUnavailable: look again. kFailedPrecondition: there is a gap.
  absl::Status Continue();
  // True if the last Continue has asked to look again, and only this process
  // knows where the slot stood. Another instance may have moved it.
  bool suspects_another_instance() const { return suspects_another_instance_; }
  // The promotion or the change of owner that Continue has found, for the log;
  // empty: none.
  const std::string& promotion() const { return promotion_; }
  // Coverage that is known from before; empty: none. After Observe.
  std::string known_coverage() const { return Known().coverage; }
  // The gap that a look beside the stream shows, while there is none, and the
  // checkpoint may be out of reach. Nothing is latched by it. nullopt: there is
  // none, or the checkpoint or another instance may explain it.
  std::optional<Gap> VisibleGap(const ObservedSource& observed,
                                const std::optional<BirthRecord>& record) const;
  // Record that stores the gap; nullopt: nothing is to be written.
  std::optional<BirthRecord> RecordOfGap() const;

  // The slot stands at `begins`. kAborted: start over, because the slot went
  // back to before anything is known.
  absl::Status Begin(Lsn begins);

  // Facts that an earlier start could not know yet; see UpdateRecord.
  std::optional<RecordUpdate> UpdatedRecord(const std::string& kafka_cluster,
                                            const RecordFence& fence) const;
  // On a first start: the record that begins now. From now on it has the
  // coverage of the publication.
  BirthRecord RecordOfBirth(BirthRecord described);
  void OnStreaming() { has_streamed_ = true; }

  // True if all earlier LSNs are void. True only once.
  bool TakeStartOver() { return std::exchange(must_start_over_, false); }

  // True if nothing is known from before, as of the last Continue.
  bool is_first_start() const { return is_first_start_; }
  bool has_streamed() const { return has_streamed_; }
  const std::optional<BirthRecord>& record() const { return record_; }

  // Owner of the last stream's checkpoints, without the facts that only the
  // sink knows.
  CheckpointScope owner() const;

  // Identity of the last stream.
  const std::string& system_identifier() const { return system_identifier_; }
  uint32_t timeline() const { return timeline_; }
  // Consistent point of the slot, or its position when first seen.
  Lsn birth() const { return birth_; }
  // True if the slot has confirmed something since its birth, so that somebody
  // has streamed from it.
  bool slot_was_used() const;
  // Coverage of the publication.
  const std::string& coverage() const { return coverage_; }
  // Names that its tables had before this process, in order; see FormerNames.
  const std::vector<std::string>& former_names() const { return former_names_; }
  // Kafka cluster that has the events so far; empty: not on record.
  const std::string& kafka_cluster() const { return kafka_cluster_; }

 private:
  KnownSource Known() const { return Known(record_); }
  KnownSource Known(const std::optional<BirthRecord>& record) const;
  void AddEvidence(const std::optional<BirthRecord>& record,
                   KnownSource& known) const;
  void ForgetSettledEvidence();
  Announced announced() const;
  bool GapIsOver();
  bool HasMovedIn() const;
  static bool IsDoubtful(const Continuity& continuity,
                         const KnownSource& known);
  absl::Status Hold(const Gap& gap);
  absl::Status HoldTable(Gap gap, const KnownSource& known);
  void IdentifySource();
  absl::Status GoOn(const KnownSource& known, const Continuity& continuity);
  bool IsOvertakenByPromotion() const;
  absl::Status FollowPromotion();
  bool CheckpointHasOutlivedPromotion() const;
  absl::Status ResumeAtCheckpoint();
  BirthRecord WhatIsKnown() const;

  std::string slot_;
  WalProgress& progress_;
  AfterPromotion after_promotion_;

  // State of the current connection.
  std::optional<Checkpoint> checkpoint_;
  std::optional<BirthRecord> record_;
  ObservedSource observed_;
  std::string promotion_;
  bool is_first_start_ = false;
  std::optional<Gap> table_gap_;
  std::string coverage_of_gap_;  // with what was passed over

  // State across connections.
  GapLatch latch_;
  bool relies_on_record_ = false;
  // Found in the tables, and not on record.
  PassedOver passed_over_;
  // Confirmed LSN of a checkpoint that the slot was ahead of.
  std::optional<Lsn> suspected_after_;
  std::string system_identifier_;
  uint32_t timeline_ = 0;
  Lsn birth_;
  std::string coverage_;
  std::vector<std::string> former_names_;
  std::string kafka_cluster_;
  bool slot_was_shared_ = false;
  bool suspects_another_instance_ = false;
  bool has_streamed_ = false;
  bool must_start_over_ = false;
};

}  // namespace walpost
