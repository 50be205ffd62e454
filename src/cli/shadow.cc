// walpost shadow: compares the records that walpost would send with those that
// another relay sends to Kafka, while both read the same events. Produces
// nothing, and does not use the live slot.
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "app/sink/sinks.h"
#include "app/sink/topic_reader_options.h"
#include "base/error_source.h"
#include "base/status_macros.h"
#include "cli/events/temporary_stream.h"
#include "cli/shared/exit_code.h"
#include "cli/shared/expand_tables.h"
#include "cli/shared/json_line.h"
#include "cli/shared/output.h"
#include "cli/shared/require_wal.h"
#include "cli/shared/verb.h"
#include "cli/shared/verbs.h"
#include "config/units.h"
#include "fmt/format.h"
#include "loop/as_tuple.h"
#include "loop/run_to_end.h"
#include "outbox/record_builder.h"
#include "verify/found_record.h"
#include "verify/record_comparison.h"
#include "verify/topic_reader.h"

namespace walpost {
namespace {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr char kRunId[] = "__debezium.context.runId";
// Events beyond these wait in Postgres until Kafka has some of them.
constexpr size_t kMaxPending = 100'000;
constexpr milliseconds kLookInterval{100};
constexpr std::chrono::seconds kNewTopicsInterval{5};
constexpr std::chrono::seconds kAnswerLimit{10};

struct ShadowArguments {
  ConfigArguments config;
  std::string duration = "1m";
  std::string grace = "30s";
  bool as_json = false;
};

class Shadow {
 public:
  Shadow(asio::io_context& io, const Config& config,
         std::unique_ptr<RecordBuilder> builder,
         std::unique_ptr<TopicReader> kafka)
      : config_(config),
        timer_(io),
        builder_(std::move(builder)),
        kafka_(std::move(kafka)),
        stream_(
            io.get_executor(), config, builder_->routes(), "shadow",
            [this](const Event& event, const absl::Status& mapped) {
              Expect(event, mapped);
            },
            [this] { return comparison_.pending() < kMaxPending; }) {
    for (const Route& route : builder_->routes()) {
      prefixes_.insert(route.topic().prefix());
    }
  }

  // Compares what is committed within `duration`, and then waits at most for
  // `grace` until Kafka has it, and until the event of each record was read.
  asio::awaitable<absl::Status> Run(milliseconds duration, milliseconds grace) {
    // Before the slot: so Kafka has every event of it behind these ends.
    WALPOST_CO_RETURN_IF_ERROR(co_await Follow());
    WALPOST_CO_RETURN_IF_ERROR(co_await stream_.Start());
    asio::co_spawn(co_await asio::this_coro::executor, Stream(),
                   asio::detached);
    const MonotonicTime end = Clock::now() + duration;
    WALPOST_CO_RETURN_IF_ERROR(co_await Look(end, false));
    comparison_.EndExtra();
    WALPOST_CO_RETURN_IF_ERROR(co_await stream_.StopAtNow());
    WALPOST_CO_RETURN_IF_ERROR(co_await Look(Clock::now() + grace, true));
    if (!has_streamed_) {
      co_return absl::DeadlineExceededError(fmt::format(
          "within --grace the events were read up to LSN {} only: set a longer "
          "--grace",
          stream_.taken().ToString()));
    }
    comparison_.Finish();
    co_return absl::OkStatus();
  }

  // Ends the comparison as if its time was over.
  void End() {
    is_ended_ = true;
    timer_.cancel();
  }

  const RecordComparison& comparison() const { return comparison_; }
  uint64_t undeliverable() const { return undeliverable_; }
  const std::string& why_undeliverable() const { return why_undeliverable_; }

 private:
  // False if the record has the time of its sending, which differs: its table
  // has no column for it, or the column is NULL.
  bool HasOwnTimestamp(const Event& event) const {
    const OutboxOptions& outbox = config_.outbox;
    const bool is_ignored = outbox.debezium && outbox.debezium->runtime ==
                                                   debezium::Runtime::kServer;
    return !is_ignored && event.source < outbox.tables.size() &&
           outbox.tables[event.source].columns.timestamp.kind ==
               FieldSource::Kind::kColumn &&
           event.timestamp != event.commit_time;
  }

  // The leader of a topic that was just made may not know it yet.
  asio::awaitable<absl::Status> Follow() {
    const MonotonicTime limit = Clock::now() + kAnswerLimit;
    absl::Status status = kafka_->Follow(prefixes_);
    while (absl::IsUnavailable(status) && Clock::now() < limit) {
      timer_.expires_after(kLookInterval);
      co_await timer_.async_wait(kAsTuple);
      status = kafka_->Follow(prefixes_);
    }
    co_return FromKafka(std::move(status));
  }

  asio::awaitable<void> Stream() {
    streamed_ = co_await stream_.Run();
    has_streamed_ = true;
  }

  asio::awaitable<absl::Status> Look(MonotonicTime end, bool until_complete) {
    const auto take = [this](const rd_kafka_message_t& message) {
      comparison_.Find(ToComparedRecord(message));
      return absl::OkStatus();
    };
    MonotonicTime next_topics = Clock::now() + kNewTopicsInterval;
    while (Clock::now() < end && (until_complete || !is_ended_)) {
      WALPOST_CO_RETURN_IF_ERROR(FromKafka(kafka_->TakeNew(take)));
      if (until_complete && has_streamed_ && comparison_.pending() == 0) break;
      if (has_streamed_ && !streamed_.ok()) co_return streamed_;
      if (Clock::now() >= next_topics) {
        WALPOST_CO_RETURN_IF_ERROR(co_await Follow());
        next_topics = Clock::now() + kNewTopicsInterval;
      }
      timer_.expires_after(kLookInterval);
      co_await timer_.async_wait(kAsTuple);
    }
    co_return absl::OkStatus();
  }

  void Expect(const Event& event, const absl::Status& mapped) {
    const absl::StatusOr<Record> record = mapped.ok()
                                              ? builder_->Build(event, 0)
                                              : absl::StatusOr<Record>(mapped);
    if (!record.ok()) {
      ++undeliverable_;
      why_undeliverable_ = std::string(record.status().message());
      return;
    }
    comparison_.Expect(ComparedRecordOf(event, *record));
  }

  ComparedRecord ComparedRecordOf(const Event& event, const Record& record) {
    const auto own = [](const Value& value) {
      return value ? std::optional<std::string>(*value) : std::nullopt;
    };
    ComparedRecord compared;
    compared.topic = record.topic;
    compared.partition = record.partition;
    compared.key = own(record.key);
    compared.value = own(record.value);
    for (const RecordHeader& header : record.headers) {
      compared.headers.emplace_back(header.name, own(header.value));
    }
    if (HasOwnTimestamp(event)) {
      compared.timestamp = std::chrono::floor<milliseconds>(record.timestamp)
                               .time_since_epoch()
                               .count();
    }
    if (!compared.partition && compared.key) {
      compared.partition = kafka_->PartitionOf(compared.topic, *compared.key);
    }
    return compared;
  }

  const Config& config_;
  asio::steady_timer timer_;
  std::unique_ptr<RecordBuilder> builder_;
  std::unique_ptr<TopicReader> kafka_;
  TemporaryStream stream_;
  std::set<std::string> prefixes_;
  RecordComparison comparison_{{kRunId}};
  absl::Status streamed_;
  bool has_streamed_ = false;
  bool is_ended_ = false;
  uint64_t undeliverable_ = 0;
  std::string why_undeliverable_;
};

void ReportAsJson(const Shadow& shadow) {
  const RecordComparison& comparison = shadow.comparison();
  JsonLine line;
  line.AddNumber("compared", comparison.compared());
  line.AddNumber("equal", comparison.equal());
  for (size_t i = 0; i < RecordComparison::kKinds; ++i) {
    const auto kind = static_cast<RecordComparison::Kind>(i);
    line.AddNumber(std::string(NameOf(kind)).c_str(),
                   comparison.of(kind).count);
  }
  line.AddNumber("undeliverable", shadow.undeliverable());
  line.AddNumber("without_id", comparison.without_id());
  line.AddNumber("repeated", comparison.repeated());
  line.AddNumber("earlier", comparison.earlier());
  Print("{}", line.Finish());
}

void ReportForPeople(const Shadow& shadow) {
  const RecordComparison& comparison = shadow.comparison();
  Print("compared: {} events, {} of them equal\n", comparison.compared(),
        comparison.equal());
  for (size_t i = 0; i < RecordComparison::kKinds; ++i) {
    const auto kind = static_cast<RecordComparison::Kind>(i);
    const RecordComparison::Differences& differences = comparison.of(kind);
    if (differences.count == 0) continue;
    Print("{}: {}\n", NameOf(kind), differences.count);
    for (const std::string& example : differences.examples) {
      Print("  {}\n", example);
    }
  }
  if (shadow.undeliverable() > 0) {
    Print("undeliverable: {}, the last one: {}\n", shadow.undeliverable(),
          shadow.why_undeliverable());
  }
  if (comparison.without_id() > 0) {
    Print("not compared: {} events without the header id\n",
          comparison.without_id());
  }
  if (comparison.repeated() > 0) {
    Print("repeated: {} records are there more than once\n",
          comparison.repeated());
  }
}

bool IsEqual(const Shadow& shadow) {
  return !shadow.comparison().has_differences() &&
         shadow.undeliverable() == 0 && shadow.comparison().without_id() == 0;
}

int Report(const Shadow& shadow, bool as_json) {
  as_json ? ReportAsJson(shadow) : ReportForPeople(shadow);
  if (shadow.comparison().compared() == 0 && IsEqual(shadow)) {
    return Fail(absl::FailedPreconditionError(
                    "nothing was compared: no event was committed within "
                    "--for; set a longer time, or insert an event"),
                kExitFindings);
  }
  return IsEqual(shadow) ? kExitOk : kExitFindings;
}

int RunShadow(const ShadowArguments& arguments) {
  absl::StatusOr<Config> config = arguments.config.Load();
  if (!config.ok()) return Fail(config.status(), kExitUsage);
  absl::Status usable = RequireBothEnds(*config);
  if (usable.ok()) usable = RequireKafka(*config, "shadow");
  if (usable.ok()) {
    usable = RequireWalSource(*config, "shadow",
                              "walpost verify -c FILE compares what was sent");
  }
  if (!usable.ok()) return Fail(usable, kExitUsage);
  const auto duration = ParseDuration(arguments.duration);
  if (!duration.ok()) return Fail(duration.status(), kExitUsage);
  const auto grace = ParseDuration(arguments.grace);
  if (!grace.ok()) return Fail(grace.status(), kExitUsage);
  const absl::Status expanded = ExpandTables(*config, WithRecorded::kNo);
  if (!expanded.ok()) return Fail(expanded, kExitPostgres);
  config->outbox.run_id = "shadow";  // is not compared
  auto builder = RecordBuilder::Create(config->outbox);
  if (!builder.ok()) return Fail(builder.status(), kExitUsage);
  auto kafka = TopicReader::Connect(TopicReaderOptionsOf(*config));
  if (!kafka.ok()) return Fail(kafka.status(), kExitKafka);

  asio::io_context io(1);
  Shadow shadow(io, *config, *std::move(builder), *std::move(kafka));
  asio::signal_set signals(io, SIGINT, SIGTERM);
  signals.async_wait([&shadow](boost::system::error_code error, int) {
    if (!error) shadow.End();
  });
  const absl::Status status = RunToEnd(io, shadow.Run(*duration, *grace));
  if (!status.ok()) {
    return Fail(status, IsFromKafka(status) ? kExitKafka : kExitPostgres);
  }
  return Report(shadow, arguments.as_json);
}

}  // namespace

void AddShadow(CLI::App& app, int& exit_code) {
  Verb verb(app, "shadow",
            "Compare what walpost would send with what another relay sends");
  const auto arguments = std::make_shared<ShadowArguments>();
  arguments->config.AddTo(verb);
  verb.Option("--for", arguments->duration, "Time to compare").ShowDefault();
  verb.Option("--grace", arguments->grace,
              "Time until the other relay has sent the last of these events")
      .ShowDefault();
  verb.Flag("--json", arguments->as_json, "Print one JSON object");
  verb.Footer(
      "Exit codes: 0 all are equal, 1 differences, or nothing to compare, 2 "
      "usage,\n3 Postgres, 4 the brokers.");
  verb.Callback([arguments, &exit_code] { exit_code = RunShadow(*arguments); });
}

}  // namespace walpost
