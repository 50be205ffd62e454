// What a SourceSetup knows from before, and whether there is a gap.
#include "base/reason_code.h"
#include "delivery/coverage.h"
#include "fmt/format.h"
#include "postgres/source_setup.h"
#include "spdlog/spdlog.h"

namespace walpost {

namespace asio = boost::asio;

// What is known from before; the checkpoint knows of other instances, too, but
// not of a promotion that was followed already.
KnownSource SourceSetup::Known() const {
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
  } else if (birth_record_) {
    known.by = By::kBirthRecord;
    known.system_identifier = birth_record_->system_identifier;
    known.timeline = birth_record_->timeline;
    known.birth = birth_record_->consistent_point;
  }
  if (known.by != By::kNothing) AddEvidence(known);
  return known;
}

// The newest word counts; what is empty is not on record there.
void SourceSetup::AddEvidence(KnownSource& known) const {
  known.slot_was_shared = slot_was_shared_;
  known.coverage = coverage_;
  if (checkpoint_) {
    known.coverage = MergeCoverage(known.coverage, checkpoint_->coverage);
    known.kafka_cluster = checkpoint_->kafka_cluster;
  }
  if (birth_record_) {
    known.coverage = MergeCoverage(known.coverage, birth_record_->coverage);
    if (known.kafka_cluster.empty()) {
      known.kafka_cluster = birth_record_->kafka_cluster;
    }
  }
}

bool SourceSetup::IsOvertakenByPromotion() const {
  return has_streamed_ && observed_.timeline > timeline_ &&
         observed_.system_identifier == system_identifier_;
}

// What is in memory is of a WAL that has forked, whoever followed it first.
absl::Status SourceSetup::FollowPromotion() {
  const std::string text = fmt::format(
      "the server is on timeline {} now, and walpost was on {}: starting over",
      observed_.timeline, timeline_);
  timeline_ = observed_.timeline;
  pipeline_.SetTimeline(timeline_);
  must_start_over_ = true;
  return absl::AbortedError(text);
}

// An operator has recovered or accepted the gap: what this process knows is of
// another life of the slot.
bool SourceSetup::GapIsOver() {
  std::optional<std::string_view> in_checkpoint;
  if (checkpoint_) in_checkpoint = checkpoint_->gap;
  std::optional<std::string_view> on_record;
  if (birth_record_) on_record = birth_record_->gap;
  if (!latch_.Observe(in_checkpoint, on_record)) return false;
  has_streamed_ = false;
  coverage_.clear();
  must_start_over_ = true;
  return true;
}

// In place of a record that somebody has wiped out: it proves nothing.
BirthRecord SourceSetup::WhatIsKnown() const {
  BirthRecord record;
  record.slot = options_.slot;
  record.consistent_point = birth_;
  record.system_identifier = system_identifier_;
  record.timeline = timeline_;
  record.coverage = coverage_;
  record.kafka_cluster = kafka_cluster_;
  return record;
}

// Names the gap, here and on record, where our role may write it.
asio::awaitable<absl::Status> SourceSetup::Hold(Gap gap) {
  latch_.Close(gap);
  if (system_identifier_.empty()) {
    system_identifier_ = observed_.system_identifier;
    timeline_ = observed_.timeline;
    birth_ = Known().birth;
  }
  const bool is_ours = observed_.system_identifier == system_identifier_;
  const bool is_on_record = birth_record_ && !birth_record_->gap.empty();
  if (is_ours && !is_on_record) {
    BirthRecord record = birth_record_.value_or(WhatIsKnown());
    record.gap = latch_.gap()->code;
    const absl::Status written =
        co_await WriteBirthRecord(*connection_, options_.publication, record);
    if (!written.ok()) {
      spdlog::debug("the gap is not on record: {}",
                    std::string(written.message()));
    }
  }
  co_return StatusOfGap(*latch_.gap());
}

asio::awaitable<absl::Status> SourceSetup::Continue() {
  if (GapIsOver()) {
    const std::string text = "an operator has ended the gap: starting over";
    co_return absl::AbortedError(text);
  }
  if (latch_.gap()) {
    const Gap gap = *latch_.gap();
    co_return co_await Hold(gap);
  }
  const KnownSource known = Known();
  const Continuity continuity =
      JudgeContinuity(known, observed_, options_.slot);
  is_first_start_ = continuity.kind == Continuity::Kind::kFirstStart;
  if (continuity.gap == kGapSlotAdvanced &&
      std::exchange(suspected_after_, known.confirmed) != known.confirmed) {
    const std::string text =
        "the slot is ahead of what is known: looking again, in case another "
        "instance was just writing both";
    co_return absl::UnavailableError(text);
  }
  if (continuity.kind == Continuity::Kind::kGap) {
    const Gap gap{continuity.gap, continuity.text};
    co_return co_await Hold(gap);
  }
  co_return GoOn(known, continuity);
}

absl::Status SourceSetup::GoOn(const KnownSource& known,
                               const Continuity& continuity) {
  birth_ = known.birth;
  const bool is_promotion =
      continuity.kind == Continuity::Kind::kFollowPromotion;
  if (is_promotion) spdlog::warn("{}", continuity.text);
  if (IsOvertakenByPromotion()) return FollowPromotion();
  system_identifier_ = observed_.system_identifier;
  timeline_ = observed_.timeline;
  pipeline_.SetTimeline(timeline_);
  coverage_ = MergeCoverage(observed_.coverage, known.coverage);
  known_kafka_cluster_ = known.kafka_cluster;
  slot_was_shared_ = false;
  if (known.by == KnownSource::By::kCheckpoint && !is_promotion) {
    ResumeAtCheckpoint();
  }
  return absl::OkStatus();
}

// What is in flight over a reconnect belongs to us, and we know best.
void SourceSetup::ResumeAtCheckpoint() {
  if (!pipeline_.window().empty()) return;
  const Position& position = checkpoint_->position;
  if (position == Position()) return;  // nothing was sent yet
  pipeline_.Resume(
      checkpoint_->confirmed, position,
      {position.commit_lsn, checkpoint_->commit_xid, checkpoint_->commit_time});
}

}  // namespace walpost
