// walpost dead-letters: lists, shows, retries and discards dead letters.
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "app/sink/sinks.h"
#include "app/stored/dead_letter_topic_reader.h"
#include "cli/events/dead_letter_resender.h"
#include "cli/events/letter_arguments.h"
#include "cli/events/letter_list.h"
#include "cli/events/letter_table.h"
#include "cli/shared/current_user.h"
#include "cli/shared/exit_code.h"
#include "cli/shared/expand_tables.h"
#include "cli/shared/output.h"
#include "cli/shared/progress_line.h"
#include "cli/shared/verb.h"
#include "cli/shared/verbs.h"
#include "dead_letters/letter_check.h"
#include "dead_letters/letter_filter.h"

namespace walpost {
namespace {

using Entry = DeadLetterIndex::Entry;
using Entries = std::vector<const Entry*>;
using Action = DeadLetterResolution::Action;

// Failures that are printed one by one.
constexpr size_t kMaxShownFailures = 20;

Entries Choose(const DeadLetterIndex& index, const LetterFilter& filter,
               bool also_settled) {
  Entries chosen;
  for (const Entry& entry : index.entries()) {
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

void List(const Entries& entries, bool json) {
  std::vector<ShownLetter> letters;
  for (const Entry* entry : entries) letters.emplace_back(*entry);
  PrintContent(json ? LetterListJson(letters) : LetterListText(letters));
}

absl::Status Show(DeadLetterTopicReader& topics, const Entries& chosen) {
  return topics.ReadAt(PlacesOf(chosen),
                       [](const LetterPlace& place, const DeadLetter& letter) {
                         PrintContent(LetterText(ToString(place), letter));
                         return absl::OkStatus();
                       });
}

void PrintFailures(const std::vector<DeadLetterResender::Failure>& failures) {
  for (size_t i = 0; i < failures.size() && i < kMaxShownFailures; ++i) {
    Print("{} stays as it is: {}\n", ToString(failures[i].place),
          std::string(failures[i].reason.message()));
  }
  if (failures.size() > kMaxShownFailures) {
    Print("and {} more\n", failures.size() - kMaxShownFailures);
  }
}

// Whether they match the filter is not known.
void PrintUnreadable(const DeadLetterTopicReader& topics) {
  if (topics.unreadable() == 0) return;
  Print(stderr,
        "{} records of the dead-letter topics cannot be read, and stay as "
        "they are:\n",
        topics.unreadable());
  for (const absl::Status& place : topics.unreadable_places()) {
    Print(stderr, "{}\n", std::string(place.message()));
  }
}

DeadLetterResolution DecisionOf(const LetterArguments& arguments) {
  DeadLetterResolution decision;
  decision.action =
      arguments.is_retry() ? Action::kRetried : Action::kDiscarded;
  decision.by = arguments.by.empty() ? CurrentUser() : arguments.by;
  decision.why = arguments.why;
  decision.at = WallNow();
  return decision;
}

// `resender`: nullptr for a dry run.
int Settle(const LetterArguments& arguments, LetterCheck& check,
           DeadLetterTopicReader& topics, const Entries& chosen,
           DeadLetterResender* resender) {
  std::vector<DeadLetterResender::Failure> failed;
  uint64_t settled = 0;
  const auto take = [&](const LetterPlace& place, DeadLetter letter) {
    const absl::Status built =
        arguments.is_retry() ? check(letter) : absl::OkStatus();
    if (!built.ok()) {
      failed.push_back({place, built});
      return absl::OkStatus();
    }
    if (resender != nullptr) return resender->Take(place, std::move(letter));
    ++settled;
    return absl::OkStatus();
  };
  absl::Status status = topics.ReadAt(PlacesOf(chosen), take);
  if (resender != nullptr) {
    if (status.ok()) status = resender->Finish();
    settled = resender->settled();
    failed.insert(failed.end(), resender->failed().begin(),
                  resender->failed().end());
  }
  Print("{} {}{}\n", settled, resender == nullptr ? "would be " : "",
        ToString(DecisionOf(arguments).action));
  PrintFailures(failed);
  if (!status.ok()) return Fail(status, kExitKafka);
  const bool is_all = failed.empty() && topics.unreadable() == 0;
  return is_all ? kExitOk : kExitFindings;
}

int RunDeadLetters(const LetterArguments& arguments) {
  const absl::StatusOr<LetterFilter> filter = FilterOf(arguments);
  if (!filter.ok()) return Fail(filter.status(), kExitUsage);
  const absl::Status usable = CheckArguments(arguments, *filter);
  if (!usable.ok()) return Fail(usable, kExitUsage);
  absl::StatusOr<Config> config = arguments.config.Load();
  if (!config.ok()) return Fail(config.status(), kExitUsage);
  if (config->keeps_letters()) {
    return RunLetterTable(arguments, *filter, *config);
  }
  absl::Status readable = RequireSink(*config);
  if (readable.ok()) {
    readable = RequireKafka(*config, "dead-letters",
                            "With dead_letter.store: postgres they are rows of "
                            "parking.table, which this verb reads");
  }
  if (!readable.ok()) return Fail(readable, kExitUsage);
  const absl::Status expanded = ExpandTables(*config, WithRecorded::kNo);
  if (!expanded.ok()) return Fail(expanded, kExitPostgres);
  absl::StatusOr<LetterCheck> check = LetterCheck::Create(config->outbox);
  if (!check.ok()) return Fail(check.status(), kExitUsage);
  ProgressLine progress;
  DeadLetterTopicReader topics(*config, arguments.from, std::ref(progress));
  // Two commands at once would send an event twice: whoever comes later has the
  // transactions, and reads after that what the earlier one has done.
  std::unique_ptr<DeadLetterResender> resender;
  if (arguments.settles() && !arguments.dry_run) {
    auto made =
        DeadLetterResender::Create(*config, DecisionOf(arguments),
                                   [&topics] { return topics.ReadIndex(); });
    if (!made.ok()) return Fail(made.status(), kExitUsage);
    resender = *std::move(made);
    const absl::Status taken = resender->TakeOver();
    if (!taken.ok()) return Fail(taken, kExitKafka);
  }
  const absl::StatusOr<DeadLetterIndex> index = topics.ReadIndex();
  progress.Finish();
  if (!index.ok()) {
    return Fail(index.status(), absl::IsInvalidArgument(index.status())
                                    ? kExitUsage
                                    : kExitKafka);
  }
  PrintUnreadable(topics);
  const Entries chosen = Choose(*index, *filter, arguments.includes_settled());
  if (arguments.action == "list") {
    List(chosen, arguments.json);
    return kExitOk;
  }
  if (chosen.empty()) {
    return Fail(absl::NotFoundError("no such dead letter is open"),
                kExitFindings);
  }
  if (arguments.settles()) {
    return Settle(arguments, *check, topics, chosen, resender.get());
  }
  const absl::Status shown = Show(topics, chosen);
  return shown.ok() ? kExitOk : Fail(shown, kExitKafka);
}

}  // namespace

void AddDeadLetters(CLI::App& app, int& exit_code) {
  const auto arguments = std::make_shared<LetterArguments>();
  Verb verb(app, "dead-letters", "List, show, retry or discard dead letters");
  arguments->AddTo(verb);
  verb.Footer(
      "retry builds the record as the configuration now says, and sends it "
      "with the\nheader walpost-retried. With dead_letter.store: postgres, the "
      "walpost that has\nthe slot does that.\n"
      "Exit codes: 0 done, 1 no match, or some could not be retried yet, 2 "
      "usage, 3 Postgres,\n4 the brokers.");
  verb.Callback(
      [arguments, &exit_code] { exit_code = RunDeadLetters(*arguments); });
}

}  // namespace walpost
