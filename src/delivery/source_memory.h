// SourceMemory: what is known of the source from before, and whether the server
// that is there now carries on with it.
//
// Before each stream, with what a connection has seen:
//
//   Observe  ─▶ OnSlotInUse, while another has the slot
//            ─▶ Continue: is there a gap? (delivery/continuity.h) Then it is
//               latched (delivery/gap_latch.h), and RecordOfGap is to be
//               written
//            ─▶ Begin: does the slot stand where there is evidence from?
//            ─▶ UpdatedRecord, or of a first start OnBirth
//            ─▶ OnStreaming
//
// Owned by the SourceSetup. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "delivery/birth_record.h"
#include "delivery/checkpoint.h"
#include "delivery/continuity.h"
#include "delivery/gap_latch.h"
#include "delivery/pipeline.h"

namespace walpost {

class SourceMemory {
 public:
  // The pipeline outlives the object.
  SourceMemory(std::string slot, Pipeline& pipeline)
      : slot_(std::move(slot)), pipeline_(pipeline) {}

  // What the store has, before each stream; nullopt: nothing, or no store.
  void SetCheckpoint(std::optional<Checkpoint> checkpoint) {
    checkpoint_ = std::move(checkpoint);
  }
  // A gap that was found while streaming: from the next Continue on, nothing
  // is streamed until an operator acts.
  void Latch(const Gap& gap) { latch_.Close(gap); }
  const std::optional<Gap>& gap() const { return latch_.gap(); }

  // What the server says now, and the birth record that it has.
  void Observe(ObservedSource observed, std::optional<BirthRecord> record);
  const ObservedSource& observed() const { return observed_; }
  // The timeline that was left, if the server is on a later one; else 0.
  uint32_t left_timeline() const;
  void SetFork(std::optional<Lsn> fork) { observed_.fork = fork; }

  // There is nothing to judge: who has the slot has judged it, and another
  // walpost may move it, under another publication than ours. kAborted: the
  // server was promoted meanwhile; start over.
  absl::Status OnSlotInUse(bool by_walpost);

  // kAborted: start over, after a promotion or because an operator has ended
  // the gap. kUnavailable: look again. kFailedPrecondition: there is a gap.
  absl::Status Continue();
  // A promotion that Continue has found, for the log; empty: none.
  const std::string& promotion() const { return promotion_; }
  // What keeps a gap on record; nullopt: nothing is to be written.
  std::optional<BirthRecord> RecordOfGap() const;

  // The slot stands at `begins`. kAborted: start over, for it went back to
  // before anything is known.
  absl::Status Begin(Lsn begins);

  // What an earlier start could not know yet.
  struct RecordUpdate {
    BirthRecord record;
    // The record of before would vouch for rows that are passed over from now
    // on.
    bool is_required = false;
  };
  std::optional<RecordUpdate> UpdatedRecord(
      const std::string& kafka_cluster) const;
  // A first start: what the publication covers from now on.
  void OnBirth(const BirthRecord& record) { coverage_ = record.coverage; }
  void OnStreaming() { has_streamed_ = true; }

  // Whether all LSNs from before are void. Asked once.
  bool TakeStartOver() { return std::exchange(must_start_over_, false); }

  // Nothing is known from before; as of the last Continue.
  bool is_first_start() const { return is_first_start_; }
  bool has_streamed() const { return has_streamed_; }
  const std::optional<BirthRecord>& record() const { return record_; }

  // Of the last stream.
  const std::string& system_identifier() const { return system_identifier_; }
  uint32_t timeline() const { return timeline_; }
  // Consistent point of the slot, or where it stood when first seen.
  Lsn birth() const { return birth_; }
  // What the publication covers.
  const std::string& coverage() const { return coverage_; }
  // The Kafka cluster that has the events so far; empty: not on record.
  const std::string& kafka_cluster() const { return kafka_cluster_; }

 private:
  KnownSource Known() const;
  void AddEvidence(KnownSource& known) const;
  bool GapIsOver();
  absl::Status Hold(const Gap& gap);
  absl::Status GoOn(const KnownSource& known, const Continuity& continuity);
  bool IsOvertakenByPromotion() const;
  absl::Status FollowPromotion();
  void ResumeAtCheckpoint();
  BirthRecord WhatIsKnown() const;

  std::string slot_;
  Pipeline& pipeline_;

  // Of the connection at hand.
  std::optional<Checkpoint> checkpoint_;
  std::optional<BirthRecord> record_;
  ObservedSource observed_;
  std::string promotion_;
  bool is_first_start_ = false;

  // From one connection to the next.
  GapLatch latch_;
  Lsn suspected_after_;  // a checkpoint that the slot was ahead of
  std::string system_identifier_;
  uint32_t timeline_ = 0;
  Lsn birth_;
  std::string coverage_;
  std::string kafka_cluster_;
  bool slot_was_shared_ = false;
  bool has_streamed_ = false;
  bool must_start_over_ = false;
};

}  // namespace walpost
