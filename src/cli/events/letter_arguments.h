// The command line of walpost dead-letters.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/shared/verb.h"
#include "cli/shared/verbs.h"
#include "dead_letters/letter_filter.h"

namespace walpost {

struct LetterArguments {
  ConfigArguments config;
  std::string action;
  std::vector<std::string> from;
  std::optional<std::string> place;
  std::optional<std::string> id;
  std::optional<std::string> key;
  std::optional<std::string> error_class;
  std::optional<std::string> topic;
  // Empty: not given.
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
  // True if settled letters are selected, too.
  bool includes_settled() const { return all && !settles(); }

  void AddTo(Verb& verb);
};

// kInvalidArgument: a time cannot be read.
absl::StatusOr<LetterFilter> FilterOf(const LetterArguments& arguments);

// kInvalidArgument: the options do not fit the action, or one is missing.
absl::Status CheckArguments(const LetterArguments& arguments,
                            const LetterFilter& filter);

// The value of --class. kInvalidArgument: there is no such class; lists them.
absl::Status CheckClassOption(const std::string& name);

}  // namespace walpost
