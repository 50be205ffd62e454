// SourceMemory: earlier knowledge of the source, and whether the present server
// continues from it.
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

#include "absl/status/status.h"
#include "checkpoint/birth_record.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/checkpoint_owner.h"
#include "checkpoint/continuity.h"
#include "checkpoint/gap_latch.h"
#include "delivery/gap.h"
#include "delivery/pipeline.h"

namespace walpost {

class SourceMemory {
 public:
  // Where to continue after a promotion. kAtCheckpoint: behind its event, if
  // the new primary has that, too. What walpost itself has written into the old
  // one may be missing there; whoever depends on such rows continues at the
  // slot.
  enum class AfterPromotion { kAtSlot, kAtCheckpoint };

  // The pipeline outlives the object.
  SourceMemory(std::string slot, Pipeline& pipeline,
               AfterPromotion after_promotion = AfterPromotion::kAtSlot)
      : slot_(std::move(slot)),
        pipeline_(pipeline),
        after_promotion_(after_promotion) {}

  // Checkpoint in the store, before each stream; nullopt: none, or no store.
  void SetCheckpoint(std::optional<Checkpoint> checkpoint) {
    checkpoint_ = std::move(checkpoint);
  }
  // A gap was found while streaming: from the next Continue on, nothing is
  // streamed until an operator acts.
  void Latch(const Gap& gap) { latch_.Close(gap); }
  const std::optional<Gap>& gap() const { return latch_.gap(); }

  // State of the server now, and its birth record.
  void Observe(ObservedSource observed, std::optional<BirthRecord> record);
  const ObservedSource& observed() const { return observed_; }
  // The timeline of what is known, if the server is on a later one; else 0.
  uint32_t left_timeline() const;
  void SetFork(std::optional<Lsn> fork) { observed_.fork = fork; }

  // No check is needed: the slot's user has judged it, and another walpost may
  // move it, under a different publication. kAborted: the server was promoted
  // meanwhile; start over.
  absl::Status OnSlotInUse(bool by_walpost);

  // kAborted: start over, after a promotion or because an operator has resolved
  // the gap. kUnavailable: look again. kFailedPrecondition: there is a gap.
  absl::Status Continue();
  // The last Continue has asked to look again, and nothing but this process
  // knows where the slot stood: another instance may have moved it.
  bool suspects_another_instance() const { return suspects_another_instance_; }
  // The promotion or the change of owner that Continue has found, for the log;
  // empty: none.
  const std::string& promotion() const { return promotion_; }
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

  // Facts that an earlier start could not know yet.
  struct RecordUpdate {
    BirthRecord record;
    // The old record would vouch for rows that are skipped from now on.
    bool is_required = false;
  };
  std::optional<RecordUpdate> UpdatedRecord(
      const std::string& kafka_cluster) const;
  // A first start: sets the coverage of the publication from now on.
  void OnBirth(const BirthRecord& record) { coverage_ = record.coverage; }
  void OnStreaming() { has_streamed_ = true; }

  // True if all earlier LSNs are void. True only once.
  bool TakeStartOver() { return std::exchange(must_start_over_, false); }

  // Nothing is known from before; as of the last Continue.
  bool is_first_start() const { return is_first_start_; }
  bool has_streamed() const { return has_streamed_; }
  const std::optional<BirthRecord>& record() const { return record_; }

  // Owner of the last stream's checkpoints, but for what only the sink knows.
  CheckpointOwner owner() const;

  // Identity of the last stream.
  const std::string& system_identifier() const { return system_identifier_; }
  uint32_t timeline() const { return timeline_; }
  // Consistent point of the slot, or its position when first seen.
  Lsn birth() const { return birth_; }
  // Coverage of the publication.
  const std::string& coverage() const { return coverage_; }
  // Kafka cluster that has the events so far; empty: not on record.
  const std::string& kafka_cluster() const { return kafka_cluster_; }

 private:
  KnownSource Known() const { return Known(record_); }
  KnownSource Known(const std::optional<BirthRecord>& record) const;
  void AddEvidence(const std::optional<BirthRecord>& record,
                   KnownSource& known) const;
  bool GapIsOver();
  bool HasMovedIn() const;
  static bool IsDoubtful(const Continuity& continuity,
                         const KnownSource& known);
  absl::Status Hold(const Gap& gap);
  absl::Status GoOn(const KnownSource& known, const Continuity& continuity);
  bool IsOvertakenByPromotion() const;
  absl::Status FollowPromotion();
  bool CheckpointHasOutlivedPromotion() const;
  absl::Status ResumeAtCheckpoint();
  BirthRecord WhatIsKnown() const;

  std::string slot_;
  Pipeline& pipeline_;
  AfterPromotion after_promotion_;

  // State of the current connection.
  std::optional<Checkpoint> checkpoint_;
  std::optional<BirthRecord> record_;
  ObservedSource observed_;
  std::string promotion_;
  bool is_first_start_ = false;

  // State across connections.
  GapLatch latch_;
  // Confirmed LSN of a checkpoint that the slot was ahead of.
  std::optional<Lsn> suspected_after_;
  std::string system_identifier_;
  uint32_t timeline_ = 0;
  Lsn birth_;
  std::string coverage_;
  std::string kafka_cluster_;
  bool slot_was_shared_ = false;
  bool suspects_another_instance_ = false;
  bool has_streamed_ = false;
  bool must_start_over_ = false;
};

}  // namespace walpost
