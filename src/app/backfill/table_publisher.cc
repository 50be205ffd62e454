#include "app/backfill/table_publisher.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "absl/strings/str_join.h"
#include "app/backfill/row_content.h"
#include "base/reason_code.h"
#include "base/session_settings.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "postgres/catalog/column_order.h"
#include "postgres/connect/quote.h"

namespace walpost {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

namespace {

// Maximum time until we check again for room.
constexpr milliseconds kPause{50};

SinkOptions SinkOptionsOf(const TablePublisher::Options& options) {
  SinkOptions sink;
  if (options.ledger != nullptr) {
    sink.transactional_id = options.ledger->transactional_id();
  }
  return sink;
}

}  // namespace

absl::StatusOr<std::unique_ptr<TablePublisher>> TablePublisher::Create(
    asio::any_io_executor executor, const Config& config, SinkFactory sinks,
    Options options) {
  OutboxOptions outbox = config.outbox;
  // Without a place in the order of commits there is no position.
  if (!options.before.is_valid()) outbox.route.position_header = false;
  WALPOST_ASSIGN_OR_RETURN(std::unique_ptr<RecordBuilder> builder,
                           RecordBuilder::Create(outbox));
  options.mark.lsn =
      options.before.is_valid() ? Lsn(options.before.value() - 1) : Lsn(1);
  builder->SetMark(options.mark);
  std::unique_ptr<TablePublisher> publisher(
      new TablePublisher(executor, config, std::move(sinks), std::move(options),
                         std::move(builder)));
  if (publisher->options_.dry_run) {
    WALPOST_ASSIGN_OR_RETURN(publisher->preview_,
                             RecordBuilder::Create(outbox));
  } else {
    WALPOST_RETURN_IF_ERROR(publisher->run_.Start());
  }
  return publisher;
}

TablePublisher::TablePublisher(asio::any_io_executor executor,
                               const Config& config, SinkFactory sinks,
                               Options options,
                               std::unique_ptr<RecordBuilder> builder)
    : config_(config),
      options_(std::move(options)),
      run_(executor, std::move(builder), std::move(sinks),
           {config.window, SinkOptionsOf(options_), options_.silence_limit,
            config.on_error},
           nullptr),
      ordinal_(options_.ordinals_after),
      rate_(options_.per_second) {
  run_.sender().SetTimeline(options_.timeline);
}

asio::awaitable<absl::StatusOr<TablePublisher::Counts>> TablePublisher::Publish(
    Connection& connection) {
  absl::StatusOr<Counts> counts = co_await Continue(connection);
  co_await Close(Clock::now());
  co_return counts;
}

asio::awaitable<absl::StatusOr<TablePublisher::Counts>>
TablePublisher::Continue(Connection& connection) {
  blocked_event_.reset();
  absl::Status status = co_await OpenLedger();
  if (!status.ok()) co_return status;
  status = co_await ContinueTables(connection);
  // The next scan begins after the acknowledged rows, so wait for them.
  if (!status.ok() && !sink_failed() && !stopped_) {
    const absl::Status settled = co_await Settle();
    if (!settled.ok() && !blocked_event_) status = settled;
  }
  if (!status.ok()) co_return status;
  CountSetAside();
  co_return counts_;
}

// What the sender has set aside is not published.
void TablePublisher::CountSetAside() {
  if (options_.dry_run) return;
  const uint64_t set_aside = run_.sender().counters().set_aside();
  counts_.published -= set_aside - counts_.set_aside;
  counts_.set_aside = set_aside;
}

asio::awaitable<absl::Status> TablePublisher::ContinueTables(
    Connection& connection) {
  for (; source_ < config_.outbox.tables.size(); ++source_) {
    const std::string& table = config_.outbox.tables[source_].name;
    if (!IsMeant(table) || progress_.IsDone(table)) continue;
    WALPOST_CO_RETURN_IF_ERROR(co_await PublishTable(connection));
    progress_.tables_done.push_back(table);
    progress_.rows_done += place_.done();
    place_ = ScanCursor();
    order_columns_.clear();
    counted_ = false;
    WALPOST_CO_RETURN_IF_ERROR(co_await Settle());
  }
  co_return absl::OkStatus();
}

bool TablePublisher::IsMeant(const std::string& table) const {
  return options_.tables.empty() ||
         std::ranges::find(options_.tables, table) != options_.tables.end();
}

// From the place of the last scan to the end of the table.
asio::awaitable<absl::Status> TablePublisher::PublishTable(
    Connection& connection) {
  RecallPlace();
  WALPOST_CO_RETURN_IF_ERROR(co_await ReadOrderTypes(connection));
  const TableFilter filter = FilterFromPlace(connection);
  const auto scan = std::make_unique<TableScan>(
      connection, config_.outbox.tables[source_], filter);
  absl::Status status = co_await OpenScan(*scan);
  if (status.ok() && MayHoldAnyBytes(connection.server_encoding())) {
    mapper_->RequireUtf8();
  }
  while (status.ok()) {
    WALPOST_CO_ASSIGN_OR_RETURN(const size_t rows, co_await scan->Fetch());
    if (rows == 0) break;
    status = co_await PublishPortion(*scan, rows);
  }
  if (status.ok()) status = co_await Settle();
  // The transaction may continue, and needs the cursor's name again.
  const absl::Status closed = co_await scan->Close();
  co_return status.ok() ? closed : status;
}

asio::awaitable<absl::Status> TablePublisher::OpenScan(TableScan& scan) {
  place_.StartScan();
  WALPOST_CO_RETURN_IF_ERROR(co_await scan.Open());
  if (!counted_) {
    WALPOST_CO_ASSIGN_OR_RETURN(const uint64_t count, co_await scan.Count());
    all_ += count;
    counted_ = true;
  }
  order_columns_ = scan.order_columns();
  order_indexes_.clear();
  for (const std::string& column : order_columns_) {
    order_indexes_.push_back(scan.schema().FindColumn(column).value());
  }
  co_return MakeMapper(scan.schema());
}

// A literal without a type is not read as a composite one.
asio::awaitable<absl::Status> TablePublisher::ReadOrderTypes(
    Connection& connection) {
  const std::string& table = config_.outbox.tables[source_].name;
  order_types_.clear();
  if (place_.key() == nullptr) co_return absl::OkStatus();
  for (const std::string& column : order_columns_) {
    WALPOST_CO_ASSIGN_OR_RETURN(std::string type,
                                co_await ReadTypeOf(connection, table, column));
    order_types_.push_back(std::move(type));
  }
  co_return absl::OkStatus();
}

// Selects the rows that the last scan did not reach; the first rows may repeat
// its last ones. NULLs come last, and a comparison with them is not true.
TableFilter TablePublisher::FilterFromPlace(Connection& connection) const {
  TableFilter filter = options_.filter;
  filter.with_origin = config_.outbox.origin == OriginFilter::kNone;
  const ScanCursor::Key* key = place_.key();
  if (key == nullptr || key->empty()) return filter;
  std::vector<std::string> columns;
  std::vector<std::string> values;
  for (size_t i = 0; i < key->size() && (*key)[i]; ++i) {
    columns.push_back(QuoteName(order_columns_[i]));
    values.push_back(
        fmt::format("{}::{}", connection.Literal(*(*key)[i]), order_types_[i]));
  }
  std::string rest = QuoteName(order_columns_.front()) + " IS NULL";
  if (!columns.empty()) {
    rest =
        fmt::format("(({}) < ({})) IS NOT TRUE", absl::StrJoin(columns, ", "),
                    absl::StrJoin(values, ", "));
  }
  filter.where = filter.where.empty()
                     ? rest
                     : fmt::format("({}) AND {}", filter.where, rest);
  return filter;
}

absl::Status TablePublisher::MakeMapper(
    const pgoutput::RelationSchema& schema) {
  const std::vector<std::string>& references =
      run_.sender().builder().routes()[source_].references();
  WALPOST_ASSIGN_OR_RETURN(
      mapper_,
      TableMapper::Create(config_.outbox.tables[source_], schema, references));
  return absl::OkStatus();
}

asio::awaitable<absl::Status> TablePublisher::PublishPortion(TableScan& scan,
                                                             size_t rows) {
  const bool asks_origin = config_.outbox.origin == OriginFilter::kNone;
  absl::Status status;
  for (size_t i = 0; i < rows && status.ok(); ++i) {
    const RowOrigin origin = asks_origin ? scan.Origin(i) : RowOrigin::kOwn;
    if (!MaySend()) status = co_await WaitWhilePaused();
    if (status.ok()) status = co_await PublishRow(scan.Row(i), origin);
    if (status.ok() && IsCommitDue()) status = co_await Settle();
    NoteAcknowledged();
    if (options_.progress) options_.progress(done() + place_.pending(), all_);
  }
  co_return status;
}

// What was sent is acknowledged, and with a ledger committed, before the wait.
asio::awaitable<absl::Status> TablePublisher::WaitWhilePaused() {
  WALPOST_CO_RETURN_IF_ERROR(co_await Settle());
  while (!stopped_ && !MaySend()) co_await run_.Wait(kPause);
  if (stopped_) co_return absl::CancelledError("told to end");
  co_return absl::OkStatus();
}

asio::awaitable<absl::Status> TablePublisher::PublishRow(
    const pgoutput::TupleData& row, RowOrigin origin) {
  Event event;
  event.source = source_;
  event.commit_time = WallNow();
  absl::Status mapped = mapper_->Map(row, event);
  const ScanCursor::Content content = ContentOf(row);
  const ScanCursor::Key key = KeyOf(row, order_indexes_);
  if (left_out_.Has(event)) {
    place_.OnRow(key, content, ordinal_);
    co_return absl::OkStatus();
  }
  if (place_.WasAcknowledged(key, content)) co_return absl::OkStatus();
  const bool is_left_out = LeavesOut(event, origin);
  const absl::StatusOr<bool> wanted =
      is_left_out ? absl::StatusOr<bool>(false) : IsWanted(event, mapped);
  if (!wanted.ok()) co_return wanted.status();
  if (*wanted && origin == RowOrigin::kUnknown) co_return UnknownOrigin(event);
  ++counts_.rows;
  if (*wanted && options_.dry_run) {
    WALPOST_CO_RETURN_IF_ERROR(Preview(event, mapped));
  } else if (*wanted) {
    ++counts_.published;
    const bool is_refused = refused_row_ && refused_row_->first == content;
    if (is_refused) mapped = refused_row_->second;
    WALPOST_CO_RETURN_IF_ERROR(co_await Offer(event, mapped));
    if (is_refused) refused_row_.reset();
    last_content_ = content;
  }
  place_.OnRow(key, content, ordinal_);
  NoteForLedger(event);
  co_return absl::OkStatus();
}

absl::Status TablePublisher::UnknownOrigin(const Event& event) const {
  return absl::FailedPreconditionError(fmt::format(
      "row {} of table {}: with postgres.origin: none, rows that were "
      "replicated are left out, and the origin of this one is not known: {}. "
      "To publish rows whatever their origin, add --set postgres.origin=any "
      "to the command; walpost replay -c FILE --from-table --where CONDITION "
      "chooses them",
      event.id.value_or("(no id)"), config_.outbox.tables[source_].name,
      kWhyOriginIsUnknown));
}

bool TablePublisher::LeavesOut(const Event& event, RowOrigin origin) {
  if (origin == RowOrigin::kOther) {
    ++counts_.other_origin;
    ReportRow(event, "other_origin");
    return true;
  }
  if (!options_.on_record) return false;
  const std::optional<Disposition> fate = options_.on_record->Find(event);
  if (!fate) return false;
  counts_.left_out.Add(*fate);
  ReportRow(event, ToString(*fate));
  return true;
}

void TablePublisher::ReportRow(const Event& event,
                               std::string_view what) const {
  if (options_.on_row) options_.on_row(event, what);
}

// Nothing is parked here, and no dead letter stored in Postgres.
bool TablePublisher::IsSetAside(const Event& event,
                                const absl::Status& reason) {
  switch (config_.on_error.For(reason)) {
    case ErrorAction::kSkip:
      return true;
    case ErrorAction::kDeadLetter:
      return preview_->BuildDeadLetter(event, reason, options_.timeline).ok();
    case ErrorAction::kStop:
    case ErrorAction::kPark:
      return false;
  }
  return false;
}

// What Offer would come to.
absl::Status TablePublisher::Preview(const Event& event, absl::Status mapped) {
  if (mapped.ok()) mapped = preview_->Build(event, options_.timeline).status();
  if (mapped.ok()) {
    ++counts_.published;
    ReportRow(event, "to be published");
    return mapped;
  }
  if (!IsSetAside(event, mapped)) {
    return Undeliverable(
        {Position(), std::string(event.id.value_or("")), std::move(mapped)});
  }
  ++counts_.set_aside;
  ReportRow(event, "not deliverable");
  return absl::OkStatus();
}

// `mapped`: result of the event's mapping.
absl::StatusOr<bool> TablePublisher::IsWanted(const Event& event,
                                              const absl::Status& mapped) {
  absl::Status routed = mapped;
  if (mapped.ok() && options_.is_wanted) {
    routed = run_.sender().builder().routes()[source_].topic().Expand(
        event.references, topic_);
  }
  if (routed.ok()) {
    return options_.is_wanted ? options_.is_wanted(event, topic_) : true;
  }
  if (!absl::IsInvalidArgument(routed)) return routed;
  if (run_.sender().Passes(routed)) return true;
  return Undeliverable(
      {Position(), std::string(event.id.value_or("")), routed});
}

asio::awaitable<absl::Status> TablePublisher::Offer(Event& event,
                                                    absl::Status mapped) {
  event.position = {Lsn(), ++ordinal_};
  while (!rate_.MayTake(Clock::now())) co_await run_.Wait(kPause);
  if (stopped_) co_return absl::CancelledError("told to end");
  while (run_.sender().OnEvent(event, mapped) == Sender::Offer::kBackpressure) {
    const absl::Status health = Health();
    if (!health.ok()) co_return health;
    co_await run_.Wait(kPause);
  }
  rate_.Take(Clock::now());
  last_position_ = event.position;
  last_id_ = event.id.value_or("");
  co_return absl::OkStatus();
}

// The current row, or one in flight, cannot be delivered.
absl::Status TablePublisher::Undeliverable(BlockedEvent stoppage) {
  const std::string code = ReasonCodeOf(stoppage.reason);
  const bool has_class = FindErrorClass(code) < kErrorClasses.size();
  const std::string text = fmt::format(
      "row {} of table {} cannot be delivered: {}{}", stoppage.event_id,
      config_.outbox.tables[source_].name,
      std::string(stoppage.reason.message()),
      has_class ? fmt::format("; on_error.{}: skip leaves such rows out (for "
                              "one command: --set on_error.{}=skip)",
                              code, code)
                : "");
  stoppage.reason = WithReasonCode(absl::InvalidArgumentError(text),
                                   ReasonCodeOf(stoppage.reason));
  blocked_event_ = std::move(stoppage);
  return blocked_event_->reason;
}

absl::Status TablePublisher::Health() {
  if (stopped_) return absl::CancelledError("told to end");
  const Sender& sender = run_.sender();
  if (sender.stoppage()) return Undeliverable(*sender.stoppage());
  // An earlier record than the last is found again by its suspects.
  const auto& refused = sender.refused();
  if (refused && refused->position == last_position_ &&
      (refused->is_of_dead_letter || !sender.Passes(refused->reason))) {
    return Undeliverable({last_position_, last_id_, refused->reason});
  }
  return run_.SinkTrouble(Clock::now());
}

asio::awaitable<absl::Status> TablePublisher::WaitForAcknowledgements() {
  const auto may_wait = [this]() -> absl::StatusOr<bool> {
    WALPOST_RETURN_IF_ERROR(Health());
    return true;
  };
  const absl::Status waited = co_await run_.WaitForAcknowledgements(may_wait);
  if (waited.ok()) NoteAcknowledged();
  co_return waited;
}

void TablePublisher::NoteAcknowledged() {
  if (options_.ledger != nullptr) return;
  Sender& sender = run_.sender();
  // A row without a record is done when the records before it are.
  sender.AddWatermark(ordinal_);
  place_.OnAcknowledged(sender.window().passed_watermark());
}

asio::awaitable<absl::Status> TablePublisher::Renew(MonotonicTime deadline) {
  Sender& sender = run_.sender();
  co_await Close(deadline);
  // After the last report.
  const std::optional<RejectedRecord> refused = sender.refused();
  const bool was_refused = refused || sender.has_suspects();
  NoteAcknowledged();
  ledger_is_open_ = false;
  sender.StartOver();
  if (refused && refused->position == last_position_ &&
      !refused->is_of_dead_letter && sender.Passes(refused->reason)) {
    refused_row_ = {last_content_, refused->reason};
  } else if (was_refused) {
    // They are read again, with the next positions.
    const uint64_t suspects = place_.pending() + 1;
    sender.Suspect({Lsn(), ordinal_ + 1}, {Lsn(), ordinal_ + suspects});
  }
  co_return run_.Start();
}

asio::awaitable<void> TablePublisher::Close(MonotonicTime deadline) {
  co_await run_.Close(deadline);
}

bool TablePublisher::sink_failed() const {
  return !run_.SinkTrouble(Clock::now()).ok();
}

void TablePublisher::Stop() {
  stopped_ = true;
  run_.Wake();
}

}  // namespace walpost
