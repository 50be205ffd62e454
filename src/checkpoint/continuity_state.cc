#include "checkpoint/continuity_state.h"

#include <algorithm>
#include <string_view>

#include "base/kafka_cluster.h"
#include "fmt/format.h"

namespace walpost {

CheckpointScope ContinuityState::owner() const {
  CheckpointScope owner;
  owner.system_identifier = system_identifier_;
  owner.timeline = timeline_;
  owner.slot = slot_;
  owner.birth = birth_;
  owner.coverage = table_gap_ ? coverage_of_gap_ : coverage_;
  return owner;
}

void ContinuityState::Observe(ObservedSource observed,
                              std::optional<BirthRecord> record) {
  observed_ = std::move(observed);
  record_ = std::move(record);
  ForgetSettledEvidence();
}

bool ContinuityState::slot_was_used() const {
  return observed_.slot && birth_.is_valid() &&
         observed_.slot->confirmed > birth_;
}

void ContinuityState::Latch(const Gap& gap) {
  if (gap.code != kGapTablePassedOver) latch_.Close(gap);
}

uint32_t ContinuityState::left_timeline() const {
  const uint32_t known = Known().timeline;
  if (known < observed_.timeline) return known;
  const uint32_t of_checkpoint = checkpoint_ ? checkpoint_->timeline : 0;
  return of_checkpoint < observed_.timeline ? of_checkpoint : 0;
}

// The checkpoint includes the progress of other instances, but not a promotion
// that was followed already.
KnownSource ContinuityState::Known(
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
    known.confirmed = progress_.confirmed();
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
void ContinuityState::AddEvidence(const std::optional<BirthRecord>& record,
                                  KnownSource& known) const {
  known.slot_was_shared = slot_was_shared_;
  // An attempt that came to no stream has sent nothing under its coverage.
  if (has_streamed_) known.coverage = coverage_;
  if (checkpoint_) {
    known.coverage = MergeCoverage(known.coverage, checkpoint_->coverage);
    known.kafka_cluster = checkpoint_->kafka_cluster;
  }
  if (record) {
    known.coverage =
        MergeCoverage(known.coverage, CoverageOf(*record, announced()));
    if (known.kafka_cluster.empty()) {
      known.kafka_cluster = record->kafka_cluster;
    }
  }
  if (known.coverage.empty() || passed_over_.empty()) return;
  Coverage coverage = Coverage::Parse(known.coverage);
  coverage.passed_over.Add(passed_over_);
  known.coverage = coverage.ToString();
}

// A role that may not write the record cannot say that it has taken up a table.
// Then nobody passes over a table that is announced (PassedOverRows).
Announced ContinuityState::announced() const {
  return relies_on_record_ && !observed_.may_write_record ? Announced::kYes
                                                          : Announced::kNo;
}

// A table on record has been taken up, or an operator has settled its gap.
void ContinuityState::ForgetSettledEvidence() {
  const auto forget = [this](const std::string& text) {
    const std::vector<uint32_t> oids = TableOids(Coverage::Parse(text));
    for (const uint32_t oid : oids) passed_over_.Remove(oid);
  };
  if (checkpoint_) forget(checkpoint_->coverage);
  if (record_) forget(CoverageOf(*record_, Announced::kNo));
}

std::vector<ContinuityState::NewTable> ContinuityState::NewTables() const {
  std::vector<NewTable> added;
  const KnownSource known = Known();
  if (known.coverage.empty() ||
      known.system_identifier != observed_.system_identifier) {
    return added;
  }
  const Coverage before = Coverage::Parse(known.coverage);
  // An older release put none of the tables on record that it took up.
  const bool was_kept = !relies_on_record_ || (record_ && record_->added);
  for (const Coverage::Table& table :
       AddedTables(before, Coverage::Parse(observed_.coverage))) {
    added.push_back(
        {table.name, was_kept && !before.passed_over.is_complete()});
  }
  const bool may_tell = announced() == Announced::kYes && !has_streamed_;
  if (!may_tell || !record_ || !record_->added) return added;
  const Coverage taken_up =
      Coverage::Parse(CoverageOf(*record_, Announced::kNo));
  for (const Coverage::Table& table :
       AddedTables(taken_up, Coverage::Parse(observed_.coverage))) {
    const AddedTable* known_as = FindAdded(*record_, table.name);
    if (known_as == nullptr) continue;
    added.push_back({table.name, false, known_as->from_transaction});
  }
  return added;
}

Lsn ContinuityState::resumes_at() const {
  const Lsn stands = observed_.slot ? observed_.slot->confirmed : Lsn();
  return std::max(stands, Known().confirmed);
}

void ContinuityState::SetUnsentRows(const std::string& table, std::string rows,
                                    bool was_passed_over) {
  observed_.unsent_rows[table] = std::move(rows);
  const Coverage now = Coverage::Parse(observed_.coverage);
  if (was_passed_over) passed_over_.Add(TableOid(now, table), Lsn());
}

absl::Status ContinuityState::OnSlotInUse(bool by_walpost) {
  if (IsOvertakenByPromotion()) return FollowPromotion();
  if (by_walpost) {
    slot_was_shared_ = true;
    coverage_.clear();
  }
  return absl::OkStatus();
}

bool ContinuityState::IsOvertakenByPromotion() const {
  return has_streamed_ && observed_.timeline > timeline_ &&
         observed_.system_identifier == system_identifier_;
}

// The memory belongs to a WAL that has forked, whoever followed it first.
absl::Status ContinuityState::FollowPromotion() {
  const std::string text = fmt::format(
      "the server is on timeline {} now, and walpost was on {}: starting over",
      observed_.timeline, timeline_);
  timeline_ = observed_.timeline;
  progress_.sender().SetTimeline(timeline_);
  must_start_over_ = true;
  return absl::AbortedError(text);
}

// An operator has recovered or accepted the gap: what this process knows
// belongs to an earlier life of the slot.
bool ContinuityState::GapIsOver() {
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
bool ContinuityState::HasMovedIn() const {
  const bool is_foreign =
      latch_.gap() && latch_.gap()->code == kGapOtherCluster;
  const bool is_on_record = record_ && !record_->gap.empty();
  return is_foreign && !is_on_record && checkpoint_ &&
         checkpoint_->system_identifier == observed_.system_identifier &&
         checkpoint_->gap.empty();
}

// The checkpoint was read before the slot. Meanwhile another instance may have
// moved both.
bool ContinuityState::IsDoubtful(const Continuity& continuity,
                                 const KnownSource& known) {
  return continuity.gap == kGapSlotAdvanced ||
         (continuity.gap == kGapSlotNotKept &&
          known.by == KnownSource::By::kCheckpoint);
}

absl::Status ContinuityState::Continue() {
  promotion_.clear();
  table_gap_.reset();
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
    Gap gap{continuity.gap, continuity.text};
    return gap.code == kGapTablePassedOver ? HoldTable(std::move(gap), known)
                                           : Hold(gap);
  }
  return GoOn(known, continuity);
}

std::optional<Gap> ContinuityState::VisibleGap(
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
      continuity.gap == kGapSlotAdvanced || continuity.gap == kGapSlotNotKept ||
      (continuity.gap == kGapTablePassedOver && !relies_on_record_);
  if (continuity.kind != Continuity::Kind::kGap || may_be_explained) {
    return std::nullopt;
  }
  return Gap{continuity.gap, continuity.text};
}

absl::Status ContinuityState::Hold(const Gap& gap) {
  latch_.Close(gap);
  IdentifySource();
  Gap held = *latch_.gap();  // of a record, perhaps: its code alone
  if (IsRabbitmqCluster(Known().kafka_cluster)) {
    held.text = ForUnreadBrokers(held.text);
  }
  return StatusOfGap(held);
}

absl::Status ContinuityState::HoldTable(Gap gap, const KnownSource& known) {
  table_gap_ = std::move(gap);
  coverage_of_gap_ = known.coverage;
  IdentifySource();
  return StatusOfGap(*table_gap_);
}

void ContinuityState::IdentifySource() {
  if (!system_identifier_.empty()) return;
  system_identifier_ = observed_.system_identifier;
  timeline_ = observed_.timeline;
  birth_ = Known().birth;
}

std::optional<BirthRecord> ContinuityState::RecordOfGap() const {
  const bool is_ours = observed_.system_identifier == system_identifier_;
  if (table_gap_) {
    if (!relies_on_record_ || !record_ || !is_ours) return std::nullopt;
    BirthRecord record = *record_;
    Coverage coverage = Coverage::Parse(record.coverage);
    coverage.passed_over.Add(passed_over_);
    record.coverage = coverage.ToString();
    return record == *record_ ? std::nullopt : std::optional(record);
  }
  const bool is_on_record = record_ && !record_->gap.empty();
  if (!latch_.gap() || !is_ours || is_on_record) return std::nullopt;
  BirthRecord record = record_.value_or(WhatIsKnown());
  record.gap = latch_.gap()->code;
  return record;
}

// Replaces a record that somebody has removed; it proves nothing.
BirthRecord ContinuityState::WhatIsKnown() const {
  BirthRecord record;
  record.slot = slot_;
  record.consistent_point = birth_;
  record.system_identifier = system_identifier_;
  record.timeline = timeline_;
  record.coverage = coverage_;
  record.kafka_cluster = observed_.kafka_cluster;
  return record;
}

absl::Status ContinuityState::GoOn(const KnownSource& known,
                                   const Continuity& continuity) {
  birth_ = known.birth;
  const bool is_promotion =
      continuity.kind == Continuity::Kind::kFollowPromotion;
  promotion_ = continuity.text;
  if (IsOvertakenByPromotion()) return FollowPromotion();
  system_identifier_ = observed_.system_identifier;
  timeline_ = observed_.timeline;
  progress_.sender().SetTimeline(timeline_);
  const Coverage before = Coverage::Parse(known.coverage);
  const Coverage now = Coverage::Parse(observed_.coverage);
  coverage_ = TakeUp(now, before).ToString();
  if (!has_streamed_) former_names_ = FormerNames(before, now);
  kafka_cluster_ = known.kafka_cluster;
  slot_was_shared_ = false;
  const bool is_checkpoint = known.by == KnownSource::By::kCheckpoint;
  if ((is_checkpoint && !is_promotion) || CheckpointHasOutlivedPromotion()) {
    return ResumeAtCheckpoint();
  }
  return absl::OkStatus();
}

// The new primary has all that the old one had before the fork. The commit of
// that event has to reappear there (WalContinuityCheck).
bool ContinuityState::CheckpointHasOutlivedPromotion() const {
  return after_promotion_ == AfterPromotion::kAtCheckpoint && checkpoint_ &&
         checkpoint_->system_identifier == observed_.system_identifier &&
         checkpoint_->timeline < observed_.timeline &&
         checkpoint_->position.ordinal > 0 && observed_.fork &&
         checkpoint_->position.commit_lsn < *observed_.fork;
}

// Records in flight across a reconnect are ours, and we know them best. The
// checkpoint may be of an instance that still streams the WAL from before a
// restore.
absl::Status ContinuityState::ResumeAtCheckpoint() {
  if (!progress_.IsDrained()) return absl::OkStatus();
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
  const absl::Status compared = progress_.CompareProgress(confirmed, commit);
  if (!compared.ok()) {
    return Hold({kGapWalForked, std::string(compared.message())});
  }
  progress_.Resume(confirmed, {position, commit.xid, commit.time});
  return absl::OkStatus();
}

absl::Status ContinuityState::Begin(Lsn begins) {
  if (progress_.LacksEvidenceFrom(begins)) {
    must_start_over_ = true;
    return absl::AbortedError(fmt::format(
        "the slot went back to {}, before walpost came to it: starting over",
        begins.ToString()));
  }
  progress_.BeginStream(begins);
  if (is_first_start_) birth_ = begins;
  return absl::OkStatus();
}

BirthRecord ContinuityState::RecordOfBirth(BirthRecord described) {
  coverage_ =
      TakeUp(Coverage::Parse(described.coverage), Coverage()).ToString();
  if (relies_on_record_) described.coverage = coverage_;
  described.added.emplace();
  return described;
}

std::optional<RecordUpdate> ContinuityState::UpdatedRecord(
    const std::string& kafka_cluster, const RecordFence& fence) const {
  if (!record_) return std::nullopt;
  StreamState state;
  state.timeline = timeline_;
  state.kafka_cluster = kafka_cluster;
  state.coverage = coverage_;
  state.listed = Coverage::Parse(observed_.coverage);
  state.slot = observed_.slot->confirmed;
  state.record_is_alone = relies_on_record_;
  state.may_write_record = observed_.may_write_record;
  return UpdateRecord(*record_, state, fence);
}

}  // namespace walpost
