#include "sim/simulated_backfill.h"

#include <cstdlib>

#include "base/check.h"
#include "base/reason_code.h"
#include "outbox/event_digest.h"

namespace walpost::sim {
namespace {

constexpr uint64_t kMaxTurnsToEnd = 300;
constexpr size_t kMaxPortion = 3;

absl::Status Lost() { return absl::UnavailableError("the session is lost"); }

}  // namespace

absl::Status SimulatedBackfill::Sink::Produce(const walpost::Record& record,
                                              Sequence sequence) {
  World& world = owner_.world_;
  if (world.random.OneIn(30)) return absl::ResourceExhaustedError("full");
  const std::string value(record.value.value_or(""));
  const TableRow& row =
      owner_.read_.at(std::strtoull(value.c_str(), nullptr, 10));
  owner_.brokers_.OnProduced(owner_.may_send_);
  const bool is_letter = record.topic == "walpost.dead-letter";
  const bool is_known = owner_.known_.contains(row.id);
  if (is_known && row.version == 0) owner_.brokers_.OnSentAgain(row.id);
  world.Note(owner_.instance_, "sends row {}", row.id);
  const size_t partition =
      static_cast<size_t>(row.key) % RowProducer::kPartitions;
  owner_.run_->producer->requests[partition].push_back(
      {sequence, row, is_letter});
  owner_.in_flight_.push_back({sequence, row.id, false});
  return absl::OkStatus();
}

SimulatedBackfill::Run::Run(SimulatedBackfill& owner,
                            const SimulatedTable::Slot& of_slot)
    : slot(of_slot),
      sink(owner),
      outbox(SimulatedTable::Outbox()),
      sender(RecordBuilder::Create(outbox).value(),
             {.max_records = owner.world_.random.Between(1, 6)}),
      rows(outbox, sender, [&owner, &of_slot] {
        TableBackfill::Options options;
        options.on_error = owner.on_error_;
        if (owner.brokers_.has_transactions()) {
          options.ledger = Lsn(of_slot.begins_at);
        }
        return options;
      }()) {
  sender.SetErrorActions(owner.on_error_, [&owner](const DivertedEvent& event) {
    if (event.action != ErrorAction::kSkip) return;
    owner.brokers_.OnSkipped(
        std::strtoull(event.event_id.c_str(), nullptr, 10));
  });
}

SimulatedBackfill::SimulatedBackfill(World& world, SimulatedTable& table,
                                     BackfillBrokers& brokers,
                                     ErrorActions on_error, int instance)
    : world_(world),
      table_(table),
      brokers_(brokers),
      on_error_(on_error),
      instance_(instance),
      flow_({true, brokers.has_transactions()}) {
  flow_.Begin();
}

// What is on its way may still arrive.
SimulatedBackfill::~SimulatedBackfill() {
  if (run_ && run_->producer) run_->producer->is_abandoned = true;
  table_.Release(session_);
}

void SimulatedBackfill::LoseSession() {
  world_.Note(instance_, "loses its session");
  table_.Release(session_);
  is_lost_ = true;
}

void SimulatedBackfill::FailSink() {
  if (!run_ || !run_->producer) return;
  run_->sender.OnSinkFailed(absl::AbortedError("fatal"));
}

void SimulatedBackfill::Stop() {
  world_.Note(instance_, "is told to end");
  is_stopping_ = true;
  flow_.Stop();
  if (run_) run_->rows.Stop();
  LoseSession();
}

void SimulatedBackfill::Turn(bool may_send) {
  if (has_ended_ || (is_through() && !is_stopping_)) return;
  if (is_stopping_ && ++turns_since_stop_ > kMaxTurnsToEnd) {
    return brokers_.OnLateEnd();
  }
  may_send_ = may_send;
  const SnapshotFlow::Do next = flow_.Next();
  if (CarryOut()) return;
  const bool reads = next != SnapshotFlow::Do::kAwaitSink &&
                     next != SnapshotFlow::Do::kAwaitOperator &&
                     next != SnapshotFlow::Do::kReplaceSink;
  if (is_lost_) flow_.OnConnectionLost();
  flow_.On(reads ? Connected() : absl::OkStatus());
}

// True: the flow has been told what has become of it.
bool SimulatedBackfill::CarryOut() {
  using Do = SnapshotFlow::Do;
  switch (flow_.Next()) {
    case Do::kOpen:
      Open();
      return true;
    case Do::kBegin:
      Begin();
      return true;
    case Do::kPublish:
      Publish();
      return true;
    case Do::kRecord:
      Record();
      return true;
    case Do::kReturn:
      Return();
      return true;
    case Do::kPrepare:
      Prepare();
      return false;
    case Do::kSurvey:
      Survey();
      return false;
    case Do::kReadOnRecord:
      ReadOnRecord();
      return false;
    case Do::kAwaitOperator:
      table_.Release(session_);
      is_stuck_ = true;
      return !is_stopping_ && !world_.random.OneIn(20);
    case Do::kReplaceSink:
      CloseSink();
      OpenSink();
      return false;
    case Do::kAwaitSink:
    case Do::kCheckLock:
    case Do::kEndTransaction:
      return false;
  }
  return false;
}

absl::Status SimulatedBackfill::Connected() const {
  const bool has_lock = !is_lost_ && table_.IsLockedBy(session_);
  return has_lock ? absl::OkStatus() : Lost();
}

void SimulatedBackfill::Open() {
  is_stuck_ = false;
  table_.Release(session_);
  if (is_stopping_ || world_.random.OneIn(20)) return flow_.On(Lost());
  session_ = world_.step;
  is_lost_ = false;
  seen_ = table_.slot();
  history_ = SlotHistory::kUnused;
  if (seen_.number == 0) {
    history_ = SlotHistory::kNone;
  } else if (seen_.was_streamed || seen_.all_published) {
    history_ = SlotHistory::kUsed;
  } else if (!seen_.has_birth) {
    history_ = SlotHistory::kUnknown;
  }
  flow_.OnOpened(history_, /*has_new_tables=*/false);
}

// The slot is made, its birth recorded, and the rows shown at one time: what
// commits later is in the stream.
void SimulatedBackfill::Begin() {
  const bool is_new = history_ == SlotHistory::kNone;
  const bool is_there = table_.slot().number != 0;
  const bool may_begin = !is_lost_ && table_.Lock(session_);
  if (!may_begin || is_new == is_there) return flow_.On(Lost());
  if (is_new) {
    world_.Note(instance_, "makes the slot");
    table_.MakeSlot();
    seen_ = table_.slot();
    made_ = seen_.number;
    if (world_.random.OneIn(6)) LoseSession();
  }
  if (is_lost_) return flow_.On(Lost());
  if (history_ == SlotHistory::kUnknown && seen_.number != made_) {
    return flow_.On(absl::FailedPreconditionError("is it used?"));
  }
  if (table_.slot().number == seen_.number) table_.slot().has_birth = true;
  shown_ = table_.Show();
  visible_before_ = table_.now();
  flow_.OnBegun(is_new ? SnapshotFlow::Shows::kAllBeforeSlot
                       : SnapshotFlow::Shows::kPresent);
}

void SimulatedBackfill::Prepare() {
  if (run_ && run_->slot.number == seen_.number) return;
  if (run_) {
    flow_.OnOtherSlot();
    CloseSink();
  }
  known_.clear();
  run_.emplace(*this, seen_);
  OpenSink();
}

Event SimulatedBackfill::EventOf(const TableRow& row) {
  if (mapper_ == nullptr) {
    const std::vector<std::string> references = {"aggregate_type"};
    mapper_ = TableMapper::Create(SimulatedTable::Outbox().tables[0],
                                  SimulatedTable::Schema(), references)
                  .value();
  }
  Event event;
  event.source = row.table;
  row_.emplace(SimulatedTable::Cells(row));
  WALPOST_CHECK(mapper_->Map(row_->row(), event).ok());
  return event;
}

void SimulatedBackfill::Survey() {
  EventSet streamed;
  for (const auto& [id, row] : table_.rows()) {
    const bool is_pending =
        row.stamp > seen_.begins_at && row.stamp <= visible_before_;
    if (is_pending) streamed.Add(EventOf(row));
  }
  if (streamed.size() > 0) world_.Note(instance_, "leaves rows to the stream");
  run_->rows.SetLeftOut(std::move(streamed));
}

void SimulatedBackfill::ReadOnRecord() {
  const std::vector<std::string> sources = {"public.outbox", "public.orders"};
  EventsOnRecord on_record(sources);
  for (const uint64_t id : brokers_.letters()) {
    const auto found = table_.rows().find(id);
    const bool is_known =
        history_ != SlotHistory::kNone && found != table_.rows().end();
    if (!is_known) continue;
    const TableRow& row = found->second;
    on_record.Add({Disposition::kDeadLetter,
                   EventDigest(sources[row.table], EventOf(row)), Lsn()});
  }
  run_->rows.SetOnRecord(std::move(on_record));
}

// ---- Rows.

bool SimulatedBackfill::sink_failed() const {
  return run_->sender.sink_failure() || !run_->trouble.ok();
}

void SimulatedBackfill::Publish() {
  using Do = TableBackfill::Do;
  TableBackfill& rows = run_->rows;
  if (!run_->has_begun) rows.Begin();
  run_->has_begun = true;
  if (commit_ != nullptr) return Commit();
  if (rows.needs_ledger()) return OpenLedger();
  switch (rows.Next(world_.now, may_send_)) {
    case Do::kOpenTable:
      return OpenTable();
    case Do::kRead:
      return Read();
    case Do::kWait:
      if (world_.random.OneIn(500)) {
        run_->trouble = absl::UnavailableError("silence");
      }
      if (sink_failed()) {
        rows.OnSinkTrouble(absl::UnavailableError("the sink has failed"));
      }
      return;
    case Do::kCommit:
      return Commit();
    case Do::kEnd:
      return EndRound();
  }
}

void SimulatedBackfill::EndRound() {
  run_->has_begun = false;
  const bool is_blocked = run_->rows.stoppage().has_value();
  if (is_blocked) world_.Note(instance_, "stops before a row");
  if (is_lost_) flow_.OnConnectionLost();
  flow_.OnPublished(run_->rows.status(), is_blocked, sink_failed());
}

void SimulatedBackfill::OpenLedger() {
  if (sink_failed() || world_.random.OneIn(20)) {
    run_->trouble = absl::UnavailableError("no coordinator");
    run_->has_begun = false;
    return flow_.OnPublished(run_->trouble, false, true);
  }
  brokers_.coordinator().Init(run_->producer->number);
  WALPOST_CHECK(run_->rows.Load(brokers_.ledger()).ok());
  if (run_->rows.all() > 0) world_.Note(instance_, "continues behind others");
}

void SimulatedBackfill::OpenTable() {
  const absl::Status connected = Connected();
  if (!connected.ok()) return run_->rows.Fail(connected);
  std::optional<int> from;
  const ScanCursor::Key* key = run_->rows.key();
  if (key != nullptr && !key->empty()) {
    const std::optional<std::string>& text = key->front();
    from = text ? std::atoi(text->c_str()) : INT32_MAX;
    world_.Note(instance_, "scans from a place on");
  }
  scan_ = table_.Scan(shown_, run_->rows.table(), from);
  next_row_ = portion_end_ = 0;
  const absl::Status opened = run_->rows.OnTable(SimulatedTable::Schema(),
                                                 {"seq"}, false, scan_.size());
  WALPOST_CHECK(opened.ok());
}

void SimulatedBackfill::Read() {
  const absl::Status connected = Connected();
  if (next_row_ == portion_end_ && !connected.ok()) {
    return run_->rows.Fail(connected);
  }
  if (next_row_ == scan_.size()) return run_->rows.OnTableEnd();
  if (next_row_ == portion_end_) {
    const size_t rows = world_.random.Between(1, kMaxPortion);
    portion_end_ = std::min(scan_.size(), portion_end_ + rows);
  }
  const TableRow& row = scan_[next_row_++];
  read_.insert_or_assign(row.id, row);
  world_.Note(instance_, "reads row {} at {}", row.id,
              static_cast<uint64_t>(row.place()));
  row_.emplace(SimulatedTable::Cells(row));
  run_->rows.OnRow(row_->row(), RowOrigin::kOwn, WallTime());
}

void SimulatedBackfill::Commit() {
  using Outcome = SimulatedCoordinator::Outcome;
  if (commit_ == nullptr) {
    commit_ = brokers_.coordinator().Send(
        run_->producer->number,
        [&ledger = brokers_.ledger(), text = run_->rows.ledger()] {
          ledger = text;
        });
    return;
  }
  if (commit_->outcome == Outcome::kNone && !is_stopping_) return;
  absl::Status status;
  if (commit_->outcome == Outcome::kFenced) {
    status = absl::AbortedError("fenced");
  } else if (commit_->outcome != Outcome::kCommitted) {
    status = absl::UnavailableError("no answer");
  }
  commit_.reset();
  run_->trouble = status;
  run_->rows.OnCommitted(status);
}

// ---- The producer.

void SimulatedBackfill::OpenSink() {
  run_->producer = brokers_.Open(run_->slot);
  run_->trouble = absl::OkStatus();
  run_->sender.SetSink(&run_->sink);
}

// Reports what it can; the rest may still arrive.
void SimulatedBackfill::CloseSink() {
  world_.Note(instance_, "replaces its producer");
  RowProducer& producer = *run_->producer;
  while (!producer.answers.empty()) Report();
  producer.is_abandoned = true;
  run_->sender.SetSink(nullptr);
  for (const auto& queue : producer.requests) {
    for (const RowProducer::Request& request : queue) {
      run_->sender.OnNotDelivered(request.sequence,
                                  absl::AbortedError("purged"));
    }
  }
  run_->rows.OnSinkReplaced();
  in_flight_.clear();
  commit_.reset();
}

void SimulatedBackfill::Report() {
  using Answer = RowProducer::Answer;
  if (!run_ || !run_->producer || run_->producer->answers.empty()) return;
  const auto [request, answer] = run_->producer->answers.front();
  run_->producer->answers.pop_front();
  switch (answer) {
    case Answer::kWritten:
      run_->sender.OnAcknowledged(request.sequence, WallTime());
      for (Sent& sent : in_flight_) {
        if (sent.sequence == request.sequence) sent.is_acknowledged = true;
      }
      return Known();
    case Answer::kTooLarge:
      world_.Note(instance_, "row {} is too large", request.row.id);
      return run_->sender.OnNotDelivered(
          request.sequence, Undeliverable(kReasonRecordTooLarge, "too large"));
    case Answer::kNotWritten:
      return run_->sender.OnNotDelivered(request.sequence,
                                         absl::AbortedError("gapless"));
  }
}

void SimulatedBackfill::Known() {
  while (!in_flight_.empty() && in_flight_.front().is_acknowledged) {
    if (!brokers_.has_transactions()) known_.insert(in_flight_.front().row);
    in_flight_.pop_front();
  }
}

// ---- The end.

void SimulatedBackfill::Record() {
  const bool is_answered = !is_lost_ && !world_.random.OneIn(15);
  if (!is_answered) return flow_.On(absl::UnavailableError("no answer"));
  SimulatedTable::Slot& slot = table_.slot();
  if (slot.number != run_->slot.number) {
    world_.Note(instance_, "sees another slot");
    return flow_.On(absl::AbortedError("another slot"));
  }
  brokers_.OnRecord();
  if (world_.random.OneIn(8)) {
    return flow_.On(absl::PermissionDeniedError("not the owner"));
  }
  slot.all_published = true;
  flow_.On(absl::OkStatus());
}

void SimulatedBackfill::Return() {
  table_.Release(session_);
  if (is_stopping_) {
    world_.Note(instance_, "ends");
    has_ended_ = true;
    return;
  }
  is_stuck_ = !absl::IsUnavailable(flow_.status());
  if (!is_stuck_ || world_.random.OneIn(20)) flow_.Begin();
}

}  // namespace walpost::sim
