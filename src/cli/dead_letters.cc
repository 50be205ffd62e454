// walpost dead-letters: lists, shows, retries and discards dead letters.
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/status_macros.h"
#include "cli/exit_code.h"
#include "cli/letter_clerk.h"
#include "cli/letter_list.h"
#include "cli/letter_topics.h"
#include "cli/progress_line.h"
#include "cli/time_option.h"
#include "cli/verb.h"
#include "cli/verbs.h"
#include "cli/who_am_i.h"
#include "dead_letters/letter_filter.h"
#include "fmt/format.h"
#include "kafka/transactional_writer.h"

namespace walpost {
namespace {

using Entry = LetterBook::Entry;
using Entries = std::vector<const Entry*>;
using Action = LetterDecision::Action;

// Failures that are printed one by one.
constexpr size_t kMaxShownFailures = 20;

struct Arguments {
  ConfigArguments config;
  std::string action;
  std::vector<std::string> from;
  // For the filter; empty: not given.
  std::string place;
  std::string id;
  std::string key;
  std::string error_class;
  std::string topic;
  std::string since;
  std::string before;

  bool all = false;
  bool json = false;
  bool dry_run = false;
  bool out_of_order = false;
  std::string why;
  std::string by;

  bool is_retry() const { return action == "retry"; }
  bool settles() const { return is_retry() || action == "discard"; }
};

std::optional<std::string> Wish(const std::string& text) {
  if (text.empty()) return std::nullopt;
  return text;
}

absl::StatusOr<LetterFilter> FilterOf(const Arguments& arguments) {
  LetterFilter filter;
  filter.place = Wish(arguments.place);
  filter.id = Wish(arguments.id);
  filter.key = Wish(arguments.key);
  filter.error_class = Wish(arguments.error_class);
  filter.topic = Wish(arguments.topic);
  WALPOST_ASSIGN_OR_RETURN(filter.since,
                           ParseTimeOption("--since", arguments.since));
  WALPOST_ASSIGN_OR_RETURN(filter.before,
                           ParseTimeOption("--before", arguments.before));
  return filter;
}

absl::Status CheckArguments(const Arguments& arguments,
                            const LetterFilter& filter) {
  const auto wrong = [&arguments](std::string_view text) {
    return absl::InvalidArgumentError(
        fmt::format("dead-letters {}: {}", arguments.action, text));
  };
  const std::set<std::string> actions{"list", "show", "retry", "discard"};
  if (!actions.contains(arguments.action)) {
    return absl::InvalidArgumentError(
        fmt::format("dead-letters: '{}' is none of list, show, retry, discard",
                    arguments.action));
  }
  if (!arguments.settles()) {
    const bool decides = arguments.dry_run || arguments.out_of_order ||
                         !arguments.why.empty() || !arguments.by.empty();
    return decides ? wrong(
                         "--dry-run, --out-of-order, --why and --by are for "
                         "retry and discard")
                   : absl::OkStatus();
  }
  if (filter.is_empty() && !arguments.all) {
    return wrong(
        "which ones? --place, --id, --key, --class, --topic, --since, "
        "--before, or --all");
  }
  if (arguments.dry_run) return absl::OkStatus();
  if (arguments.why.empty()) return wrong("--why is missing, for the record");
  if (arguments.is_retry() && !arguments.out_of_order) {
    return wrong(
        "a retried event comes behind newer events of its key: if its "
        "consumers bear that, add --out-of-order");
  }
  return absl::OkStatus();
}

Entries Choose(const LetterBook& book, const LetterFilter& filter,
               bool also_settled) {
  Entries chosen;
  for (const Entry& entry : book.entries()) {
    if ((entry.is_open() || also_settled) && filter.Matches(entry)) {
      chosen.push_back(&entry);
    }
  }
  return chosen;
}

std::set<LetterPlace> PlacesOf(const Entries& entries) {
  std::set<LetterPlace> places;
  for (const Entry* entry : entries) places.insert(entry->place);
  return places;
}

absl::Status Show(LetterTopics& topics, const Entries& chosen) {
  return topics.ReadAt(PlacesOf(chosen),
                       [](const LetterPlace& place, const DeadLetter& letter) {
                         fmt::print("{}", LetterText(place, letter));
                         return absl::OkStatus();
                       });
}

void PrintFailures(const std::vector<LetterClerk::Failure>& failures) {
  for (size_t i = 0; i < failures.size() && i < kMaxShownFailures; ++i) {
    fmt::print("{} stays as it is: {}\n", ToString(failures[i].place),
               std::string(failures[i].reason.message()));
  }
  if (failures.size() > kMaxShownFailures) {
    fmt::print("and {} more\n", failures.size() - kMaxShownFailures);
  }
}

int Settle(const Arguments& arguments, const Config& config,
           LetterTopics& topics, const Entries& chosen,
           TransactionalWriter* writer) {
  LetterDecision decision;
  decision.action =
      arguments.is_retry() ? Action::kRetried : Action::kDiscarded;
  decision.by = arguments.by.empty() ? WhoAmI() : arguments.by;
  decision.why = arguments.why;
  decision.at = WallNow();
  const auto clerk = LetterClerk::Create(config, decision, writer);
  if (!clerk.ok()) return Fail(clerk.status(), kExitUsage);
  absl::Status status = topics.ReadAt(
      PlacesOf(chosen), [&](const LetterPlace& place, DeadLetter letter) {
        return (*clerk)->Take(place, std::move(letter));
      });
  if (status.ok()) status = (*clerk)->Finish();
  fmt::print("{} {}{}\n", (*clerk)->settled(),
             writer == nullptr ? "would be " : "", ToString(decision.action));
  PrintFailures((*clerk)->failed());
  if (!status.ok()) return Fail(status, kExitKafka);
  return (*clerk)->failed().empty() ? kExitOk : kExitFindings;
}

// Two commands at once would send an event twice: whoever comes later has the
// writer, and reads after that what the earlier one has done.
absl::StatusOr<std::unique_ptr<TransactionalWriter>> OpenWriter(
    const Arguments& arguments, const Config& config) {
  if (!arguments.settles() || arguments.dry_run) return nullptr;
  return TransactionalWriter::Open(
      config.kafka,
      fmt::format("walpost-dead-letters:{}", config.outbox.dead_letter.topic));
}

int RunDeadLetters(const Arguments& arguments) {
  const absl::StatusOr<LetterFilter> filter = FilterOf(arguments);
  if (!filter.ok()) return Fail(filter.status(), kExitUsage);
  const absl::Status usable = CheckArguments(arguments, *filter);
  if (!usable.ok()) return Fail(usable, kExitUsage);
  const absl::StatusOr<Config> config = arguments.config.Load();
  if (!config.ok()) return Fail(config.status(), kExitUsage);
  if (config->kafka.brokers.empty()) {
    return Fail(absl::InvalidArgumentError("kafka.brokers is missing"),
                kExitUsage);
  }
  const auto writer = OpenWriter(arguments, *config);
  if (!writer.ok()) return Fail(writer.status(), kExitKafka);
  ProgressLine progress;
  LetterTopics topics(*config, arguments.from, progress);
  const absl::StatusOr<LetterBook> book = topics.ReadBook();
  progress.Finish();
  if (!book.ok()) {
    return Fail(book.status(), absl::IsInvalidArgument(book.status())
                                   ? kExitUsage
                                   : kExitKafka);
  }
  const bool also_settled = arguments.all && !arguments.settles();
  const Entries chosen = Choose(*book, *filter, also_settled);
  if (arguments.action == "list") {
    fmt::print(
        "{}", arguments.json ? LetterListJson(chosen) : LetterListText(chosen));
    return kExitOk;
  }
  if (chosen.empty()) {
    return Fail(absl::NotFoundError("no such dead letter is open"),
                kExitFindings);
  }
  if (arguments.settles()) {
    return Settle(arguments, *config, topics, chosen, writer->get());
  }
  const absl::Status shown = Show(topics, chosen);
  return shown.ok() ? kExitOk : Fail(shown, kExitKafka);
}

}  // namespace

void AddDeadLetters(CLI::App& app, int& exit_code) {
  const auto arguments = std::make_shared<Arguments>();
  Verb verb(app, "dead-letters", "List, show, retry or discard dead letters");
  arguments->config.AddTo(verb);
  verb.Option("ACTION", arguments->action, "list, show, retry or discard")
      .Required();
  verb.Option("--place", arguments->place,
              "Dead letter at this place: PARTITION/OFFSET, as list shows it");
  verb.Option("--id", arguments->id, "Events with this id");
  verb.Option("--key", arguments->key, "Events with this key");
  verb.Option("--class", arguments->error_class, "Errors of this class");
  verb.Option("--topic", arguments->topic, "Events for this topic");
  verb.Option("--since", arguments->since,
              "Events that committed at this time or later; 1h: an hour ago");
  verb.Option("--before", arguments->before,
              "Events that committed before this time");
  verb.Flag("--all", arguments->all,
            "list, show: also what was retried or discarded; retry, discard: "
            "every one that is open");
  verb.Flag("--json", arguments->json, "list: one JSON object per line");
  verb.Flag("--dry-run", arguments->dry_run,
            "retry, discard: only say what would be done");
  verb.Flag("--out-of-order", arguments->out_of_order,
            "retry: the events may come behind newer ones of their keys");
  verb.Option("--why", arguments->why, "Reason, for the record");
  verb.Option("--by", arguments->by, "Name for the record ($USER)");
  verb.Option("--from", arguments->from,
              "Dead-letter topic to read (those of dead_letter.topic)")
      .OneValueEachTime();
  verb.Footer(
      "retry builds the record as the configuration now says, and sends it "
      "with "
      "the\nheader walpost-retried.\n"
      "Exit codes: 0 done, 1 none matches or some stay as they are, 2 usage, 4 "
      "Kafka.");
  verb.Callback(
      [arguments, &exit_code] { exit_code = RunDeadLetters(*arguments); });
}

}  // namespace walpost
