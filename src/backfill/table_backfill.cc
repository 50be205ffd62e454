#include "backfill/table_backfill.h"

#include <algorithm>

#include "backfill/row_content.h"
#include "base/reason_code.h"
#include "base/status_macros.h"
#include "fmt/format.h"

namespace walpost {

TableBackfill::TableBackfill(const OutboxOptions& outbox, Sender& sender,
                             Options options)
    : outbox_(outbox),
      sender_(sender),
      options_(std::move(options)),
      ordinal_(options_.ordinals_after),
      rate_(options_.per_second) {
  sender_.SetTimeline(options_.timeline);
}

// ---- Rounds.

// If the topic of the ledger was deleted, this process knows best.
absl::Status TableBackfill::Load(std::string_view text) {
  progress_ = committed_.value_or(SnapshotProgress());
  if (!text.empty()) {
    WALPOST_ASSIGN_OR_RETURN(SnapshotProgress progress,
                             DecodeSnapshotProgress(text));
    const bool is_ours = progress.begins_at == *options_.ledger;
    progress_ = is_ours ? std::move(progress) : SnapshotProgress();
  }
  progress_.begins_at = *options_.ledger;
  is_loaded_ = true;
  pace_.OnTakeOver();
  recalled_ = progress_;
  source_ = 0;
  is_counted_ = false;
  place_ = ScanCursor();
  all_ = progress_.rows_done + progress_.place.done;
  return absl::OkStatus();
}

void TableBackfill::Begin() {
  blocked_event_.reset();
  status_ = absl::OkStatus();
  phase_ = Phase::kBetweenTables;
}

TableBackfill::Do TableBackfill::Next(MonotonicTime now, bool may_send) {
  now_ = now;
  NoteAcknowledged();
  for (;;) {
    const std::optional<Do> next = Step(now, may_send);
    if (next) return *next;
  }
}

// nullopt: there is another step.
std::optional<TableBackfill::Do> TableBackfill::Step(MonotonicTime now,
                                                     bool may_send) {
  switch (phase_) {
    case Phase::kBetweenTables:
      return FindTable();
    case Phase::kOpening:
      return Do::kOpenTable;
    case Phase::kReading:
      return Read(now, may_send);
    case Phase::kPaused:
      if (!may_send && !is_stopped_) return Do::kWait;
      phase_ = Phase::kReading;
      return std::nullopt;
    case Phase::kSettling:
      return Settle();
    case Phase::kCommitting:
      return Do::kCommit;
    case Phase::kEnded:
      break;
  }
  return Do::kEnd;
}

void TableBackfill::End(absl::Status status) {
  status_ = std::move(status);
  phase_ = Phase::kEnded;
  has_row_ = false;
}

// The next round begins behind the acknowledged rows, so they are settled.
void TableBackfill::Fail(absl::Status reason) {
  const bool is_in_table =
      phase_ != Phase::kBetweenTables && phase_ != Phase::kEnded;
  if (is_in_table && (is_stopped_ || sender_.sink_failure())) {
    return Abandon(std::move(reason));
  }
  End(std::move(reason));
  if (is_in_table) BeginSettling(Then::kEnd);
}

void TableBackfill::OnSinkTrouble(const absl::Status& trouble) {
  if (phase_ == Phase::kSettling) return OnNotSettled(trouble);
  if (phase_ != Phase::kEnded) Abandon(trouble);
}

// Whether the rows since the last commit are committed is not known.
void TableBackfill::Abandon(absl::Status status) {
  is_loaded_ = false;
  End(std::move(status));
}

TableBackfill::Counts TableBackfill::counts() const {
  Counts counts = counts_;
  if (options_.preview == nullptr) {
    counts.set_aside = sender_.counters().set_aside();
    counts.published -= counts.set_aside;
  }
  return counts;
}

// ---- Tables.

bool TableBackfill::IsMeant(const std::string& table) const {
  return options_.tables.empty() ||
         std::ranges::find(options_.tables, table) != options_.tables.end();
}

// Continues the one that an earlier process has begun.
std::optional<TableBackfill::Do> TableBackfill::FindTable() {
  while (source_ < outbox_.tables.size() &&
         (!IsMeant(name()) || progress_.IsDone(name()))) {
    ++source_;
  }
  if (source_ == outbox_.tables.size()) {
    End(absl::OkStatus());
    return std::nullopt;
  }
  if (recalled_ && recalled_->table == name()) {
    place_.Restore(std::move(recalled_->place));
    order_columns_ = std::move(recalled_->order_columns);
    recalled_.reset();
  }
  phase_ = Phase::kOpening;
  return std::nullopt;
}

absl::Status TableBackfill::OnTable(const pgoutput::RelationSchema& schema,
                                    std::vector<std::string> order_columns,
                                    bool may_hold_any_bytes, uint64_t rows) {
  place_.StartScan();
  if (!is_counted_) all_ += rows;
  is_counted_ = true;
  order_columns_ = std::move(order_columns);
  order_indexes_.clear();
  for (const std::string& column : order_columns_) {
    order_indexes_.push_back(schema.FindColumn(column).value());
  }
  WALPOST_ASSIGN_OR_RETURN(
      mapper_,
      TableMapper::Create(outbox_.tables[source_], schema,
                          sender_.builder().routes()[source_].references()));
  if (may_hold_any_bytes) mapper_->RequireUtf8();
  phase_ = Phase::kReading;
  return absl::OkStatus();
}

void TableBackfill::OnTableEnd() { BeginSettling(Then::kNextTable); }

// ---- Rows.

std::optional<TableBackfill::Do> TableBackfill::Read(MonotonicTime now,
                                                     bool may_send) {
  if (is_stopped_) {
    Abandon(absl::CancelledError("told to end"));
  } else if (!may_send) {
    BeginSettling(Then::kPause);
  } else if (has_row_) {
    return Offer(now);
  } else if (options_.ledger && pace_.IsDue(now)) {
    BeginSettling(Then::kRead);
  } else {
    return Do::kRead;
  }
  return std::nullopt;
}

void TableBackfill::OnRow(const pgoutput::TupleData& row, RowOrigin origin,
                          WallTime now) {
  event_ = Event();
  event_.source = source_;
  event_.commit_time = now;
  mapped_ = mapper_->Map(row, event_);
  content_ = ContentOf(row);
  key_ = KeyOf(row, order_indexes_);
  if (left_out_.Has(event_)) return place_.OnRow(key_, content_, ordinal_);
  if (place_.WasAcknowledged(key_, content_)) return;
  const bool is_left_out = LeavesOut(origin);
  const absl::StatusOr<bool> wanted =
      is_left_out ? absl::StatusOr<bool>(false) : IsWanted();
  if (!wanted.ok()) return Fail(wanted.status());
  if (*wanted && origin == RowOrigin::kUnknown) return Fail(UnknownOrigin());
  ++counts_.rows;
  if (!*wanted) return Handled();
  if (options_.preview != nullptr) {
    const absl::Status previewed = Preview();
    return previewed.ok() ? Handled() : Fail(previewed);
  }
  ++counts_.published;
  is_refused_ = refused_row_ && refused_row_->first == content_;
  if (is_refused_) mapped_ = refused_row_->second;
  event_.position = {Lsn(), ordinal_ + 1};
  has_row_ = true;
}

std::optional<TableBackfill::Do> TableBackfill::Offer(MonotonicTime now) {
  if (!rate_.MayTake(now)) return Do::kWait;
  if (sender_.OnEvent(event_, mapped_) == Sender::Offer::kBackpressure) {
    const absl::Status health = Health();
    if (health.ok()) return Do::kWait;
    Fail(health);
    return std::nullopt;
  }
  ordinal_ = event_.position.ordinal;
  rate_.Take(now);
  last_position_ = event_.position;
  last_id_ = event_id();
  last_content_ = content_;
  if (is_refused_) refused_row_.reset();
  Handled();
  has_row_ = false;
  return std::nullopt;
}

void TableBackfill::Handled() {
  place_.OnRow(key_, content_, ordinal_);
  if (options_.ledger) {
    pace_.OnRow(event_.payload ? event_.payload->size() : 0, now_);
  }
}

absl::Status TableBackfill::UnknownOrigin() const {
  return absl::FailedPreconditionError(fmt::format(
      "row {} of table {}: with postgres.origin: none, rows that were "
      "replicated are left out, and the origin of this one is not known: {}. "
      "To publish rows whatever their origin, add --set postgres.origin=any "
      "to the command; walpost replay -c FILE --from-table --where CONDITION "
      "chooses them",
      event_.id.value_or("(no id)"), name(), kWhyOriginIsUnknown));
}

bool TableBackfill::LeavesOut(RowOrigin origin) {
  if (origin == RowOrigin::kOther) {
    ++counts_.other_origin;
    ReportRow("other_origin");
    return true;
  }
  if (!options_.on_record) return false;
  const std::optional<Disposition> fate = options_.on_record->Find(event_);
  if (!fate) return false;
  counts_.left_out.Add(*fate);
  ReportRow(ToString(*fate));
  return true;
}

void TableBackfill::ReportRow(std::string_view what) const {
  if (options_.on_row) options_.on_row(event_, what);
}

absl::StatusOr<bool> TableBackfill::IsWanted() {
  absl::Status routed = mapped_;
  if (mapped_.ok() && options_.is_wanted) {
    routed = sender_.builder().routes()[source_].topic().Expand(
        event_.references, topic_);
  }
  if (routed.ok()) {
    return options_.is_wanted ? options_.is_wanted(event_, topic_) : true;
  }
  if (!absl::IsInvalidArgument(routed)) return routed;
  if (sender_.Passes(routed)) return true;
  return Undeliverable({Position(), event_id(), routed});
}

// Nothing is parked here, and no dead letter stored in Postgres.
bool TableBackfill::IsSetAside(const absl::Status& reason) {
  switch (options_.on_error.For(reason)) {
    case ErrorAction::kSkip:
      return true;
    case ErrorAction::kDeadLetter:
      return options_.preview
          ->BuildDeadLetter(event_, reason, options_.timeline)
          .ok();
    case ErrorAction::kStop:
    case ErrorAction::kPark:
      return false;
  }
  return false;
}

// Counts the row as its offer would.
absl::Status TableBackfill::Preview() {
  absl::Status built = mapped_;
  if (built.ok()) {
    built = options_.preview->Build(event_, options_.timeline).status();
  }
  if (built.ok()) {
    ++counts_.published;
    ReportRow("to be published");
    return built;
  }
  if (!IsSetAside(built)) return Undeliverable({Position(), event_id(), built});
  ++counts_.set_aside;
  ReportRow("not deliverable");
  return absl::OkStatus();
}

// The current row, or one in flight, cannot be delivered.
absl::Status TableBackfill::Undeliverable(BlockedEvent stoppage) {
  const std::string code = ReasonCodeOf(stoppage.reason);
  const bool has_class = FindErrorClass(code) < kErrorClasses.size();
  const std::string text = fmt::format(
      "row {} of table {} cannot be delivered: {}{}", stoppage.event_id, name(),
      std::string(stoppage.reason.message()),
      has_class ? fmt::format("; on_error.{}: skip leaves such rows out (for "
                              "one command: --set on_error.{}=skip)",
                              code, code)
                : "");
  stoppage.reason = WithReasonCode(absl::InvalidArgumentError(text), code);
  stoppage.table = name();
  blocked_event_ = std::move(stoppage);
  return blocked_event_->reason;
}

absl::Status TableBackfill::Health() {
  if (is_stopped_) return absl::CancelledError("told to end");
  if (sender_.stoppage()) return Undeliverable(*sender_.stoppage());
  // An earlier record than the last is found again by its suspects.
  const std::optional<RejectedRecord>& refused = sender_.refused();
  if (refused && refused->position == last_position_ &&
      (refused->is_of_dead_letter || !sender_.Passes(refused->reason))) {
    return Undeliverable({last_position_, last_id_, refused->reason});
  }
  return sender_.sink_failure().value_or(absl::OkStatus());
}

// ---- What was sent is acknowledged, and with a ledger committed.

void TableBackfill::BeginSettling(Then then) {
  then_ = then;
  phase_ = Phase::kSettling;
}

// With a ledger, the rows before one that stops the flow are committed, too,
// unless the sink has failed at it.
std::optional<TableBackfill::Do> TableBackfill::Settle() {
  const bool needs_sink = options_.ledger || !sender_.IsDrained();
  const bool may_commit =
      options_.ledger && !is_stopped_ && !sender_.sink_failure();
  const absl::Status health =
      needs_sink && !may_commit ? Health() : absl::OkStatus();
  if (!health.ok()) {
    OnNotSettled(health);
  } else if (!sender_.IsDrained()) {
    return Do::kWait;
  } else if (options_.ledger) {
    MakeLedger();
  } else {
    OnSettled();
  }
  return std::nullopt;
}

// The watermark of rows without a record is reached when those before it are.
void TableBackfill::NoteAcknowledged() {
  if (options_.ledger) return;
  sender_.AddWatermark(ordinal_);
  place_.OnAcknowledged(sender_.window().passed_watermark());
}

void TableBackfill::MakeLedger() {
  committing_place_ = place_;
  committing_place_.OnAcknowledged(ordinal_);
  committing_ = progress_;
  committing_.table.clear();
  committing_.place = {};
  committing_.order_columns.clear();
  if (then_ == Then::kNextTable) {
    committing_.AddDone(name(), committing_place_.done());
  } else {
    committing_.table = name();
    committing_.place = committing_place_.state();
    committing_.order_columns = order_columns_;
  }
  phase_ = Phase::kCommitting;
}

void TableBackfill::OnCommitted(const absl::Status& status) {
  if (!status.ok()) return OnNotSettled(status);
  committed_ = committing_;
  place_ = std::move(committing_place_);
  pace_.OnCommitted();
  OnSettled();
}

void TableBackfill::OnSettled() {
  switch (then_) {
    case Then::kRead:
      phase_ = Phase::kReading;
      return;
    case Then::kPause:
      phase_ = Phase::kPaused;
      return;
    case Then::kNextTable:
      progress_.AddDone(name(), place_.done());
      place_ = ScanCursor();
      order_columns_.clear();
      is_counted_ = false;
      phase_ = Phase::kBetweenTables;
      return;
    case Then::kEnd:
      phase_ = Phase::kEnded;
      return;
  }
}

// A row that cannot be delivered says more than a sink in trouble.
void TableBackfill::OnNotSettled(const absl::Status& reason) {
  const bool is_blocked = then_ == Then::kEnd && blocked_event_.has_value();
  Abandon(is_blocked ? status_ : reason);
}

bool TableBackfill::has_rejected_rows() const {
  return !status_.ok() && !is_stopped_ && !blocked_event_ &&
         (sender_.refused() || sender_.has_suspects());
}

void TableBackfill::OnSinkReplaced() {
  const std::optional<RejectedRecord> refused = sender_.refused();
  const bool was_refused = refused || sender_.has_suspects();
  NoteAcknowledged();
  is_loaded_ = false;
  sender_.StartOver();
  if (refused && refused->position == last_position_ &&
      !refused->is_of_dead_letter && sender_.Passes(refused->reason)) {
    refused_row_ = {last_content_, refused->reason};
  } else if (was_refused) {
    // They are read again, with the next positions.
    const uint64_t suspects = place_.pending() + 1;
    sender_.Suspect({Lsn(), ordinal_ + 1}, {Lsn(), ordinal_ + suspects});
  }
  // Watermarks of the next sink say nothing about rows of this one.
  place_.StartScan();
}

}  // namespace walpost
