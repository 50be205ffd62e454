#include "cli/missing_rows.h"

#include <boost/asio/io_context.hpp>
#include <vector>

#include "base/status_macros.h"
#include "cli/complete_conninfo.h"
#include "cli/run_to_end.h"
#include "cli/topic_reader_options.h"
#include "cli/work_directory.h"
#include "fmt/format.h"
#include "postgres/parked_list.h"

namespace walpost {

namespace asio = boost::asio;

namespace {

asio::awaitable<absl::StatusOr<std::vector<ParkedEntry>>> ReadParked(
    asio::any_io_executor executor, const Config& config) {
  const ConnectionOptions options =
      ParkedList::Session(config.postgres, "recover");
  WALPOST_CO_ASSIGN_OR_RETURN(const std::unique_ptr<Connection> connection,
                              co_await Connection::Connect(executor, options));
  const auto if_unknown = config.parks() ? ParkedList::IfUnknown::kRefuse
                                         : ParkedList::IfUnknown::kEmpty;
  WALPOST_CO_ASSIGN_OR_RETURN(
      ParkedList list,
      co_await ParkedList::Open(*connection, config.postgres,
                                config.parking.table, if_unknown));
  constexpr auto kAll = ParkingSql::Settled::kIncluded;
  WALPOST_CO_ASSIGN_OR_RETURN(std::vector<ParkedEntry> parked,
                              co_await list.Read(kAll));
  WALPOST_CO_ASSIGN_OR_RETURN(const std::vector<ParkedEntry> letters,
                              co_await list.ReadLetters(kAll));
  parked.insert(parked.end(), letters.begin(), letters.end());
  co_return parked;
}

}  // namespace

absl::StatusOr<MissingRows> ReadKafka(const Config& config,
                                      const OutboxOptions& outbox,
                                      const std::string& work_directory,
                                      ProgressLine& progress, ExitCode& end) {
  KnownEvents::Options options;
  options.conninfo = CompleteConninfo(config.postgres.server);
  options.outbox = outbox;
  options.kafka = TopicReaderOptionsOf(config);
  options.directory = WorkDirectory(work_directory);
  WALPOST_ASSIGN_OR_RETURN(const std::set<std::string> topics,
                           KnownEvents::FindTopics(options));
  end = kExitKafka;
  WALPOST_ASSIGN_OR_RETURN(
      std::unique_ptr<KnownEvents> known,
      KnownEvents::Read(options, topics, std::ref(progress)));
  return MissingRows(std::move(known));
}

absl::Status LeaveOutParked(const Config& config, MissingRows& missing) {
  asio::io_context io(1);
  WALPOST_ASSIGN_OR_RETURN(const std::vector<ParkedEntry> parked,
                           RunToEnd(io, ReadParked(io.get_executor(), config)));
  std::set<std::string> ids;
  for (const ParkedEntry& entry : parked) {
    if (entry.state == ParkedState::kReleased ||
        entry.state == ParkedState::kLetterRetried) {
      continue;
    }
    if (entry.content.id) ids.insert(*entry.content.id);
  }
  missing.LeaveOut(std::move(ids));
  return absl::OkStatus();
}

absl::StatusOr<bool> MissingRows::IsMissing(const Event& event,
                                            std::string_view topic) {
  using Answer = KnownEvents::Answer;
  if (parked_ids_.contains(std::string(event.id.value_or("")))) {
    ++parked_;
    return false;
  }
  if (known_ == nullptr) return true;
  const absl::StatusOr<Answer> answer = known_->Ask(
      {topic, event.id.value_or(""), event.aggregate_id, event.payload});
  if (!answer.ok()) return answer.status();
  switch (*answer) {
    case Answer::kUnknown:
      return true;
    case Answer::kKnown:
      return false;
    case Answer::kAltered:
      ++altered_;
      return false;
    case Answer::kSameId:
      ++same_id_;
      return true;
    case Answer::kTwin:
      ++twins_;
      return true;
  }
  return true;
}

std::string MissingRows::ToText() const {
  std::string text;
  if (parked_ > 0) {
    text += fmt::format(
        "{} rows are parked, and are left to walpost parked -c FILE; missing "
        "rows of their keys are published before them\n",
        parked_);
  }
  if (altered_ > 0) {
    text += fmt::format(
        "{} rows have a record with their id and another key or value, and are "
        "not published again: walpost verify -c FILE names them\n",
        altered_);
  }
  if (same_id_ > 0) {
    text += fmt::format(
        "{} of the rows that Kafka lacks have an id that it has with another "
        "key or value: another event\n",
        same_id_);
  }
  if (twins_ > 0) {
    text += fmt::format(
        "{} rows have the same topic, id, key and value as another row: they "
        "count as missing, since one record may be all there is\n",
        twins_);
  }
  return text;
}

}  // namespace walpost
