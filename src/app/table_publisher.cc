#include "app/table_publisher.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "base/status_macros.h"
#include "fmt/format.h"

namespace walpost {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

namespace {

constexpr auto kAsTuple = asio::as_tuple(asio::use_awaitable);
// At the latest after that we look again whether there is room.
constexpr milliseconds kPause{50};

}  // namespace

absl::StatusOr<std::unique_ptr<TablePublisher>> TablePublisher::Create(
    asio::any_io_executor executor, const Config& config, Options options) {
  OutboxOptions outbox = config.outbox;
  // Without a place in the order of commits there is no position to claim.
  if (!options.before.is_valid()) outbox.route.position_header = false;
  WALPOST_ASSIGN_OR_RETURN(std::unique_ptr<RecordBuilder> builder,
                           RecordBuilder::Create(outbox));
  builder->SetMark(options.mark);
  std::unique_ptr<TablePublisher> publisher(new TablePublisher(
      executor, config, std::move(options), std::move(builder)));
  if (publisher->options_.dry_run) return publisher;
  WALPOST_ASSIGN_OR_RETURN(
      publisher->producer_,
      Producer::Create(executor, config.kafka, publisher->pipeline_,
                       [raw = publisher.get()] { raw->timer_.cancel(); }));
  publisher->pipeline_.SetSink(publisher->producer_.get());
  return publisher;
}

TablePublisher::TablePublisher(asio::any_io_executor executor,
                               const Config& config, Options options,
                               std::unique_ptr<RecordBuilder> builder)
    : executor_(executor),
      config_(config),
      options_(std::move(options)),
      pipeline_(std::move(builder), config.window),
      timer_(executor),
      begun_at_(Clock::now()) {
  pipeline_.SetTimeline(options_.timeline);
}

asio::awaitable<absl::StatusOr<TablePublisher::Counts>> TablePublisher::Publish(
    Connection& connection) {
  absl::Status status;
  for (size_t i = 0; i < config_.outbox.tables.size() && status.ok(); ++i) {
    status = co_await PublishTable(connection, i);
  }
  if (status.ok()) status = co_await WaitForAcknowledgements();
  if (producer_ != nullptr) co_await producer_->Close(Clock::now());
  if (!status.ok()) co_return status;
  co_return counts_;
}

asio::awaitable<absl::Status> TablePublisher::PublishTable(
    Connection& connection, size_t source) {
  source_ = source;
  const auto scan = std::make_unique<TableScan>(
      connection, config_.outbox.tables[source], options_.filter);
  absl::Status status = co_await scan->Open();
  if (!status.ok()) co_return status;
  const absl::StatusOr<uint64_t> count = co_await scan->Count();
  if (!count.ok()) co_return count.status();
  all_ += *count;
  status = MakeMapper(scan->schema());
  while (status.ok()) {
    const absl::StatusOr<size_t> rows = co_await scan->Fetch();
    if (!rows.ok()) co_return rows.status();
    if (*rows == 0) break;
    status = co_await PublishPortion(*scan, *rows);
  }
  if (status.ok()) status = co_await scan->Close();
  co_return status;
}

absl::Status TablePublisher::MakeMapper(
    const pgoutput::RelationSchema& schema) {
  const std::vector<std::string>& references =
      pipeline_.builder().routes()[source_].references();
  WALPOST_ASSIGN_OR_RETURN(
      mapper_,
      TableMapper::Create(config_.outbox.tables[source_], schema, references));
  return absl::OkStatus();
}

asio::awaitable<absl::Status> TablePublisher::PublishPortion(TableScan& scan,
                                                             size_t rows) {
  absl::Status status;
  for (size_t i = 0; i < rows && status.ok(); ++i) {
    Event event;
    const absl::StatusOr<bool> wanted = MapRow(scan.Row(i), event);
    status = wanted.status();
    if (!status.ok()) break;
    counts_.published += *wanted;
    if (*wanted && !options_.dry_run) status = co_await Offer(event);
    if (options_.progress) options_.progress(counts_.rows, all_);
  }
  co_return status;
}

// Whether the row is to go out.
absl::StatusOr<bool> TablePublisher::MapRow(const pgoutput::TupleData& row,
                                            Event& event) {
  event.source = source_;
  event.commit_time = WallNow();
  const absl::Status mapped = mapper_->Map(row, event);
  const std::string id(event.id.value_or(""));
  if (absl::IsInvalidArgument(mapped)) {
    return absl::InvalidArgumentError(fmt::format(
        "row {} cannot be delivered: {}", id, std::string(mapped.message())));
  }
  WALPOST_RETURN_IF_ERROR(mapped);
  ++counts_.rows;
  if (!options_.is_wanted) return true;
  return options_.is_wanted(id);
}

asio::awaitable<absl::Status> TablePublisher::Offer(Event& event) {
  event.position.commit_lsn = Lsn(1);
  if (options_.before.is_valid()) {
    event.position.commit_lsn = Lsn(options_.before.value() - 1);
  }
  event.position.ordinal = ++ordinal_;
  if (options_.per_second > 0) {
    const auto due =
        begun_at_ + std::chrono::microseconds(1'000'000 * counts_.published /
                                              options_.per_second);
    while (Clock::now() < due) co_await Pause(kPause);
  }
  while (pipeline_.OnEvent(event) == Pipeline::Offer::kHold) {
    const absl::Status health = Health();
    if (!health.ok()) co_return health;
    co_await Pause(kPause);
    pipeline_.RetryHeld();
  }
  co_return absl::OkStatus();
}

// What a rewind would mend for the stream ends a run like this: it can be
// started again.
absl::Status TablePublisher::Health() const {
  if (pipeline_.stoppage()) {
    return absl::InvalidArgumentError(fmt::format(
        "row {} cannot be delivered: {}", pipeline_.stoppage()->event_id,
        std::string(pipeline_.stoppage()->reason.message())));
  }
  if (pipeline_.sink_failure()) return *pipeline_.sink_failure();
  return absl::OkStatus();
}

asio::awaitable<absl::Status> TablePublisher::WaitForAcknowledgements() {
  while (!pipeline_.window().empty()) {
    const absl::Status health = Health();
    if (!health.ok()) co_return health;
    co_await Pause(kPause);
  }
  co_return absl::OkStatus();
}

asio::awaitable<void> TablePublisher::Pause(milliseconds most) {
  timer_.expires_after(most);
  co_await timer_.async_wait(kAsTuple);
}

}  // namespace walpost
