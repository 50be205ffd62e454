#include "cli/events/letter_arguments.h"

#include "base/status_macros.h"
#include "cli/shared/time_option.h"
#include "delivery/error_actions.h"
#include "fmt/format.h"

namespace walpost {
namespace {}  // namespace

absl::Status CheckClassOption(const std::string& name) {
  if (FindErrorClass(name) < kErrorClasses.size()) return absl::OkStatus();
  std::string names;
  for (const ErrorClass& known : kErrorClasses) {
    names += (names.empty() ? "" : ", ") + std::string(known.code);
  }
  return absl::InvalidArgumentError(
      fmt::format("--class: '{}' is not a class; expected {}", name, names));
}

absl::StatusOr<LetterFilter> FilterOf(const LetterArguments& arguments) {
  if (arguments.error_class) {
    WALPOST_RETURN_IF_ERROR(CheckClassOption(*arguments.error_class));
  }
  LetterFilter filter;
  filter.place = arguments.place;
  filter.id = arguments.id;
  filter.key = arguments.key;
  filter.error_class = arguments.error_class;
  filter.topic = arguments.topic;
  WALPOST_ASSIGN_OR_RETURN(filter.since,
                           ParseTimeOption("--since", arguments.since));
  WALPOST_ASSIGN_OR_RETURN(filter.before,
                           ParseTimeOption("--before", arguments.before));
  return filter;
}

absl::Status CheckArguments(const LetterArguments& arguments,
                            const LetterFilter& filter) {
  const auto wrong = [&arguments](std::string_view text) {
    return absl::InvalidArgumentError(
        fmt::format("dead-letters {}: {}", arguments.action, text));
  };
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

void LetterArguments::AddTo(Verb& verb) {
  config.AddTo(verb);
  verb.Option("ACTION", action, "What to do")
      .OneOf({"list", "show", "retry", "discard"})
      .Required();
  verb.Option(
      "--place", place,
      "Dead letter at this place, as list shows it: PARTITION/OFFSET, or "
      "0/154F6A8/3 in the table");
  verb.Option("--id", id, "Events with this id");
  verb.Option("--key", key, "Events with this key");
  verb.Option("--class", error_class, "Errors of this class");
  verb.Option("--topic", topic, "Events for this topic");
  verb.Option("--since", since,
              "Events that committed at this time or later; 1h: an hour ago");
  verb.Option("--before", before, "Events that committed before this time");
  verb.Flag("--all", all,
            "list, show: also what was retried or discarded; retry, discard: "
            "every one that is open");
  verb.Flag("--json", json, "list: one JSON object per line");
  verb.Flag("--dry-run", dry_run,
            "retry, discard: only say what would be done");
  verb.Flag("--out-of-order", out_of_order,
            "retry: the events may come behind newer ones of their keys");
  verb.Option("--why", why, "Reason, for the record");
  verb.Option("--by", by, "Name for the record ($USER)");
  verb.Option("--from", from,
              "Dead-letter topic to read (those of dead_letter.topic)")
      .OneValueEachTime();
}

}  // namespace walpost
