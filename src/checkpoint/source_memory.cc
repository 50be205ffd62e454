#include "checkpoint/source_memory.h"

#include <algorithm>
#include <string_view>

#include "checkpoint/coverage.h"
#include "fmt/format.h"

namespace walpost {

CheckpointOwner SourceMemory::owner() const {
  CheckpointOwner owner;
  owner.system_identifier = system_identifier_;
  owner.timeline = timeline_;
  owner.slot = slot_;
  owner.birth = birth_;
  owner.coverage = coverage_;
  return owner;
}

void SourceMemory::Observe(ObservedSource observed,
                           std::optional<BirthRecord> record) {
  observed_ = std::move(observed);
  record_ = std::move(record);
}

uint32_t SourceMemory::left_timeline() const {
  const uint32_t known = Known().timeline;
  if (known < observed_.timeline) return known;
  const uint32_t of_checkpoint = checkpoint_ ? checkpoint_->timeline : 0;
  return of_checkpoint < observed_.timeline ? of_checkpoint : 0;
}

// The checkpoint includes the progress of other instances, but not a promotion
// that was followed already.
KnownSource SourceMemory::Known(
    const std::optional<BirthRecord>& record) const {
  using By = KnownSource::By;
  KnownSource known;
  if (checkpoint_ && (!has_streamed_ || checkpoint_->timeline >= timeline_)) {
    known.by = By::kCheckpoint;
    known.system_identifier = checkpoint_->system_identifier;
    known.timeline = checkpoint_->timeline;
    known.birth = checkpoint_->birth;
    known.confirmed = checkpoint_->confirmed;
  } else if (has_streamed_) {
    known.by = By::kThisProcess;
    known.system_identifier = system_identifier_;
    known.timeline = timeline_;
    known.birth = birth_;
    known.confirmed = pipeline_.confirmed();
  } else if (record) {
    known.by = By::kBirthRecord;
    known.system_identifier = record->system_identifier;
    known.timeline = record->timeline;
    known.birth = record->consistent_point;
  }
  if (known.by != By::kNothing) AddEvidence(record, known);
  return known;
}

// The newest value counts; an empty one is not on record there.
void SourceMemory::AddEvidence(const std::optional<BirthRecord>& record,
                               KnownSource& known) const {
  known.slot_was_shared = slot_was_shared_;
  known.coverage = coverage_;
  if (checkpoint_) {
    known.coverage = MergeCoverage(known.coverage, checkpoint_->coverage);
    known.kafka_cluster = checkpoint_->kafka_cluster;
  }
  if (record) {
    known.coverage = MergeCoverage(known.coverage, record->coverage);
    if (known.kafka_cluster.empty()) {
      known.kafka_cluster = record->kafka_cluster;
    }
  }
}

absl::Status SourceMemory::OnSlotInUse(bool by_walpost) {
  if (IsOvertakenByPromotion()) return FollowPromotion();
  if (by_walpost) {
    slot_was_shared_ = true;
    coverage_.clear();
  }
  return absl::OkStatus();
}

bool SourceMemory::IsOvertakenByPromotion() const {
  return has_streamed_ && observed_.timeline > timeline_ &&
         observed_.system_identifier == system_identifier_;
}

// The memory belongs to a WAL that has forked, whoever followed it first.
absl::Status SourceMemory::FollowPromotion() {
  const std::string text = fmt::format(
      "the server is on timeline {} now, and walpost was on {}: starting over",
      observed_.timeline, timeline_);
  timeline_ = observed_.timeline;
  pipeline_.SetTimeline(timeline_);
  must_start_over_ = true;
  return absl::AbortedError(text);
}

// An operator has recovered or accepted the gap: what this process knows
// belongs to an earlier life of the slot.
bool SourceMemory::GapIsOver() {
  std::optional<std::string_view> in_checkpoint;
  if (checkpoint_) in_checkpoint = checkpoint_->gap;
  std::optional<std::string_view> on_record;
  if (record_) on_record = record_->gap;
  if (!latch_.Observe(in_checkpoint, on_record) && !HasMovedIn()) return false;
  latch_ = GapLatch();
  has_streamed_ = false;
  coverage_.clear();
  must_start_over_ = true;
  return true;
}

// The gap was a checkpoint of another system, in which it could not be kept. An
// operator has put one of this system in its place.
bool SourceMemory::HasMovedIn() const {
  const bool is_foreign =
      latch_.gap() && latch_.gap()->code == kGapOtherCluster;
  const bool is_on_record = record_ && !record_->gap.empty();
  return is_foreign && !is_on_record && checkpoint_ &&
         checkpoint_->system_identifier == observed_.system_identifier &&
         checkpoint_->gap.empty();
}

// The checkpoint was read before the slot. Meanwhile another instance may have
// moved both.
bool SourceMemory::IsDoubtful(const Continuity& continuity,
                              const KnownSource& known) {
  return continuity.gap == kGapSlotAdvanced ||
         (continuity.gap == kGapSlotNotKept &&
          known.by == KnownSource::By::kCheckpoint);
}

absl::Status SourceMemory::Continue() {
  promotion_.clear();
  suspects_another_instance_ = false;
  if (GapIsOver()) {
    return absl::AbortedError(
        "an operator has resolved the gap: starting over");
  }
  if (latch_.gap()) return Hold(*latch_.gap());
  const KnownSource known = Known();
  const Continuity continuity = JudgeContinuity(known, observed_, slot_);
  is_first_start_ = continuity.kind == Continuity::Kind::kFirstStart;
  if (IsDoubtful(continuity, known) &&
      std::exchange(suspected_after_, known.confirmed) != known.confirmed) {
    suspects_another_instance_ = known.by == KnownSource::By::kThisProcess;
    return absl::UnavailableError(
        "the slot is ahead of what is known: looking again, in case another "
        "instance was just writing both");
  }
  if (continuity.kind == Continuity::Kind::kGap) {
    return Hold({continuity.gap, continuity.text});
  }
  return GoOn(known, continuity);
}

std::optional<Gap> SourceMemory::VisibleGap(
    const ObservedSource& observed,
    const std::optional<BirthRecord>& record) const {
  if (latch_.gap()) return latch_.gap();
  if (record && !record->gap.empty()) return ParseGap(record->gap);
  KnownSource known = Known(record);
  const bool is_lost = observed.slot && observed.slot->is_lost;
  if (known.by == KnownSource::By::kNothing && is_lost) {
    known.by = KnownSource::By::kBirthRecord;
  }
  if (observed.system_identifier.empty() || known.system_identifier.empty()) {
    known.system_identifier = observed.system_identifier;
  }
  const Continuity continuity = JudgeContinuity(known, observed, slot_);
  const bool may_be_explained =
      continuity.gap == kGapSlotAdvanced || continuity.gap == kGapSlotNotKept;
  if (continuity.kind != Continuity::Kind::kGap || may_be_explained) {
    return std::nullopt;
  }
  return Gap{continuity.gap, continuity.text};
}

absl::Status SourceMemory::Hold(const Gap& gap) {
  latch_.Close(gap);
  if (system_identifier_.empty()) {
    system_identifier_ = observed_.system_identifier;
    timeline_ = observed_.timeline;
    birth_ = Known().birth;
  }
  return StatusOfGap(*latch_.gap());
}

std::optional<BirthRecord> SourceMemory::RecordOfGap() const {
  const bool is_ours = observed_.system_identifier == system_identifier_;
  const bool is_on_record = record_ && !record_->gap.empty();
  if (!latch_.gap() || !is_ours || is_on_record) return std::nullopt;
  BirthRecord record = record_.value_or(WhatIsKnown());
  record.gap = latch_.gap()->code;
  return record;
}

// Replaces a record that somebody has removed; it proves nothing.
BirthRecord SourceMemory::WhatIsKnown() const {
  BirthRecord record;
  record.slot = slot_;
  record.consistent_point = birth_;
  record.system_identifier = system_identifier_;
  record.timeline = timeline_;
  record.coverage = coverage_;
  record.kafka_cluster = observed_.kafka_cluster;
  return record;
}

absl::Status SourceMemory::GoOn(const KnownSource& known,
                                const Continuity& continuity) {
  birth_ = known.birth;
  const bool is_promotion =
      continuity.kind == Continuity::Kind::kFollowPromotion;
  promotion_ = continuity.text;
  if (IsOvertakenByPromotion()) return FollowPromotion();
  system_identifier_ = observed_.system_identifier;
  timeline_ = observed_.timeline;
  pipeline_.SetTimeline(timeline_);
  coverage_ = MergeCoverage(observed_.coverage, known.coverage);
  kafka_cluster_ = known.kafka_cluster;
  slot_was_shared_ = false;
  const bool is_checkpoint = known.by == KnownSource::By::kCheckpoint;
  if ((is_checkpoint && !is_promotion) || CheckpointHasOutlivedPromotion()) {
    return ResumeAtCheckpoint();
  }
  return absl::OkStatus();
}

// The new primary has all that the old one had before the fork. The commit of
// that event has to reappear there (HistoryCheck).
bool SourceMemory::CheckpointHasOutlivedPromotion() const {
  return after_promotion_ == AfterPromotion::kAtCheckpoint && checkpoint_ &&
         checkpoint_->system_identifier == observed_.system_identifier &&
         checkpoint_->timeline < observed_.timeline &&
         checkpoint_->position.ordinal > 0 && observed_.fork &&
         checkpoint_->position.commit_lsn < *observed_.fork;
}

// Records in flight across a reconnect are ours, and we know them best. The
// checkpoint may be of an instance that still streams the WAL from before a
// restore.
absl::Status SourceMemory::ResumeAtCheckpoint() {
  if (!pipeline_.window().empty()) return absl::OkStatus();
  const Position& position = checkpoint_->position;
  if (position == Position()) return absl::OkStatus();  // nothing was sent yet
  // A slot that went back before a position without an event: nothing proves
  // what lies between, so it is sent again.
  const bool is_event = position.ordinal > 0;
  const bool went_back =
      observed_.slot && observed_.slot->confirmed < position.commit_lsn;
  if (!is_event && went_back) return absl::OkStatus();
  const Lsn shared = observed_.fork.value_or(checkpoint_->confirmed);
  const Lsn confirmed = std::min(checkpoint_->confirmed, shared);
  const CommitIdentity commit{position.commit_lsn, checkpoint_->commit_xid,
                              checkpoint_->commit_time};
  const absl::Status compared = pipeline_.CompareProgress(confirmed, commit);
  if (!compared.ok()) {
    return Hold({kGapWalForked, std::string(compared.message())});
  }
  pipeline_.Resume(confirmed, position, commit);
  return absl::OkStatus();
}

absl::Status SourceMemory::Begin(Lsn begins) {
  if (pipeline_.LacksEvidenceFrom(begins)) {
    must_start_over_ = true;
    return absl::AbortedError(fmt::format(
        "the slot went back to {}, before walpost came to it: starting over",
        begins.ToString()));
  }
  pipeline_.BeginStream(begins);
  if (is_first_start_) birth_ = begins;
  return absl::OkStatus();
}

// If our role does not own the publication, the checkpoint holds the facts, or
// nothing does. But a record that vouches for rows which are skipped from now
// on has to be corrected.
std::optional<SourceMemory::RecordUpdate> SourceMemory::UpdatedRecord(
    const std::string& kafka_cluster) const {
  if (!record_) return std::nullopt;
  RecordUpdate update{*record_};
  BirthRecord& record = update.record;
  record.timeline = timeline_;
  // A table that was added since may not have been covered all along.
  const bool vouches = !record.coverage.empty();
  record.coverage =
      vouches ? MarkLeftOut(record.coverage, coverage_) : coverage_;
  update.is_required = vouches && record.coverage != record_->coverage;
  record.coverage = WithPublicationOf(record.coverage, coverage_);
  if (!kafka_cluster.empty()) record.kafka_cluster = kafka_cluster;
  if (record == *record_) return std::nullopt;
  return update;
}

}  // namespace walpost
