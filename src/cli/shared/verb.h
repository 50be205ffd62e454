// Verb: a verb of the command line, with its options.
//
//   Verb verb(app, "tail", "Print events as they are committed");
//   verb.Option("--count", *count, "Exit after this many events").Between(1,
//   99); verb.Callback([=, &exit_code] { exit_code = RunTail(*count); });
//
// CLI11, which does the work, takes seconds to compile: verbs include this
// header in its place.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace walpost {

// An option of a Verb; a copy means the same one.
class VerbOption {
 public:
  explicit VerbOption(CLI::Option* option) : option_(option) {}

  VerbOption& Required();
  // Neither may be given with the other.
  VerbOption& Excludes(VerbOption other);
  // May only be given with the other.
  VerbOption& Needs(VerbOption other);
  // Accepts whole numbers from `min` to `max`.
  VerbOption& Between(uint64_t min, uint64_t max);
  // Accepts these words alone; the help and the completion have them.
  VerbOption& OneOf(const std::vector<std::string>& words);
  // The help shows the present value as the default.
  VerbOption& ShowDefault();
  // Takes one value each time it is given, which may contain commas.
  VerbOption& OneValueEachTime();

 private:
  CLI::Option* option_;  // owned by the App
};

class Verb {
 public:
  // `app` must outlive the verb and keeps what is added to it. So must each
  // `value` live until the line is parsed.
  Verb(CLI::App& app, const std::string& name, const std::string& description);

  VerbOption Flag(const std::string& names, bool& value,
                  const std::string& description);
  // An empty value is refused: it comes from a variable that is not set.
  VerbOption Option(const std::string& names, std::string& value,
                    const std::string& description);
  // An empty value is a value.
  VerbOption Option(const std::string& names, std::optional<std::string>& value,
                    const std::string& description);
  VerbOption Option(const std::string& names, std::vector<std::string>& value,
                    const std::string& description);
  VerbOption Option(const std::string& names, uint64_t& value,
                    const std::string& description);
  VerbOption Option(const std::string& names, int& value,
                    const std::string& description);

  // Stands below the options in the help.
  void Footer(const std::string& text);
  // Runs when the line has been parsed and names this verb.
  void Callback(std::function<void()> callback);

 private:
  CLI::App* verb_;  // owned by the App
};

}  // namespace walpost
