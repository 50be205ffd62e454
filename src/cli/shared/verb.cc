#include "cli/shared/verb.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <limits>
#include <system_error>
#include <utility>

#include "absl/strings/str_join.h"
#include "fmt/format.h"

namespace walpost {
namespace {

// CLI11 itself reads -1 as 18446744073709551615.
CLI::Validator CountBetween(uint64_t min, uint64_t max) {
  return {[min, max](const std::string& text) -> std::string {
            uint64_t count = 0;
            const char* end = text.data() + text.size();
            const auto [rest, error] = std::from_chars(text.data(), end, count);
            if (error == std::errc() && rest == end && count >= min &&
                count <= max) {
              return "";
            }
            if (max == std::numeric_limits<uint64_t>::max()) {
              return fmt::format("'{}' is not a number of {} or more", text,
                                 min);
            }
            return fmt::format("'{}' is not a number from {} to {}", text, min,
                               max);
          },
          ""};
}

CLI::Validator WordOf(const std::vector<std::string>& words) {
  return {[words](const std::string& text) -> std::string {
            if (std::ranges::find(words, text) != words.end()) return "";
            return fmt::format("'{}' is not one of {}", text,
                               absl::StrJoin(words, ", "));
          },
          ""};
}

CLI::Validator NotEmpty() {
  return {[](const std::string& text) -> std::string {
            return text.empty() ? "its value is empty" : "";
          },
          ""};
}

}  // namespace

VerbOption& VerbOption::Required() {
  option_->required();
  return *this;
}

VerbOption& VerbOption::Excludes(VerbOption other) {
  option_->excludes(other.option_);
  return *this;
}

VerbOption& VerbOption::Needs(VerbOption other) {
  option_->needs(other.option_);
  return *this;
}

VerbOption& VerbOption::Between(uint64_t min, uint64_t max) {
  option_->check(CountBetween(min, max));
  return *this;
}

VerbOption& VerbOption::OneOf(const std::vector<std::string>& words) {
  option_->type_name(absl::StrJoin(words, "|"));
  option_->check(WordOf(words));
  return *this;
}

VerbOption& VerbOption::ShowDefault() {
  option_->capture_default_str();
  return *this;
}

VerbOption& VerbOption::OneValueEachTime() {
  option_->take_all()->expected(1)->delimiter('\0');
  option_->allow_extra_args(false);
  return *this;
}

Verb::Verb(CLI::App& app, const std::string& name,
           const std::string& description)
    : verb_(app.add_subcommand(name, description)) {}

VerbOption Verb::Flag(const std::string& names, bool& value,
                      const std::string& description) {
  return VerbOption(verb_->add_flag(names, value, description));
}

VerbOption Verb::Option(const std::string& names, std::string& value,
                        const std::string& description) {
  return VerbOption(
      verb_->add_option(names, value, description)->check(NotEmpty()));
}

VerbOption Verb::Option(const std::string& names,
                        std::optional<std::string>& value,
                        const std::string& description) {
  return VerbOption(verb_->add_option(names, value, description));
}

VerbOption Verb::Option(const std::string& names,
                        std::vector<std::string>& value,
                        const std::string& description) {
  return VerbOption(
      verb_->add_option(names, value, description)->check(NotEmpty()));
}

VerbOption Verb::Option(const std::string& names, uint64_t& value,
                        const std::string& description) {
  return VerbOption(verb_->add_option(names, value, description));
}

VerbOption Verb::Option(const std::string& names, int& value,
                        const std::string& description) {
  return VerbOption(verb_->add_option(names, value, description));
}

void Verb::Footer(const std::string& text) { verb_->footer(text); }

void Verb::Callback(std::function<void()> callback) {
  verb_->callback(std::move(callback));
}

}  // namespace walpost
